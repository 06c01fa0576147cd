// The gateware's sources in the order of compilation, relative to the folder that holds gateware/ and contract/. Test benches, the simulator's
// builder and boards share this list; an endpoint's own files and the user core come after it.
contract/generated/towpath_pkg.sv
gateware/endpoint/tp_tlp_pkg.sv
gateware/lib/tp_fifo.sv
gateware/tp_core.sv
