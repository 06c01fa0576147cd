// SPDX-License-Identifier: Apache-2.0
//
// A matrix product, a column at a time: the host writes a matrix of signed 8-bit numbers into the memory "weights", row by row, and sends
// vectors of as many such numbers as a row has. For each vector the matrix is read once, and its product with each row, 32 bits, goes out.
// So a message of the columns of B gives the columns of A B, one behind the other, as one message.
//
// Ports that are registers: `rows`; `beats`, a sixteenth of the columns, of which there are 16 to 4096: rows are filled up with zeros to whole
// beats, and so are vectors; `faults`, answers of the memory that were none. Set the first two while no message is under way. While either is
// 0, or `beats` is beyond 256, a message gives an empty one. The matrix may have as many bytes as the memory.
//
// A reset of either channel ends the vector that is under way: bursts of the memory that have been asked for come in, and count for nothing.
// What of the message comes behind a reset of "products" is taken, and gives nothing.
//
// Rate: 16 products a clock while the matrix is read; a vector's beats are taken before that.
module matrix (
    input logic clk,
    input logic rst_n,

    input  logic [15:0] rows,
    input  logic [15:0] beats,
    output logic [31:0] faults,

    input  logic [127:0] vectors_tdata,
    input  logic [ 15:0] vectors_tkeep,
    input  logic         vectors_tlast,
    input  logic         vectors_tvalid,
    output logic         vectors_tready,
    input  logic         vectors_reset,

    output logic [31:0] products_tdata,
    output logic [ 3:0] products_tkeep,
    output logic        products_tlast,
    output logic        products_tvalid,
    input  logic        products_tready,
    input  logic        products_reset,

    output logic [ 31:0] weights_araddr,
    output logic [  7:0] weights_arlen,
    output logic         weights_arvalid,
    input  logic         weights_arready,
    input  logic [127:0] weights_rdata,
    input  logic [  1:0] weights_rresp,
    input  logic         weights_rlast,
    input  logic         weights_rvalid,
    output logic         weights_rready
);
  localparam int DEEP = 8;  // bits of a beat's number in a vector
  localparam int PAGE = 4096;  // bytes of a burst: 256 beats

  wire unused = ^weights_rlast;
  wire nothing = rows == 0 || beats == 0 || beats > 256;

  typedef enum logic [2:0] {
    LOAD,  // a vector
    RUN,   // through the matrix
    DRAIN, // until the vector's last product has left
    END,   // of a message that ended where no product is: an empty beat
    FORGET // after a reset, until the memory has answered
  } state_e;
  state_e state;
  wire forget = vectors_reset || products_reset;

  // ---- a vector: whole beats of the rows; what is missing counts as 0
  logic [127:0] vector[1<<DEEP];
  logic [DEEP:0] held;  // beats that have come
  logic ends;  // the message ends with this vector
  logic open, drop;  // a message has begun to come, and not ended; its rest counts for nothing
  logic [127:0] masked;
  always_comb for (int i = 0; i < 16; i++) masked[8*i+:8] = vectors_tkeep[i] ? vectors_tdata[8*i+:8] : 8'h00;
  assign vectors_tready = state == LOAD;
  wire take = vectors_tvalid && vectors_tready;
  wire some = take && vectors_tkeep[0] && !nothing && !drop;
  wire [DEEP:0] now_held = held + (DEEP + 1)'(some);
  always_ff @(posedge clk) if (some) vector[held[DEEP-1:0]] <= masked;

  // ---- the matrix: bursts of whole pages, one asked for ahead of the other
  logic [DEEP-1:0] column;  // of the beat that comes
  logic [15:0] row;
  logic [31:0] asked, came, total;  // beats
  logic stands;  // a burst was asked for in the clock before, and not taken: it must be asked for until it is
  wire go = !products_tvalid || products_tready;  // everything moves, or waits
  wire beat = weights_rvalid && weights_rready;
  wire row_ends = column == DEEP'(beats - 1);
  wire [31:0] more = total - asked;
  logic last_out;  // the product that stands at the port is the vector's last
  assign weights_rready = state == FORGET || (state == RUN && go);
  assign weights_arvalid = (state == FORGET && stands) || (state == RUN && asked != total);
  assign weights_araddr = {asked[27:0], 4'b0000};
  assign weights_arlen = more > 32'(PAGE / 16) ? 8'hff : 8'(more - 1);

  always_ff @(posedge clk) begin
    stands <= weights_arvalid && !weights_arready;
    if (weights_arvalid && weights_arready) asked <= asked + 32'(weights_arlen) + 1;
    if (beat) came <= came + 1;
    case (state)
      LOAD: begin
        asked <= '0;
        came <= '0;
        total <= 32'(rows) * 32'(beats);
        row <= '0;
        column <= '0;
        held <= now_held;
        if (take) ends <= vectors_tlast;
        if (take && !drop && (vectors_tlast || (some && now_held == beats[DEEP:0]))) state <= now_held != 0 ? RUN : END;
      end
      RUN: begin
        if (beat) begin
          column <= row_ends ? '0 : column + 1'b1;
          if (row_ends) row <= row + 1'b1;
          if (row_ends && row == rows - 1) state <= DRAIN;
        end
      end
      FORGET: begin
        held <= '0;
        if (!stands && asked == came) state <= LOAD;
      end
      default: begin
        held <= '0;
        if (state == END ? go : products_tvalid && products_tready && last_out) state <= LOAD;
      end
    endcase
    if (beat && weights_rresp != 0) faults <= faults + 1;
    if (take) begin
      open <= !vectors_tlast;
      if (vectors_tlast) drop <= 1'b0;
    end
    if (products_reset && (take ? !vectors_tlast : open)) drop <= 1'b1;
    if (vectors_reset) begin
      open <= 1'b0;
      drop <= 1'b0;
    end
    if (state != LOAD) begin
      if (forget) state <= FORGET;
    end else if (forget) begin
      state <= LOAD;
      held  <= '0;
    end
    if (!rst_n) begin
      state  <= LOAD;
      stands <= 1'b0;
      open   <= 1'b0;
      drop   <= 1'b0;
      held   <= '0;
      faults <= '0;
    end
  end

  // ---- products of a beat, their sum, the row's sum
  logic multiplied, first, last, final_row;
  logic signed [15:0][15:0] product;
  logic signed [31:0] sum;
  logic [31:0] total_sum;
  wire [127:0] x = {1'b0, column} < held ? vector[column] : '0;
  always_comb begin
    sum = '0;
    for (int i = 0; i < 16; i++) sum = sum + 32'($signed(product[i]));
  end
  wire [31:0] row_sum = (first ? '0 : total_sum) + sum;

  always_ff @(posedge clk) begin
    if (go) begin
      multiplied <= beat && state == RUN;
      first <= column == 0;
      last <= row_ends;
      final_row <= row == rows - 1;
      for (int i = 0; i < 16; i++) product[i] <= 16'($signed(x[8*i+:8])) * 16'($signed(weights_rdata[8*i+:8]));
      if (multiplied) total_sum <= row_sum;

      products_tvalid <= (multiplied && last) || state == END;
      products_tdata <= row_sum;
      products_tkeep <= state == END ? '0 : '1;
      products_tlast <= state == END || (ends && final_row);
      last_out <= final_row;
    end
    if (!rst_n || forget) begin
      multiplied <= 1'b0;
      products_tvalid <= 1'b0;
    end
  end
endmodule
