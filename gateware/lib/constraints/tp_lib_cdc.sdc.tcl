# SPDX-License-Identifier: Apache-2.0
# Constraints of the clock crossings in gateware/lib. Source it once the clocks exist, with the shorter period of the two sides in
# nanoseconds as `tp_cdc_max_ns` (default 4.0), and run it in a tool that reads SDC with Tcl.
#
# Plain SDC only. `set_max_delay` and `set_min_delay` bound a path together with the clocks' skew; some tools have an option that counts
# the data path alone and ignores hold: where yours has one, add it in `tp_cdc_path_options`. Without it, the set_false_path -hold
# lines below keep the hold check off paths which have no relation between their clocks.
#
# Cells are found by name, so the names are part of each module's contract:
#   tp_sync_meta    the first register of tp_sync: what it captures may be metastable
#   *tp_cdc_gray*   pointers in Gray code: their bits must arrive within one clock of each other
#   tp_cdc_data     words that stand still while the other side looks
#   tp_cdc_mem      RAM of tp_async_fifo: an entry stands still from before its pointer crosses until it is read
# A tool that has get_registers finds them by that command, for its get_cells does not look below the top.
if {![info exists tp_cdc_max_ns]} { set tp_cdc_max_ns 4.0 }
if {![info exists tp_cdc_path_options]} { set tp_cdc_path_options {} }

proc tp_cdc_find {name} {
  if {[llength [info commands get_registers]] > 0} { return [get_registers -nowarn $name] }
  return [get_cells -hierarchical $name]
}

# Every level that enters a synchroniser, Gray pointers among them: at most one clock of the faster side. From a clock, for a tool's option may ask
# for a path's beginning.
set tp_cdc_cells [tp_cdc_find *tp_sync_meta*]
if {[llength $tp_cdc_cells] > 0} {
  set_max_delay {*}$tp_cdc_path_options $tp_cdc_max_ns -from [all_clocks] -to $tp_cdc_cells
  set_false_path -hold -to $tp_cdc_cells
}

# Words and RAM that cross beside a synchronised flag or pointer: at least two clocks of the reader pass before they are looked at, so
# one clock of the faster side is on the safe side.
foreach tp_cdc_name {*tp_cdc_data* *tp_cdc_mem*} {
  set tp_cdc_cells [tp_cdc_find $tp_cdc_name]
  if {[llength $tp_cdc_cells] > 0} {
    set_max_delay {*}$tp_cdc_path_options $tp_cdc_max_ns -from $tp_cdc_cells
    set_false_path -hold -from $tp_cdc_cells
  }
}
