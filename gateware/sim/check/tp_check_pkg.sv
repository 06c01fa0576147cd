// SPDX-License-Identifier: Apache-2.0
// How the checker at a user core's ports tells what it has found. For simulation only: host/cores puts these modules into models, and nothing else does.
//
// A line that begins with "%Error: core port" is known to model.cpp, which tells it before the gateware's own assertions of the same clock edge.
package tp_check_pkg;
  // $time counts ns: the builder says so, and these files are before all that could say otherwise.

  // A rule is broken. With `stops` the simulation ends with it.
  function automatic void breach(bit stops, string port, string beat, string what);
    string text;
    text = $sformatf("core port `%s`, %s, %0d.%03d us: %s", port, beat, $time / 1000, $time % 1000, what);
    if (stops) $display("%%Error: %s", text);
    else $display("%%Warning: %s", text);
    if (stops) $stop;
  endfunction
endpackage
