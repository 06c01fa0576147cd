# SPDX-License-Identifier: Apache-2.0
# KC705 (UG810). Locations after litex-boards (xilinx_kc705.py) and RIFFA (KC705_Gen1x8If64.xdc).

# The slot's reference clock and reset.
set_property PACKAGE_PIN U8 [get_ports pcie_refclk_p]
set_property PACKAGE_PIN U7 [get_ports pcie_refclk_n]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_p]
set_property -dict {PACKAGE_PIN G25 IOSTANDARD LVCMOS25 PULLUP true} [get_ports pcie_reset_n]
set_false_path -from [get_ports pcie_reset_n]

# Lanes.
set_property PACKAGE_PIN M6 [get_ports {pcie_rx_p[0]}]
set_property PACKAGE_PIN M5 [get_ports {pcie_rx_n[0]}]
set_property PACKAGE_PIN L4 [get_ports {pcie_tx_p[0]}]
set_property PACKAGE_PIN L3 [get_ports {pcie_tx_n[0]}]
set_property PACKAGE_PIN P6 [get_ports {pcie_rx_p[1]}]
set_property PACKAGE_PIN P5 [get_ports {pcie_rx_n[1]}]
set_property PACKAGE_PIN M2 [get_ports {pcie_tx_p[1]}]
set_property PACKAGE_PIN M1 [get_ports {pcie_tx_n[1]}]
set_property PACKAGE_PIN R4 [get_ports {pcie_rx_p[2]}]
set_property PACKAGE_PIN R3 [get_ports {pcie_rx_n[2]}]
set_property PACKAGE_PIN N4 [get_ports {pcie_tx_p[2]}]
set_property PACKAGE_PIN N3 [get_ports {pcie_tx_n[2]}]
set_property PACKAGE_PIN T6 [get_ports {pcie_rx_p[3]}]
set_property PACKAGE_PIN T5 [get_ports {pcie_rx_n[3]}]
set_property PACKAGE_PIN P2 [get_ports {pcie_tx_p[3]}]
set_property PACKAGE_PIN P1 [get_ports {pcie_tx_n[3]}]
set_property PACKAGE_PIN V6 [get_ports {pcie_rx_p[4]}]
set_property PACKAGE_PIN V5 [get_ports {pcie_rx_n[4]}]
set_property PACKAGE_PIN T2 [get_ports {pcie_tx_p[4]}]
set_property PACKAGE_PIN T1 [get_ports {pcie_tx_n[4]}]
set_property PACKAGE_PIN W4 [get_ports {pcie_rx_p[5]}]
set_property PACKAGE_PIN W3 [get_ports {pcie_rx_n[5]}]
set_property PACKAGE_PIN U4 [get_ports {pcie_tx_p[5]}]
set_property PACKAGE_PIN U3 [get_ports {pcie_tx_n[5]}]
set_property PACKAGE_PIN Y6 [get_ports {pcie_rx_p[6]}]
set_property PACKAGE_PIN Y5 [get_ports {pcie_rx_n[6]}]
set_property PACKAGE_PIN V2 [get_ports {pcie_tx_p[6]}]
set_property PACKAGE_PIN V1 [get_ports {pcie_tx_n[6]}]
set_property PACKAGE_PIN AA4 [get_ports {pcie_rx_p[7]}]
set_property PACKAGE_PIN AA3 [get_ports {pcie_rx_n[7]}]
set_property PACKAGE_PIN Y2 [get_ports {pcie_tx_p[7]}]
set_property PACKAGE_PIN Y1 [get_ports {pcie_tx_n[7]}]

# Lights: the link is up, the card is out of reset.
set_property -dict {PACKAGE_PIN AB8 IOSTANDARD LVCMOS15} [get_ports {led[0]}]
set_property -dict {PACKAGE_PIN AA8 IOSTANDARD LVCMOS15} [get_ports {led[1]}]
set_false_path -to [get_ports {led[*]}]

# Configuration memory.
set_property CFGBVS VCCO [current_design]
set_property CONFIG_VOLTAGE 2.5 [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
