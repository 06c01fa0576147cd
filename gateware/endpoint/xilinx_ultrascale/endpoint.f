// The endpoint's sources, to follow those of gateware/towpath.f.
gateware/endpoint/tp_whole_packet.sv
gateware/endpoint/xilinx_ultrascale/tp_ultrascale_pkg.sv
gateware/endpoint/xilinx_ultrascale/tp_us_pack.sv
gateware/endpoint/xilinx_ultrascale/tp_us_straddle.sv
gateware/endpoint/xilinx_ultrascale/tp_us_unpack.sv
gateware/endpoint/xilinx_ultrascale/tp_us_order.sv
gateware/endpoint/xilinx_ultrascale/tp_us_rq.sv
gateware/endpoint/xilinx_ultrascale/tp_us_rc.sv
gateware/endpoint/xilinx_ultrascale/tp_us_cq.sv
gateware/endpoint/xilinx_ultrascale/tp_us_cc.sv
gateware/endpoint/xilinx_ultrascale/tp_us_config.sv
gateware/endpoint/xilinx_ultrascale/tp_xilinx_ultrascale.sv
