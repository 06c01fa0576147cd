// SPDX-License-Identifier: Apache-2.0
// The register that starts a core with the ports of high-level synthesis: `ap_start`, `ap_done`, `ap_idle`, `ap_ready`.
//
// Promises: bit 0 starts the core and stands until the core has taken it, over and over while bit 7 is 1; bit 1 says that it has been done since it was last read; bit 2 that it is idle;
// bit 3 that it has taken a start since it was last read. Bits 0 and 7 are written; a write of 0 to bit 0 takes no start back.
// Not for: cores whose start is a pulse.
module tp_wires_control #(
    parameter int FIRST = 0
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
    input  logic        ap_ready
);
  logic done, ready, again, written, read;
  assign written = wr_en && wr_word == 30'(FIRST) && wr_strb[0];
  assign read = rd_en && rd_word == 30'(FIRST);
  assign value = {24'd0, again, 3'd0, ready, ap_idle, done, ap_start};
  always_ff @(posedge clk) begin
    if (ap_ready) ap_start <= again;
    if (written && wr_data[0]) ap_start <= 1'b1;
    if (written) again <= wr_data[7];
    done <= ap_done || (done && !read);
    ready <= (ap_ready && ap_start) || (ready && !read);
    if (!rst_n) {ap_start, again, done, ready} <= '0;
  end
endmodule
