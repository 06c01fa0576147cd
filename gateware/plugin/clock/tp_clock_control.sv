// SPDX-License-Identifier: Apache-2.0
// Which of CLOCKS inputs is the user's clock, and the way from one to the next: the old one's gate is seen closed before the new one's is opened.
// So no pulse is shorter than half a period of the one or the other.
//
// An ask is taken while an input is on and runs. One for an input that stands still, or is not there, changes nothing and sets `astray`, as does
// an input that stops while it is on: the first that runs takes its place. An ask that is followed clears it. If none runs, the first that comes back is it.
// A gate whose input stands still cannot close. It is masked, until it is opened again: by then its input has run for a window of tp_clock_meter
// with `masked` 1, so that the gate has closed, and has been seen closed.
// Input 0 is on from configuration; no reset reaches this module, since one would cut a pulse.
module tp_clock_control #(
    parameter int CLOCKS = 3
) (
    input  logic              clk,      // runs whatever the inputs do
    input  logic [CLOCKS-1:0] clocks,
    input  logic [CLOCKS-1:0] runs,     // registers on `clk`
    output logic [CLOCKS-1:0] masked,
    input  logic              ask_valid,
    output logic              ask_ready,
    input  logic [       1:0] ask_input,
    output logic [       1:0] current,  // while `settled`
    output logic              settled,
    output logic              astray,
    output logic              user_clk
);
  logic [CLOCKS-1:0] enable, on, seen;
  logic [3:0] runs_all, seen_all, masked_all;  // inputs that are not there stand still
  logic changing;  // the old input is being closed, `wanted` comes next
  logic [1:0] wanted, first;
  assign runs_all = 4'(runs);
  assign seen_all = 4'(seen);
  assign masked_all = 4'(masked);

  always_comb begin
    first = current;
    for (int k = CLOCKS - 1; k >= 0; k--) if (runs[k]) first = 2'(k);
  end

  initial begin
    enable = CLOCKS'(1);
    masked = '0;
    changing = 1'b0;
    current = '0;
    wanted = '0;
    astray = 1'b0;
  end

  for (genvar k = 0; k < CLOCKS; k++) begin : gen_gates
    tp_clock_gate #(
        .INITIAL(k == 0)
    ) gate (
        .clock(clocks[k]),
        .enable(enable[k]),
        .on(on[k])
    );
  end
  tp_clock_join #(
      .CLOCKS(CLOCKS)
  ) i_join (
      .clocks,
      .on,
      .masked,
      .user_clk
  );

  tp_sync #(
      .WIDTH(CLOCKS),
      .INITIAL(CLOCKS'(1))
  ) on_sync (
      .clk,
      .d(on),
      .q(seen)
  );

  assign settled = !changing && seen_all[current];
  assign ask_ready = settled && runs_all[current];

  always_ff @(posedge clk) begin
    if (changing) begin
      if (!seen_all[current] || masked_all[current]) begin
        if (!runs_all[wanted]) begin
          wanted <= first;
          astray <= 1'b1;
        end else begin
          current  <= wanted;
          changing <= 1'b0;
          for (int k = 0; k < CLOCKS; k++) begin
            if (wanted == 2'(k)) begin
              enable[k] <= 1'b1;
              masked[k] <= 1'b0;
            end
          end
        end
      end else if (!runs_all[current]) begin
        for (int k = 0; k < CLOCKS; k++) if (current == 2'(k)) masked[k] <= 1'b1;
      end
    end else if (!runs_all[current]) begin
      if (runs != '0) begin
        // Seen closed it may be while an opening is on its way to it.
        for (int k = 0; k < CLOCKS; k++) if (current == 2'(k)) masked[k] <= 1'b1;
        enable <= '0;
        wanted <= first;
        astray <= 1'b1;
        changing <= 1'b1;
      end
    end else if (ask_valid && ask_ready) begin
      astray <= !runs_all[ask_input];
      if (runs_all[ask_input] && ask_input != current) begin
        enable <= '0;
        wanted <= ask_input;
        changing <= 1'b1;
      end
    end
  end
endmodule
