// SPDX-License-Identifier: Apache-2.0
// tp_x7_narrow, for any packets, any `tready` and a link that comes and goes: what leaves at the pins is packets of the endpoint from their first dword to
// their last, each dword once and in order, or to the end that the endpoint made of a packet that the link cut; what is shown stays. What comes
// in leaves as beats of two dwords, each dword once and in order, in the clock of its last one.
// Each dword holds its place in the packet and the packet's length, so that the check needs no memory of its own.
module tp_x7_narrow_formal #(
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic rst,
    input logic up,
    input logic block_reset,
    input logic pin_rx_tvalid,
    input logic pin_rx_tlast,
    input logic [31:0] pin_rx_tdata,
    input logic [21:0] pin_rx_tuser,
    input logic pin_tx_tready,
    input logic tx_tvalid,
    input logic [63:0] tx_tdata,
    input logic [7:0] tx_tkeep,
    input logic tx_tlast,
    input logic tx_discontinue
);
  logic pin_tx_tvalid, pin_tx_tlast, pin_tx_discontinue, rx_tvalid, rx_tlast, tx_tready;
  logic [31:0] pin_tx_tdata;
  logic [3:0] pin_tx_tkeep;
  logic [63:0] rx_tdata;
  logic [21:0] rx_tuser;
  tp_x7_narrow dut (.*);

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  always_comb if (!started) assume (rst);

  // ------------------------------------------------------------------------------------------------ out: the endpoint
  // A dword: its place in the packet, from 0, and how many the packet has.
  logic [7:0] at;
  logic begun, stood;
  logic [7:0] length;
  always_ff @(posedge clk) begin
    stood <= tx_tvalid && !tx_tready;
    if (tx_tvalid && tx_tready) begin
      at <= tx_tlast ? '0 : at + 8'd2;
      begun <= !tx_tlast;
      length <= tx_tdata[15:8];
    end
    if (started && stood && !$past(rst) && !$past(block_reset) && (begun || $past(up)))
      assume (tx_tvalid && tx_tdata == $past(
          tx_tdata
      ) && tx_tkeep == $past(
          tx_tkeep
      ) && tx_tlast == $past(
          tx_tlast
      ) && tx_discontinue == $past(
          tx_discontinue
      ));
    if (rst || block_reset) begin
      at <= '0;
      begun <= 1'b0;
      stood <= 1'b0;
    end
  end
  always_comb
    if (tx_tvalid) begin
      if (tx_discontinue)
        assume (begun && tx_tlast && tx_tkeep == 8'hff);
        else begin
          assume (tx_tdata[7:0] == at && tx_tdata[39:32] == at + 8'd1 && tx_tdata[15:8] == tx_tdata[47:40]);
          assume (tx_tdata[15:8] > at && tx_tdata[15:8] < 8'd200 && (!begun || tx_tdata[15:8] == length));
          assume (tx_tlast == (tx_tdata[15:8] <= at + 8'd2));
          assume (tx_tkeep == (tx_tdata[15:8] == at + 8'd1 ? 8'h0f : 8'hff));
        end
    end

  // ------------------------------------------------------------------------------------------------ out: the pins
  logic [7:0] pin_at, pin_length;
  logic pin_begun, pin_stood;
  always_ff @(posedge clk) begin
    pin_stood <= pin_tx_tvalid && !pin_tx_tready;
    if (pin_tx_tvalid && pin_tx_tready) begin
      pin_at <= pin_tx_tlast ? '0 : pin_at + 8'd1;
      pin_begun <= !pin_tx_tlast;
      if (!dut.discontinue) pin_length <= pin_tx_tdata[15:8];
    end
    if (rst || block_reset) begin
      pin_at <= '0;
      pin_begun <= 1'b0;
      pin_stood <= 1'b0;
    end
    if (started && !$past(rst) && !$past(block_reset) && pin_stood && (pin_begun || $past(up)))
      assert (pin_tx_tvalid && pin_tx_tdata == $past(
          pin_tx_tdata
      ) && pin_tx_tlast == $past(
          pin_tx_tlast
      ) && pin_tx_discontinue == $past(
          pin_tx_discontinue
      ));
  end
  always_comb
    if (started && !rst && !block_reset) begin
      assert (pin_begun == dut.open);
      if (pin_tx_tvalid) begin
        assert (pin_tx_tkeep == 4'hf);
        if (dut.discontinue)
          assert (pin_begun && (!pin_tx_tlast || pin_tx_discontinue));
          else begin
            assert (pin_tx_tdata[7:0] == pin_at && (!pin_begun || pin_tx_tdata[15:8] == pin_length));
            assert (pin_tx_tlast == (pin_at + 8'd1 == pin_tx_tdata[15:8]) && !pin_tx_discontinue);
          end
      end
      cover (pin_tx_tvalid && pin_tx_tready && pin_tx_tlast && pin_at == 8'd4 && !dut.discontinue);
      cover (pin_tx_tvalid && pin_tx_tready && pin_tx_discontinue);
      cover (dut.swallow);
      // what the induction needs: how what is held and what comes stand to each other
      assert (!(dut.swallow && (dut.full || dut.open)));
      assert (!dut.upper || (dut.full && dut.both && dut.open));
      if (dut.full && !dut.discontinue) begin
        assert (dut.held[39:32] == dut.held[7:0] + 8'd1 || !dut.both);
        assert (dut.held[47:40] == dut.held[15:8] || !dut.both);
        assert (pin_at == dut.held[7:0] + 8'(dut.upper) && dut.held[15:8] > dut.held[7:0] && dut.held[15:8] < 8'd200);
        assert (dut.last == (dut.held[15:8] <= dut.held[7:0] + 8'd2) && dut.both == (dut.held[15:8] != dut.held[7:0] + 8'd1));
        assert (dut.open == (pin_at != 0) && (!dut.open || pin_length == dut.held[15:8]));
        if (!dut.last) assert (begun && at == dut.held[7:0] + 8'd2 && length == dut.held[15:8]);
      end
      if (dut.full && dut.discontinue) assert (dut.last && dut.both && dut.open && pin_at < 8'd200 + 8'(dut.upper));
      if (dut.full && dut.last) assert (!begun && at == 0);
      if (!dut.full && !dut.swallow) assert (begun == dut.open && at == pin_at && (!begun || length == pin_length));
      if (dut.swallow) assert (begun && pin_at == 0);
      assert (begun ? at != 0 && length > at && length < 8'd200 : at == 0);
      assert (dut.open == (pin_at != 0));
    end

  // ------------------------------------------------------------------------------------------------ in
  logic [7:0] in_at, out_at;  // dwords of the packet so far, at the pins and behind
  always_ff @(posedge clk) begin
    if (pin_rx_tvalid) in_at <= pin_rx_tlast ? '0 : in_at + 8'd1;
    if (rx_tvalid) out_at <= rx_tlast ? '0 : out_at + 8'd2;
    if (rst || !up) begin
      in_at <= '0;
      out_at <= '0;
    end
  end
  always_comb begin
    assume (!pin_rx_tvalid || pin_rx_tdata[7:0] == in_at);
    if (started && !rst && up) begin
      assert (in_at == out_at + 8'(dut.half) && (!dut.half || dut.low[7:0] == out_at));
      if (rx_tvalid) begin
        assert (pin_rx_tvalid && rx_tlast == pin_rx_tlast && rx_tuser == pin_rx_tuser && rx_tdata[7:0] == out_at);
        assert (in_at == out_at || (rx_tdata[39:32] == out_at + 8'd1 && in_at == out_at + 8'd1));
      end
      if (pin_rx_tvalid && (pin_rx_tlast || in_at != out_at)) assert (rx_tvalid);
      cover (rx_tvalid && rx_tlast && out_at == 8'd4);
    end
  end
endmodule
