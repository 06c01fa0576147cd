// SPDX-License-Identifier: Apache-2.0
// tp_x7_transmit: for any packets of the core and any `tready`: one arbitrary packet leaves with the header that PCI Express wants for it, its
// payload behind it, each dword once and in its place, in frames that PG054 allows: what is shown stays, `tkeep` is whole but on the last beat, and
// a packet has no gap. Packets of one stream keep their order; an answer leaves behind every write that was taken before it.
// Assumed: the neutral streams' promises (tp_tlp_pkg). Lengths are bounded, to 15 dwords of payload. While the link is down nothing is checked;
// when it is back, the next packet begins whole.
module tp_x7_transmit_formal
  import tp_tlp_pkg::*;
#(
    parameter bit INDUCTION = 1,
    parameter int DATA_WIDTH = 128,
    localparam int LANES = DATA_WIDTH / 32
) (
    input logic clk,
    input logic rst,
    input logic up,
    input logic tready,
    input logic posted_valid,
    input logic read_valid,
    input logic answer_valid,
    input tp_write_hdr_t posted_hdr,
    input tp_read_hdr_t read_hdr,
    input tp_answer_hdr_t answer_hdr,
    input logic [LANES-1:0][31:0] posted_data,
    input logic [LANES-1:0][31:0] answer_data,
    input logic mark,                       // the packet that is shown now is the one that is watched
    input logic [1:0] stream,               // of which: 0 posted, 1 read, 2 answer
    input logic [3:0] which                 // dword of its payload
);
  logic posted_ready, read_ready, answer_ready, posted_last, answer_last, tvalid, tlast, discontinue, sent;
  logic [LANES-1:0][31:0] tdata;
  logic [LANES-1:0][3:0] tkeep;
  localparam logic [15:0] REQUESTER = 16'hb5a3;
  tp_x7_transmit #(
      .DATA_WIDTH(DATA_WIDTH)
  ) dut (
      .clk,
      .rst,
      .up,
      .block_reset(1'b0),
      .requester(REQUESTER),
      .posted_valid,
      .posted_ready,
      .posted_hdr,
      .posted_data,
      .posted_last,
      .read_valid,
      .read_ready,
      .read_hdr,
      .answer_valid,
      .answer_ready,
      .answer_hdr,
      .answer_data,
      .answer_last,
      .tvalid,
      .tready,
      .tdata,
      .tkeep,
      .tlast,
      .discontinue,
      .sent
  );

  logic started = 1'b0;
  // ------------------------------------------------------------------------------------------------ the core
  logic [5:0] posted_at, answer_at;  // dwords of the packet before this beat
  logic posted_stood, read_stood, answer_stood;
  assign posted_last = posted_at + 6'(LANES) >= 6'(posted_hdr.dwords);
  assign answer_last = answer_at + 6'(LANES) >= 6'(answer_hdr.dwords);
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (posted_valid && posted_ready) posted_at <= posted_last ? '0 : posted_at + 6'(LANES);
    if (answer_valid && answer_ready) answer_at <= answer_last ? '0 : answer_at + 6'(LANES);
    posted_stood <= posted_valid && !(posted_ready && posted_last);
    read_stood <= read_valid && !read_ready;
    answer_stood <= answer_valid && !(answer_ready && answer_last);
    if (started) begin
      assume (which == $past(which) && stream == $past(stream) && stream != 2'd3);
      if (posted_stood && !$past(rst)) assume (posted_valid && posted_hdr == $past(posted_hdr));
      if (posted_stood && !$past(rst) && !$past(posted_ready)) assume (posted_data == $past(posted_data));
      if (read_stood && !$past(rst)) assume (read_valid && read_hdr == $past(read_hdr));
      if (answer_stood && !$past(rst)) assume (answer_valid && answer_hdr == $past(answer_hdr));
      if (answer_stood && !$past(rst) && !$past(answer_ready)) assume (answer_data == $past(answer_data));
    end
    if (rst) begin
      posted_at <= '0;
      answer_at <= '0;
      posted_stood <= 1'b0;
      read_stood <= 1'b0;
      answer_stood <= 1'b0;
    end
  end
  always_comb begin
    if (!started) assume (rst);
    if (posted_valid) assume (posted_hdr.dwords != 0 && posted_hdr.dwords < 11'd16);
    if (read_valid) assume (read_hdr.dwords != 0);
    if (answer_valid) assume (answer_hdr.dwords < 11'd16);
  end

  // ------------------------------------------------------------------------------------------------ the watched packet
  logic watched, over;
  logic [1:0] ahead;  // of its stream, taken before it and not left
  logic [1:0] stored, stored_writes;  // that have been taken whole and not left: of its stream; writes
  logic [1:0] writes_ahead;                 // of an answer that is watched: writes taken whole before it was, and not left
  logic [3:0][31:0] w;                      // its header as it must be
  logic w_four, w_payload;
  logic [10:0] w_dwords;
  logic [31:0] w_dword;
  logic mine, beginning, taken, taken_write, shown_first;
  logic [1:0] out_kind, kind;  // of the packet that leaves
  logic [5:0] at;                           // dwords of it before this beat
  logic leaves;
  logic rest;                               // of a packet that the link's end cut: it counts for nothing
  assign rest = discontinue || dut.ending;
  assign leaves = tvalid && tready && tlast && !rest;
  always_comb begin
    if (!tdata[0][30] && tdata[0][28:24] == 5'b0) out_kind = 2'd1;
    else out_kind = tdata[0][27] ? 2'd2 : 2'd0;
    if (at != 0) out_kind = kind;
  end
  assign taken_write = !dut.drop && posted_valid && posted_ready && posted_last;
  logic taken_other;
  assign taken_other = stream == 1 ? read_valid && read_ready : answer_valid && answer_ready && answer_last;
  assign taken = stream == 0 ? taken_write : !dut.drop && taken_other;
  assign beginning = stream == 0 ? posted_valid && posted_at == 0 : stream == 1 ? read_valid : answer_valid && answer_at == 0;
  assign shown_first = stream == 0 ? !posted_stood : stream == 1 ? !read_stood : !answer_stood;
  assign mine = mark && beginning && shown_first && !watched && up && !dut.drop && !rst;

  logic [31:0] in_dword;
  logic in_here;                            // the watched dword is in the beat that comes
  logic [5:0] in_at;
  assign in_at = stream == 0 ? posted_at : answer_at;
  assign in_here = (stream == 0 ? posted_valid : stream == 2 && answer_valid) && in_at <= 6'(which) && 6'(which) < in_at + 6'(LANES);
  always_comb begin
    in_dword = '0;
    for (int i = 0; i < LANES; i++)
    if (6'(which) == in_at + 6'(i))
      for (int b = 0; b < 4; b++) in_dword[8*b+:8] = stream == 0 ? posted_data[i][8*(3-b)+:8] : answer_data[i][8*(3-b)+:8];
  end

  logic current;  // the stream's packet that is at the core's side is the watched one
  always_ff @(posedge clk) begin
    stored <= stored + 2'(taken) - 2'(leaves && out_kind == stream);
    stored_writes <= stored_writes + 2'(taken_write) - 2'(leaves && out_kind == 0);
    if (leaves && out_kind == stream && watched && !over) begin
      if (ahead == 0) over <= 1'b1;
      else ahead <= ahead - 1'b1;
    end
    if (leaves && out_kind == 0 && writes_ahead != 0) writes_ahead <= writes_ahead - 1'b1;
    if (taken) current <= 1'b0;
    if ((mine || current) && in_here) w_dword <= in_dword;
    if (mine) begin
      watched <= 1'b1;
      ahead <= stored - 2'(leaves && out_kind == stream);
      writes_ahead <= stored_writes - 2'(leaves && out_kind == 0) + 2'(taken_write);
      current <= !taken;
      case (stream)
        2'd0: begin
          w_four <= posted_hdr.addr[63:32] != 0;
          w_payload <= 1'b1;
          w_dwords <= posted_hdr.dwords;
          w[0] <= {2'b01, posted_hdr.addr[63:32] != 0, 6'b0, posted_hdr.tc, 6'b0, posted_hdr.relaxed, 3'b0, posted_hdr.dwords[9:0]} ;
          w[1] <= {REQUESTER, 8'b0, posted_hdr.last_be, posted_hdr.first_be};
          w[2] <= posted_hdr.addr[63:32] != 0 ? posted_hdr.addr[63:32] : posted_hdr.addr[31:0];
          w[3] <= posted_hdr.addr[31:0];
        end
        2'd1: begin
          w_four <= read_hdr.addr[63:32] != 0;
          w_payload <= 1'b0;
          w_dwords <= read_hdr.dwords;
          w[0] <= {2'b00, read_hdr.addr[63:32] != 0, 6'b0, read_hdr.tc, 6'b0, read_hdr.relaxed, 3'b0, read_hdr.dwords[9:0]};
          w[1] <= {REQUESTER, read_hdr.tag[7:0], read_hdr.last_be, read_hdr.first_be};
          w[2] <= read_hdr.addr[63:32] != 0 ? read_hdr.addr[63:32] : read_hdr.addr[31:0];
          w[3] <= read_hdr.addr[31:0];
        end
        default: begin
          w_four <= 1'b0;
          w_payload <= answer_hdr.dwords != 0;
          w_dwords <= answer_hdr.dwords;
          w[0] <= {
            1'b0, answer_hdr.dwords != 0, 6'b001010, 1'b0, answer_hdr.tc, 1'b0, answer_hdr.attr[2], 4'b0, answer_hdr.attr[1:0], 2'b0,
            answer_hdr.dwords[9:0]
          };
          w[1] <= {REQUESTER, answer_hdr.status, 1'b0, answer_hdr.byte_count[11:0]};
          w[2] <= {answer_hdr.requester, answer_hdr.tag[7:0], 1'b0, answer_hdr.lower_addr};
        end
      endcase
    end
    if (!up || rst) begin
      stored <= '0;
      stored_writes <= '0;
      writes_ahead <= '0;
      if (watched || mine) over <= 1'b1;
      current <= 1'b0;
    end
    if (rst) begin
      watched <= 1'b0;
      over <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ what leaves
  logic here, shown, was_up;
  logic [5:0] head, size, after;  // dwords: of the header, of the packet, up to the end of this beat
  logic [LANES-1:0][31:0] data_was;
  logic [LANES-1:0][3:0] keep_was;
  logic last_was, open;
  assign here = watched && !over && ahead == 0 && tvalid && !rest && out_kind == stream && up && was_up;
  assign head = 6'd3 + 6'(w_four);
  assign size = head + (w_payload ? 6'(w_dwords) : 6'd0);
  always_comb begin
    after = at;
    for (int i = 0; i < LANES; i++) after += 6'(tkeep[i][0]);
  end
  always_ff @(posedge clk) begin
    was_up <= up && !rst;
    shown <= tvalid && !tready && up && !rst;
    data_was <= tdata;
    keep_was <= tkeep;
    last_was <= tlast;
    open <= (tvalid && tready ? !tlast : open) && up && !rst;
    if (tvalid && tready && !rest) begin
      at <= tlast ? '0 : after;
      kind <= out_kind;
    end
    if (rst || !up) at <= '0;
  end
  always_comb
    if (started && !rst && up && was_up) begin
      if (shown) assert (tvalid && tdata == data_was && tkeep == keep_was && tlast == last_was);
      if (open) assert (tvalid);
      if (tvalid) begin
        for (int i = 0; i < LANES; i++) begin
          assert (tkeep[i] == 4'hf || tkeep[i] == 4'h0);
          assert (i == 0 ? tkeep[i] != 0 : tkeep[i] == 0 || tkeep[i-1] != 0);
        end
        assert (tlast || &tkeep);
      end
      if (here) begin
        assert (tlast == (after >= size) && after <= size);
        for (int i = 0; i < LANES; i++) begin
          if (at + 6'(i) < head) assert (tdata[i] == w[2'(at)+2'(i)]);
          if (w_payload && 11'(which) < w_dwords && at + 6'(i) == head + 6'(which)) assert (tdata[i] == w_dword);
        end
        if (stream == 2) assert (writes_ahead == 0);
      end
      assert (!discontinue || !tvalid || tlast);
      cover (over && stream == 0 && w_four && w_dwords == 11'd9);
      cover (over && stream == 2 && w_dwords == 11'd6);
    end
endmodule
