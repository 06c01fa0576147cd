// SPDX-License-Identifier: Apache-2.0
// Plug-in `partial`: streams a file to the configuration port, which loads another core into the user core's region.
//
// From `begin` on the core is in reset and the region decoupled (`user_decoupled`: whoever gets outputs of the core takes them for 0), and both stay so
// until `release`, which has no effect unless the region holds a whole core: the one that was configured with the card, or one whose load ended well.
// A load that fails, or that a reset of the card ends, leaves the region decoupled until another has ended well. Out of reset the core comes SETTLE
// clocks after its load, or later. `whole`, `core_name` and `loads` tell of what the region holds, so the card's reset leaves them.
//
// The configuration port: `config_start` is 1 for a clock, in which it forgets what it was given before, and its `config_done` and `config_error`. It takes
// a dword with `config_valid` and `config_ready`. `config_end` stands after the last one, until the port says `config_done`, or `config_error`, which it may
// say before, too.
// Not for: files that must not be read back from memory by the host; nothing here decrypts.
module tp_plugin_partial
  import towpath_pkg::*;
#(
    parameter int DEPTH = 64  // dwords that wait for the configuration port: a power of two
) (
    input logic clk,
    input logic rst_n,

    input  logic [31:0] s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [31:0] s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,

    output logic user_rst_n,
    output logic user_decoupled,
    input  logic user_midway,     // a channel is within a message

    output logic        config_start,
    output logic        config_valid,
    input  logic        config_ready,
    output logic [31:0] config_data,
    output logic        config_end,
    input  logic        config_done,
    input  logic        config_error
);
  localparam int SETTLE = 16;
  localparam int NAME_DWORDS = TP_PLUGIN_PARTIAL_CORE_NAME_COUNT / 4;
  localparam int NW = $clog2(NAME_DWORDS);

  logic set;
  logic [11:2] set_at, get_at;
  logic [31:0] set_data, get_data;
  tp_plugin_registers registers (
      .get(),
      .*
  );

  logic loading, ending, whole, free, coupled;
  logic [4:0] left;
  logic [31:0] words, loads;
  tp_partial_outcome_e outcome;
  initial begin
    whole = 1'b1;
    loads = '0;
  end

  // ---- commands
  logic commanded, asked, begins, put, ends, aborts, releases;
  assign commanded = set && set_at == 10'(TP_PLUGIN_PARTIAL_COMMAND_OFFSET / 4);
  assign asked = commanded && set_data[TP_PLUGIN_PARTIAL_COMMAND_BEGIN_LSB];
  assign begins = asked && (!coupled || !user_midway || set_data[TP_PLUGIN_PARTIAL_COMMAND_CUT_LSB]);
  assign ends = commanded && !asked && set_data[TP_PLUGIN_PARTIAL_COMMAND_END_LSB];
  assign aborts = commanded && !asked && set_data[TP_PLUGIN_PARTIAL_COMMAND_ABORT_LSB];
  assign releases = commanded && !asked && set_data[TP_PLUGIN_PARTIAL_COMMAND_RELEASE_LSB] && !loading;
  assign put = set && set_at == 10'(TP_PLUGIN_PARTIAL_DATA_OFFSET / 4) && loading && !ending;

  // ---- dwords on their way to the port
  logic room, waiting;
  logic [$clog2(DEPTH):0] count;
  tp_fifo #(
      .WIDTH(32),
      .DEPTH(DEPTH)
  ) queue (
      .clk,
      .rst(!rst_n),
      .clear(begins || !loading),
      .in_valid(put),
      .in_ready(room),
      .in_data(set_data),
      .out_valid(waiting),
      .out_ready(config_ready && config_valid),
      .out_data(config_data),
      .count
  );
  assign config_valid = waiting && loading;
  assign config_end = ending && !waiting;

  // ---- the load, and what becomes of it
  logic failed, loaded;
  tp_partial_outcome_e reason;
  always_comb begin
    failed = loading && (aborts || put && !room || config_error && !config_start);
    reason = aborts ? TP_PARTIAL_OUTCOME_ABORTED : put && !room ? TP_PARTIAL_OUTCOME_OVERRUN : TP_PARTIAL_OUTCOME_PORT;
    loaded = config_end && config_done && !failed;
  end
  assign user_rst_n = coupled;
  assign user_decoupled = !coupled;

  always_ff @(posedge clk) begin
    config_start <= begins;
    left <= left - 5'(left != 0);
    coupled <= free && whole && left == 0 && !begins;
    if (config_valid && config_ready) words <= words + 1'b1;
    if (ends && loading) ending <= 1'b1;
    if (releases) free <= 1'b1;
    if (failed || loaded) begin
      loading <= 1'b0;
      ending <= 1'b0;
      outcome <= failed ? reason : TP_PARTIAL_OUTCOME_LOADED;
      left <= 5'(SETTLE);
    end
    if (begins) begin
      loading <= 1'b1;
      ending <= 1'b0;
      free <= 1'b0;
      words <= '0;
    end
    if (asked) outcome <= begins ? TP_PARTIAL_OUTCOME_IDLE : TP_PARTIAL_OUTCOME_REFUSED;

    if (!rst_n) begin
      config_start <= 1'b0;
      left <= 5'(SETTLE);
      coupled <= 1'b0;
      words <= '0;
      loading <= 1'b0;
      ending <= 1'b0;
      free <= 1'b1;
      outcome <= TP_PARTIAL_OUTCOME_IDLE;
    end
  end

  // ---- what the region holds
  logic [31:0] core_name[NAME_DWORDS];
  initial for (int k = 0; k < NAME_DWORDS; k++) core_name[k] = '0;
  always_ff @(posedge clk) begin
    if (rst_n && begins) whole <= 1'b0;
    if (rst_n && loaded && !begins) begin
      whole <= 1'b1;
      loads <= loads + 1'b1;
    end
  end
  always_ff @(posedge clk) begin
    if (set && loading && set_at[11:2+NW] == (10 - NW)'(TP_PLUGIN_PARTIAL_CORE_NAME_OFFSET / 4 / NAME_DWORDS)) begin
      core_name[set_at[1+NW:2]] <= set_data;
    end
  end

  always_comb begin
    get_data = '0;
    case (get_at)
      10'(TP_PLUGIN_PARTIAL_STATUS_OFFSET / 4): begin
        get_data[TP_PLUGIN_PARTIAL_STATUS_LOADING_LSB] = loading;
        get_data[TP_PLUGIN_PARTIAL_STATUS_DECOUPLED_LSB] = user_decoupled;
        get_data[TP_PLUGIN_PARTIAL_STATUS_WHOLE_LSB] = whole;
        get_data[TP_PLUGIN_PARTIAL_STATUS_MIDWAY_LSB] = user_midway;
        get_data[TP_PLUGIN_PARTIAL_STATUS_OUTCOME_LSB+:3] = outcome;
      end
      10'(TP_PLUGIN_PARTIAL_ROOM_OFFSET / 4): get_data = 32'(DEPTH) - 32'(count);
      10'(TP_PLUGIN_PARTIAL_WORDS_OFFSET / 4): get_data = words;
      10'(TP_PLUGIN_PARTIAL_LOADS_OFFSET / 4): get_data = loads;
      default: begin
        if (get_at[11:2+NW] == (10 - NW)'(TP_PLUGIN_PARTIAL_CORE_NAME_OFFSET / 4 / NAME_DWORDS)) get_data = core_name[get_at[1+NW:2]];
      end
    endcase
  end
endmodule
