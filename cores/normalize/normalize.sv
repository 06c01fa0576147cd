// SPDX-License-Identifier: Apache-2.0
//
// Normalize: takes the least byte of a frame away from each of its bytes. For that it looks at the frame twice, which a stream does not let it:
// kind `buffer` stands before it, and holds a frame until it is done with. The user word goes back with the frame.
//
// A row is asked for in each clock and comes two clocks later: `row_1` and `row_2` follow it.
// A frame that is withdrawn by a reset while it is looked at is left; what has been written of the answer is written over by the next one.
// Rate: twice the frame's rows, and some clocks.
module normalize #(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 4096,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int AW = $clog2(BYTES / KEEP),
    localparam int KW = $clog2(KEEP)
) (
    input logic clk,
    input logic rst_n,

    input  logic                  frames_in_valid,
    input  logic [          31:0] frames_in_bytes,
    input  logic [          31:0] frames_in_user,
    output logic [        AW-1:0] frames_in_row,
    input  logic [DATA_WIDTH-1:0] frames_in_data,
    output logic                  frames_in_done,

    input  logic                  frames_out_free,
    output logic                  frames_out_write,
    output logic [        AW-1:0] frames_out_row,
    output logic [DATA_WIDTH-1:0] frames_out_data,
    output logic                  frames_out_done,
    output logic [          31:0] frames_out_bytes,
    output logic [          31:0] frames_out_user
);
  typedef enum logic [1:0] {
    WAIT,  // for a frame, and for a half to answer in
    LOOK,
    MAKE,
    DONE
  } state_e;
  state_e state;
  logic [AW:0] row, row_1, row_2, rows;  // asked for now, one and two clocks ago; of the frame
  logic asks, asked_1, asked_2;  // there is such a row
  logic [7:0] least, least_now;
  wire [KW-1:0] rest = frames_in_bytes[KW-1:0];
  wire last = row_2 + 1'b1 == rows;

  assign rows = (AW + 1)'((frames_in_bytes + 32'(KEEP - 1)) >> KW);
  assign asks = (state == LOOK || state == MAKE) && row != rows;
  assign frames_in_row = row[AW-1:0];
  always_comb begin
    least_now = least;
    for (int b = 0; b < KEEP; b++) begin
      // The last row has lanes beyond the frame's end.
      if ((!last || rest == '0 || KW'(b) < rest) && frames_in_data[8*b+:8] < least_now) least_now = frames_in_data[8*b+:8];
      frames_out_data[8*b+:8] = frames_in_data[8*b+:8] - least;
    end
  end
  assign frames_out_write = state == MAKE && asked_2;
  assign frames_out_row = row_2[AW-1:0];
  assign frames_out_done = state == DONE && frames_in_valid;
  assign frames_out_bytes = frames_in_bytes;
  assign frames_out_user = frames_in_user;
  assign frames_in_done = frames_out_done;

  always_ff @(posedge clk) begin
    {row_1, row_2} <= {row, row_1};
    {asked_1, asked_2} <= {asks, asked_1};
    if (asks) row <= row + 1'b1;
    if (state == LOOK && asked_2) least <= least_now;
    case (state)
      WAIT: begin
        row <= '0;
        least <= '1;
        if (frames_in_valid && frames_out_free) state <= rows == '0 ? DONE : LOOK;
      end
      LOOK:
      if (asked_2 && last) begin
        row <= '0;
        state <= MAKE;
      end
      MAKE: if (asked_2 && last) state <= DONE;
      default: state <= WAIT;
    endcase
    if (!rst_n || !frames_in_valid) begin
      state <= WAIT;
      {asked_1, asked_2} <= '0;
    end
  end
endmodule
