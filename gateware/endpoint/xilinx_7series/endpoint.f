// The endpoint's sources, to follow those of gateware/towpath.f.
gateware/endpoint/tp_whole_packet.sv
gateware/endpoint/xilinx_7series/tp_x7_receive.sv
gateware/endpoint/xilinx_7series/tp_x7_requests.sv
gateware/endpoint/xilinx_7series/tp_x7_transmit.sv
gateware/endpoint/xilinx_7series/tp_x7_config.sv
gateware/endpoint/xilinx_7series/tp_x7_narrow.sv
gateware/endpoint/xilinx_7series/tp_xilinx_7series.sv
