// SPDX-License-Identifier: Apache-2.0
// The address of an AXI4 burst's next beat (AMBA AXI and ACE Protocol Specification, A3.4.1): FIXED stays, INCR goes on, WRAP comes back to the beginning of its
// container, which is as large as the burst. Only the first address may be unaligned.
module tp_axi_next #(
    parameter int ADDRESS_WIDTH = 32
) (
    input  logic [ADDRESS_WIDTH-1:0] address,
    input  logic [              7:0] len,
    input  logic [              2:0] size,
    input  logic [              1:0] burst,
    output logic [ADDRESS_WIDTH-1:0] next
);
  localparam logic [1:0] FIXED = 2'b00, WRAP = 2'b10;
  logic [ADDRESS_WIDTH-1:0] step, container, after;
  assign step = ADDRESS_WIDTH'(1) << size;
  assign container = ((ADDRESS_WIDTH'(len) + 1) << size) - 1;
  assign after = (address & ~(step - 1)) + step;
  always_comb begin
    next = after;
    if (burst == WRAP) next = (address & ~container) | (after & container);
    if (burst == FIXED) next = address;
  end
endmodule
