// SPDX-License-Identifier: Apache-2.0
// The register that starts a core with the ports of high-level synthesis: `ap_start`, `ap_done`, `ap_idle`, `ap_ready`, and with CHAIN `ap_continue`.
//
// Promises: bit 0 starts the core and stands until the core has taken it, over and over while bit 7 is 1; bit 1 says that it has been done since it was last read; bit 2 that it is idle;
// bit 3 that it has taken a start since it was last read. Bits 0 and 7 are written; a write of 0 to bit 0 takes no start back. With CHAIN bit 1 is `ap_done` as it stands, which it does
// until the core may go on: a write of 1 to bit 4 is one clock of `ap_continue`, and while bit 7 is 1 it is always up.
// Not for: cores whose start is a pulse.
module tp_wires_control #(
    parameter int FIRST = 0,
    parameter bit CHAIN = 0
) (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        wr_en,
    input  logic [29:0] wr_word,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [31:0] wr_data,
    input  logic [ 3:0] wr_strb,
    // verilator lint_on UNUSEDSIGNAL
    input  logic        rd_en,
    input  logic [29:0] rd_word,
    output logic [31:0] value,
    output logic        ap_start,
    input  logic        ap_done,
    input  logic        ap_idle,
    input  logic        ap_ready,
    output logic        ap_continue
);
  logic done, ready, again, goes_on, written, read;
  assign written = wr_en && wr_word == 30'(FIRST) && wr_strb[0];
  assign read = rd_en && rd_word == 30'(FIRST);
  assign value = {24'd0, again, 3'd0, ready, ap_idle, CHAIN ? ap_done : done, ap_start};
  assign ap_continue = goes_on || again;
  always_ff @(posedge clk) begin
    if (ap_ready) ap_start <= again;
    if (written && wr_data[0]) ap_start <= 1'b1;
    if (written) again <= wr_data[7];
    goes_on <= written && wr_data[4];
    done <= ap_done || (done && !read);
    ready <= (ap_ready && ap_start) || (ready && !read);
    if (!rst_n) {ap_start, again, goes_on, done, ready} <= '0;
  end
endmodule
