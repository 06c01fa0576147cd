// SPDX-License-Identifier: Apache-2.0
// A core as high-level synthesis makes it of a function over arrays outside: y[i] is the sum of x[0] to x[i], for `count` elements, and the last one is returned. It is done until it may go
// on (ap_ctrl_chain). The last sum is read back from y, by its second port.
module arrays (
    input  logic        ap_clk,
    input  logic        ap_rst,
    input  logic        ap_start,
    output logic        ap_done,
    input  logic        ap_continue,
    output logic        ap_idle,
    output logic        ap_ready,
    output logic [ 8:0] x_address0,
    output logic        x_ce0,
    input  logic [23:0] x_q0,
    output logic [ 8:0] y_address0,
    output logic        y_ce0,
    output logic        y_we0,
    output logic [31:0] y_d0,
    output logic [ 8:0] y_address1,
    output logic        y_ce1,
    input  logic [31:0] y_q1,
    input  logic [31:0] count,
    output logic [31:0] ap_return
);
  typedef enum logic [1:0] {
    IDLE,
    FETCH,
    STORE,
    DONE
  } state_t;
  state_t state;
  logic [8:0] at;
  assign ap_idle = state == IDLE && !ap_start;
  assign ap_done = state == DONE;
  assign ap_ready = state == STORE && 32'(at) + 1 == count;
  assign x_address0 = at;
  assign x_ce0 = state == FETCH;
  assign y_address1 = at - 1'b1;
  assign y_ce1 = state == FETCH;
  assign y_address0 = at;
  assign {y_ce0, y_we0} = {2{state == STORE}};
  assign y_d0 = 32'(x_q0) + (at == '0 ? '0 : y_q1);
  always_ff @(posedge ap_clk) begin
    case (state)
      IDLE: if (ap_start) state <= FETCH;
      FETCH: state <= STORE;
      STORE: begin
        state <= ap_ready ? DONE : FETCH;
        at <= ap_ready ? '0 : at + 1'b1;
        ap_return <= y_d0;
      end
      default: if (ap_continue) state <= IDLE;
    endcase
    if (ap_rst) {state, at} <= '0;
  end
endmodule
