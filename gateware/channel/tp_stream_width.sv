// SPDX-License-Identifier: Apache-2.0
// A stream at another width: S_WIDTH in, M_WIDTH out, one a power of two times the other.
//
// Promises: bytes come out in order, each once, with their ends of message; beats are full but on a message's last, if they were so at the input. A beat with
// `tlast` and no bytes stays one, or ends the beat that is being gathered. `side` goes beside the beats; to a wider stream comes that of a beat's last part.
// `flush` forgets what is held, in a clock or more in which nothing moves on either side, as the channel's reset does.
// To a narrower stream there is no register, and one each beat for each part that has bytes. To a wider one a beat takes a clock, and parts wait for the beat to be full or for
// `tlast`: from a stream that never ends, the last bytes may wait for ever.
// Not for: bytes with holes between them; widths that are no multiple of each other.
module tp_stream_width #(
    parameter  int S_WIDTH = 128,
    parameter  int M_WIDTH = 64,
    parameter  int SIDE    = 1,
    localparam int S_KEEP  = S_WIDTH / 8,
    localparam int M_KEEP  = M_WIDTH / 8
) (
    input  logic               clk,
    input  logic               rst_n,
    input  logic               flush,
    input  logic               s_tvalid,
    output logic               s_tready,
    input  logic [S_WIDTH-1:0] s_tdata,
    input  logic [ S_KEEP-1:0] s_tkeep,
    input  logic               s_tlast,
    input  logic [   SIDE-1:0] s_side,
    output logic               m_tvalid,
    input  logic               m_tready,
    output logic [M_WIDTH-1:0] m_tdata,
    output logic [ M_KEEP-1:0] m_tkeep,
    output logic               m_tlast,
    output logic [   SIDE-1:0] m_side
);
  localparam int MOST = S_WIDTH > M_WIDTH ? S_WIDTH : M_WIDTH;
  localparam int LEAST = S_WIDTH > M_WIDTH ? M_WIDTH : S_WIDTH;
  localparam int PARTS = MOST / LEAST;
  localparam int PW = PARTS == 1 ? 1 : $clog2(PARTS);
  if (LEAST % 8 != 0 || LEAST == 0 || MOST != LEAST << $clog2(PARTS)) begin : g_refused
    $error("%m: S_WIDTH %0d and M_WIDTH %0d: make them whole bytes, and one a power of two times the other", S_WIDTH, M_WIDTH);
  end

  // A beat without bytes that ends nothing is nothing.
  logic empty;
  assign empty = s_tkeep == '0 && !s_tlast;

  if (S_WIDTH >= M_WIDTH) begin : g_narrower
    logic [PW-1:0] part;
    logic [PARTS-1:0] filled;  // parts that have bytes
    logic final_part;
    for (genvar p = 0; p < PARTS; p++) begin : g_part
      assign filled[p] = s_tkeep[p*M_KEEP+:M_KEEP] != '0;
    end
    assign final_part = (PARTS + 1)'(filled >> part) >> 1 == '0;
    assign s_tready = !flush && (empty || m_tready && final_part);
    assign m_tvalid = s_tvalid && !empty && !flush;
    assign m_tdata = s_tdata[32'(part)*M_WIDTH+:M_WIDTH];
    assign m_tkeep = s_tkeep[32'(part)*M_KEEP+:M_KEEP];
    assign m_tlast = s_tlast && final_part;
    assign m_side = s_side;
    always_ff @(posedge clk) begin
      if (m_tvalid && m_tready) part <= final_part ? '0 : part + 1'b1;
      if (!rst_n || flush) part <= '0;
    end
  end else begin : g_wider
    logic [PW-1:0] part;
    logic put, full;
    assign s_tready = !flush && (!full || m_tready);
    assign put = s_tvalid && s_tready && !empty;
    assign m_tvalid = full && !flush;
    always_ff @(posedge clk) begin
      if (m_tvalid && m_tready) begin
        full <= 1'b0;
        m_tkeep <= '0;
      end
      if (put) begin
        m_tdata[32'(part)*S_WIDTH+:S_WIDTH] <= s_tdata;
        m_tkeep[32'(part)*S_KEEP+:S_KEEP] <= s_tkeep;
        m_tlast <= s_tlast;
        m_side <= s_side;
        full <= s_tlast || part == PW'(PARTS - 1);
        part <= s_tlast ? '0 : part + 1'b1;
      end
      if (!rst_n || flush) begin
        part <= '0;
        full <= 1'b0;
        m_tkeep <= '0;
      end
    end
  end
endmodule
