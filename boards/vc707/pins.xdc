# SPDX-License-Identifier: Apache-2.0
# VC707 (UG885). Locations after litex-boards (xilinx_vc707.py) and RIFFA (VC707_Gen2x8If128.xdc).

# The slot's reference clock and reset.
set_property PACKAGE_PIN AB8 [get_ports pcie_refclk_p]
set_property PACKAGE_PIN AB7 [get_ports pcie_refclk_n]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_p]
set_property -dict {PACKAGE_PIN AV35 IOSTANDARD LVCMOS18 PULLUP true} [get_ports pcie_reset_n]
set_false_path -from [get_ports pcie_reset_n]

# Lanes.
set_property PACKAGE_PIN Y4 [get_ports {pcie_rx_p[0]}]
set_property PACKAGE_PIN Y3 [get_ports {pcie_rx_n[0]}]
set_property PACKAGE_PIN W2 [get_ports {pcie_tx_p[0]}]
set_property PACKAGE_PIN W1 [get_ports {pcie_tx_n[0]}]
set_property PACKAGE_PIN AA6 [get_ports {pcie_rx_p[1]}]
set_property PACKAGE_PIN AA5 [get_ports {pcie_rx_n[1]}]
set_property PACKAGE_PIN AA2 [get_ports {pcie_tx_p[1]}]
set_property PACKAGE_PIN AA1 [get_ports {pcie_tx_n[1]}]
set_property PACKAGE_PIN AB4 [get_ports {pcie_rx_p[2]}]
set_property PACKAGE_PIN AB3 [get_ports {pcie_rx_n[2]}]
set_property PACKAGE_PIN AC2 [get_ports {pcie_tx_p[2]}]
set_property PACKAGE_PIN AC1 [get_ports {pcie_tx_n[2]}]
set_property PACKAGE_PIN AC6 [get_ports {pcie_rx_p[3]}]
set_property PACKAGE_PIN AC5 [get_ports {pcie_rx_n[3]}]
set_property PACKAGE_PIN AE2 [get_ports {pcie_tx_p[3]}]
set_property PACKAGE_PIN AE1 [get_ports {pcie_tx_n[3]}]
set_property PACKAGE_PIN AD4 [get_ports {pcie_rx_p[4]}]
set_property PACKAGE_PIN AD3 [get_ports {pcie_rx_n[4]}]
set_property PACKAGE_PIN AG2 [get_ports {pcie_tx_p[4]}]
set_property PACKAGE_PIN AG1 [get_ports {pcie_tx_n[4]}]
set_property PACKAGE_PIN AE6 [get_ports {pcie_rx_p[5]}]
set_property PACKAGE_PIN AE5 [get_ports {pcie_rx_n[5]}]
set_property PACKAGE_PIN AH4 [get_ports {pcie_tx_p[5]}]
set_property PACKAGE_PIN AH3 [get_ports {pcie_tx_n[5]}]
set_property PACKAGE_PIN AF4 [get_ports {pcie_rx_p[6]}]
set_property PACKAGE_PIN AF3 [get_ports {pcie_rx_n[6]}]
set_property PACKAGE_PIN AJ2 [get_ports {pcie_tx_p[6]}]
set_property PACKAGE_PIN AJ1 [get_ports {pcie_tx_n[6]}]
set_property PACKAGE_PIN AG6 [get_ports {pcie_rx_p[7]}]
set_property PACKAGE_PIN AG5 [get_ports {pcie_rx_n[7]}]
set_property PACKAGE_PIN AK4 [get_ports {pcie_tx_p[7]}]
set_property PACKAGE_PIN AK3 [get_ports {pcie_tx_n[7]}]

# Lights: the link is up, the card is out of reset.
set_property -dict {PACKAGE_PIN AM39 IOSTANDARD LVCMOS18} [get_ports {led[0]}]
set_property -dict {PACKAGE_PIN AN39 IOSTANDARD LVCMOS18} [get_ports {led[1]}]
set_false_path -to [get_ports {led[*]}]

# Configuration memory: parallel NOR flash. After VILLASframework/fpga-hardware (vc707_villas/constraints/bitstream.xdc).
set_property CFGBVS GND [current_design]
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
set_property CONFIG_MODE BPI16 [current_design]
