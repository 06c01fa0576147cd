# SPDX-License-Identifier: Apache-2.0
# AC701 (UG952). Locations after litex-boards (xilinx_ac701.py), RIFFA (AC701_Gen1x4If64.xdc) and pcileech-fpga (pcileech_ac701_ft601.xdc).

# The slot's reference clock and reset.
set_property PACKAGE_PIN F11 [get_ports pcie_refclk_p]
set_property PACKAGE_PIN E11 [get_ports pcie_refclk_n]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_p]
set_property -dict {PACKAGE_PIN M20 IOSTANDARD LVCMOS33 PULLUP true} [get_ports pcie_reset_n]
set_false_path -from [get_ports pcie_reset_n]

# Lanes.
set_property PACKAGE_PIN D12 [get_ports {pcie_rx_p[0]}]
set_property PACKAGE_PIN C12 [get_ports {pcie_rx_n[0]}]
set_property PACKAGE_PIN D10 [get_ports {pcie_tx_p[0]}]
set_property PACKAGE_PIN C10 [get_ports {pcie_tx_n[0]}]
set_property PACKAGE_PIN B13 [get_ports {pcie_rx_p[1]}]
set_property PACKAGE_PIN A13 [get_ports {pcie_rx_n[1]}]
set_property PACKAGE_PIN B9 [get_ports {pcie_tx_p[1]}]
set_property PACKAGE_PIN A9 [get_ports {pcie_tx_n[1]}]
set_property PACKAGE_PIN D14 [get_ports {pcie_rx_p[2]}]
set_property PACKAGE_PIN C14 [get_ports {pcie_rx_n[2]}]
set_property PACKAGE_PIN D8 [get_ports {pcie_tx_p[2]}]
set_property PACKAGE_PIN C8 [get_ports {pcie_tx_n[2]}]
set_property PACKAGE_PIN B11 [get_ports {pcie_rx_p[3]}]
set_property PACKAGE_PIN A11 [get_ports {pcie_rx_n[3]}]
set_property PACKAGE_PIN B7 [get_ports {pcie_tx_p[3]}]
set_property PACKAGE_PIN A7 [get_ports {pcie_tx_n[3]}]

# Lights: the link is up, the card is out of reset.
set_property -dict {PACKAGE_PIN M26 IOSTANDARD LVCMOS33} [get_ports {led[0]}]
set_property -dict {PACKAGE_PIN T24 IOSTANDARD LVCMOS33} [get_ports {led[1]}]
set_false_path -to [get_ports {led[*]}]

# Configuration memory. No public source with settings of its flash was found, so none are made: load this board by JTAG.
set_property CFGBVS VCCO [current_design]
set_property CONFIG_VOLTAGE 3.3 [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
