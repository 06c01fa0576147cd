// SPDX-License-Identifier: Apache-2.0
// As high-level synthesis makes a function: called with arguments, it takes `count` bytes, gives each back with the low byte of `base` added, and returns how
// many there were; `total`, base and bytes added up, counts when its `ap_vld` is up. Its streams have one byte.
module arguments (
    input  logic        ap_clk,
    input  logic        ap_rst,
    input  logic        ap_start,
    output logic        ap_done,
    output logic        ap_idle,
    output logic        ap_ready,
    input  logic [39:0] base,
    input  logic [ 7:0] count,
    output logic [39:0] total,
    output logic        total_ap_vld,
    output logic [31:0] ap_return,
    input  logic [ 7:0] io_bytes_payload,
    input  logic        io_bytes_valid,
    output logic        io_bytes_ready,
    output logic [ 7:0] io_results_payload,
    output logic        io_results_valid,
    input  logic        io_results_ready
);
  typedef enum logic [1:0] {
    IDLE,
    TAKE,
    GIVE,
    DONE
  } state_t;
  state_t state;
  logic [7:0] taken;
  logic [39:0] sum;
  assign ap_idle = state == IDLE && !ap_start;
  assign ap_ready = state == DONE;
  assign ap_done = state == DONE;
  assign total_ap_vld = state == DONE;
  // What does not count is wrong.
  assign total = total_ap_vld ? sum : '1;
  assign ap_return = ap_done ? 32'(taken) : '1;
  assign io_bytes_ready = state == TAKE && taken != count;
  assign io_results_valid = state == GIVE;
  always_ff @(posedge ap_clk) begin
    case (state)
      IDLE: begin
        taken <= '0;
        sum   <= base;
        if (ap_start) state <= TAKE;
      end
      TAKE: begin
        if (taken == count) state <= DONE;
        if (io_bytes_ready && io_bytes_valid) begin
          io_results_payload <= io_bytes_payload + base[7:0];
          sum <= sum + 40'(io_bytes_payload);
          taken <= taken + 1'b1;
          state <= GIVE;
        end
      end
      GIVE: if (io_results_ready) state <= TAKE;
      default: state <= IDLE;
    endcase
    if (ap_rst) state <= IDLE;
  end
endmodule
