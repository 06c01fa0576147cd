-- SPDX-License-Identifier: Apache-2.0
-- Each byte that comes in goes out times FACTOR, a clock later.
library ieee;
use ieee.std_logic_1164.all;
use work.gain_pkg.all;

entity Gain is
  generic (
    DATA_WIDTH : positive := 32;
    FACTOR     : natural  := 1
  );
  port (
    aclk    : in std_logic;
    aresetn : in std_logic;

    s_axis_tdata  : in  std_logic_vector(DATA_WIDTH - 1 downto 0);
    s_axis_tkeep  : in  std_logic_vector(DATA_WIDTH / 8 - 1 downto 0);
    s_axis_tlast  : in  std_logic;
    s_axis_tvalid : in  std_logic;
    s_axis_tready : out std_logic;

    m_axis_tdata  : out std_logic_vector(DATA_WIDTH - 1 downto 0);
    m_axis_tkeep  : out std_logic_vector(DATA_WIDTH / 8 - 1 downto 0);
    m_axis_tlast  : out std_logic;
    m_axis_tvalid : out std_logic;
    m_axis_tready : in  std_logic
  );
end entity;

architecture rtl of Gain is
  signal full : std_logic := '0';
begin
  s_axis_tready <= m_axis_tready or not full;
  m_axis_tvalid <= full;

  process (aclk) is
  begin
    if rising_edge(aclk) then
      if m_axis_tready = '1' or full = '0' then
        full <= s_axis_tvalid;
        m_axis_tkeep <= s_axis_tkeep;
        m_axis_tlast <= s_axis_tlast;
        for i in 0 to DATA_WIDTH / 8 - 1 loop
          m_axis_tdata(8 * i + 7 downto 8 * i) <= times(s_axis_tdata(8 * i + 7 downto 8 * i), FACTOR);
        end loop;
      end if;
      if aresetn = '0' then
        full <= '0';
      end if;
    end if;
  end process;
end architecture;
