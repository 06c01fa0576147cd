-- SPDX-License-Identifier: Apache-2.0
--
-- A FIR filter of signed 16-bit samples, in transposed form: each clock a sample is multiplied by all coefficients at once, and the
-- products go into a chain of sums, the last of which is the result.
--     y[n] = sum over k of  c[k] x[n - k],  x = 0 before the message's first sample; out: y / 2^15, rounded half up, cut to 16 bits
--
-- A message on "samples" gives one of as many samples on "filtered". The port `coefficients` is a register: c[k] is in bits 16k+15 to 16k, a
-- signed fraction of 2^15. Set it while no message is under way.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity fir is
  generic (
    TAPS : positive := 16
  );
  port (
    clk   : in std_logic;
    rst_n : in std_logic;

    coefficients : in std_logic_vector(16 * TAPS - 1 downto 0);

    samples_tdata  : in  std_logic_vector(15 downto 0);
    samples_tkeep  : in  std_logic_vector(1 downto 0);
    samples_tlast  : in  std_logic;
    samples_tvalid : in  std_logic;
    samples_tready : out std_logic;
    samples_reset  : in  std_logic;

    filtered_tdata  : out std_logic_vector(15 downto 0);
    filtered_tkeep  : out std_logic_vector(1 downto 0);
    filtered_tlast  : out std_logic;
    filtered_tvalid : out std_logic;
    filtered_tready : in  std_logic;
    filtered_reset  : in  std_logic
  );
end entity;

architecture rtl of fir is
  constant WIDTH : positive := 40; -- room for 256 products of 32 bits
  subtype sum_t is signed(WIDTH - 1 downto 0);
  type sums_t is array (natural range <>) of sum_t;

  function result(sum : sum_t) return std_logic_vector is
    variable rounded : sum_t;
  begin
    rounded := shift_right(sum + 2 ** 14, 15);
    if rounded > 32767 then
      rounded := to_signed(32767, WIDTH);
    elsif rounded < -32768 then
      rounded := to_signed(-32768, WIDTH);
    end if;
    return std_logic_vector(rounded(15 downto 0));
  end function;

  signal sums : sums_t(0 to TAPS - 1); -- sums(k): what the taps from k on have of the result that tap k - 1 adds to next
  signal full : std_logic;
  signal go   : std_logic;
begin
  go <= filtered_tready or not full;
  samples_tready  <= go;
  filtered_tvalid <= full;

  process (clk) is
    variable sum : sum_t;
  begin
    if rising_edge(clk) then
      if go = '1' then
        full <= samples_tvalid;
        filtered_tkeep <= samples_tkeep;
        filtered_tlast <= samples_tlast;
        -- An end that comes late brings no sample.
        if samples_tvalid = '1' and samples_tkeep(0) = '1' then
          for k in 0 to TAPS - 1 loop
            sum := resize(signed(samples_tdata) * signed(coefficients(16 * k + 15 downto 16 * k)), WIDTH);
            if k < TAPS - 1 then
              sum := sum + sums(k + 1);
            end if;
            sums(k) <= sum;
            if k = 0 then
              filtered_tdata <= result(sum);
            end if;
          end loop;
        end if;
        if samples_tvalid = '1' and samples_tlast = '1' then
          for k in 0 to TAPS - 1 loop
            sums(k) <= (others => '0');
          end loop;
        end if;
      end if;
      if rst_n = '0' or samples_reset = '1' then
        for k in 0 to TAPS - 1 loop
          sums(k) <= (others => '0');
        end loop;
      end if;
      if rst_n = '0' or samples_reset = '1' or filtered_reset = '1' then
        full <= '0';
      end if;
    end if;
  end process;
end architecture;
