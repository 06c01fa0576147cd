-- SPDX-License-Identifier: Apache-2.0
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

package gain_pkg is
  function times(byte : std_logic_vector(7 downto 0); factor : natural) return std_logic_vector;
end package;

package body gain_pkg is
  function times(byte : std_logic_vector(7 downto 0); factor : natural) return std_logic_vector is
  begin
    return std_logic_vector(resize(unsigned(byte) * to_unsigned(factor, 8), 8));
  end function;
end package body;
