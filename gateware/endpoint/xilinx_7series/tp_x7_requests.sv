// SPDX-License-Identifier: Apache-2.0
// What kind of packet came in: answers, writes and reads of a BAR to the core, all else to the block's error interface.
//
// Reads wait in a queue, each for a credit of the core. `np_ok` falls when a quarter of it is in use: the block may send one read more than the
// one under way, and what stands on the way here has room, too (PG054 "Receive Non-Posted Throttling"). A request that is not for memory,
// or is locked, goes the same way, and the block answers it as unsupported (PG054 "User Error Reporting"). A poisoned write is reported and
// dropped: the poison is in its header.
module tp_x7_requests
  import tp_tlp_pkg::*;
#(
    parameter int BAR0_BITS = 20,           // of an address in it
    parameter int BAR2_BITS = 12,
    parameter int BAR4_BITS = 20,
    parameter int DEPTH = 32
) (
    input logic clk,
    input logic rst,
    input logic up,                         // what waits is forgotten when the link goes

    input logic                  valid,
    input logic                  first,
    input logic                  last,
    input logic                  bad,
    // verilator lint_off UNUSEDSIGNAL
    input logic [         127:0] header,
    // verilator lint_on UNUSEDSIGNAL
    input logic [           7:0] bars,

    output logic               rx_completion_valid,
    output tp_completion_hdr_t rx_completion_hdr,
    output logic               rx_completion_bad,
    output logic               rx_posted_valid,
    output tp_request_hdr_t    rx_posted_hdr,
    output logic               rx_nonposted_valid,
    output tp_request_hdr_t    rx_nonposted_hdr,
    input  logic               nonposted_credit,

    output logic        np_ok,
    output logic        damaged,            // a pulse
    output logic        poisoned,           // a pulse: a write was
    output logic        refuse,             // the block answers this request with UR; stands until `refuse_ready`
    output logic        refuse_locked,
    output logic [47:0] refuse_header,
    input  logic        refuse_ready
);
  logic [3:0][31:0] h;
  assign h = header;

  logic four, has_data, memory, locked, completion, ours;
  assign four = h[0][29];
  assign has_data = h[0][30];
  assign memory = h[0][28:24] == 5'b00000;
  assign locked = h[0][28:24] == 5'b00001;
  assign completion = h[0][28:25] == 4'b0101;

  // ------------------------------------------------------------------------------------------------ answers
  assign rx_completion_valid = valid && completion;
  assign rx_completion_bad = bad;
  assign rx_completion_hdr = '{
          tag: 10'(h[2][15:8]),
          status: h[1][15:13],
          poisoned: h[0][14],
          dwords: has_data ? {h[0][9:0] == '0, h[0][9:0]} : '0,
          byte_count: {h[1][11:0] == '0, h[1][11:0]},
          lower_addr: h[2][6:0]
      };

  // ------------------------------------------------------------------------------------------------ requests
  tp_request_hdr_t request;
  logic [35:0] in_bar;                      // the bits of an address that lie within the BAR
  assign in_bar = request.bar[2] ? 36'((37'd1 << BAR4_BITS) - 1'b1) : request.bar[1] ? 36'((37'd1 << BAR2_BITS) - 1'b1) :
      36'((37'd1 << BAR0_BITS) - 1'b1);
  always_comb begin
    request = '0;
    for (int b = 5; b >= 0; b--) if (bars[b]) request.bar = 3'(b);
    request.offset = {four ? h[2][3:0] : 4'd0, h[four?3 : 2][31:2], 2'b00} & in_bar;
    request.dwords = {h[0][9:0] == '0, h[0][9:0]};
    request.first_be = h[1][3:0];
    request.last_be = h[1][7:4];
    request.requester = h[1][31:16];
    request.tag = 10'(h[1][15:8]);
    request.tc = h[0][22:20];
    request.attr = {h[0][18], h[0][13:12]};
  end
  assign ours = bars[5:0] != '0;            // not the expansion ROM
  assign rx_posted_valid = valid && ours && memory && has_data && !h[0][14] && !(first && last && bad);
  assign rx_posted_hdr = request;

  // Atomic operations have types 011xx, and have payload; messages are posted, and the block's own affair.
  logic nonposted, supported, put, put_ready, have, pop, head_supported, head_locked, credit, refused, refusing, report;
  logic [$clog2(DEPTH):0] count;
  tp_request_hdr_t head;
  assign supported = ours && memory && !has_data;
  assign nonposted = !completion && !h[0][28] && !(memory && has_data);
  assign put = valid && first && nonposted && !(last && bad);
  tp_fifo #(
      .WIDTH(2 + $bits(request)),
      .DEPTH(DEPTH)
  ) i_queue (
      .clk,
      .rst,
      .clear(!up),
      .in_valid(put),
      .in_ready(put_ready),
      .in_data({supported, locked, request}),
      .out_valid(have),
      .out_ready(pop),
      .out_data({head_supported, head_locked, head}),
      .count
  );
  assign rx_nonposted_valid = have && head_supported && credit;
  assign rx_nonposted_hdr = head;
  assign refused = refuse && refuse_ready;
  assign refusing = have && !head_supported && !poisoned;
  assign pop = rx_nonposted_valid || refused;

  always_ff @(posedge clk) begin
    np_ok <= count < ($bits(count))'(DEPTH / 4) && !rst;
    credit <= (nonposted_credit || (credit && !rx_nonposted_valid)) && !rst;
    damaged <= valid && last && bad && !rst;
    // The block has one pin that tells posted requests from others: so a report of either waits for the other.
    if (valid && first && memory && has_data && h[0][14]) report <= 1'b1;
    else if (!refuse && !refusing) report <= 1'b0;
    poisoned <= report && !refuse && !refusing && !rst;
    if (rst) report <= 1'b0;
    refuse <= refusing && !refused && up && !rst;
    refuse_locked <= head_locked;
    refuse_header <= {
      7'd0, head_locked ? {head.dwords[9:0], 2'b00} : 12'd4, head.tc, head.attr[1:0], head.requester, head.tag[7:0]
    };
    if (!rst)
      assert (!put || put_ready)
      else $error("%m: a read found no room");
  end
endmodule
