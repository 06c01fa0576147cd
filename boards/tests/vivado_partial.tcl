# SPDX-License-Identifier: Apache-2.0
# Stand-ins, as in vivado.tcl, for the commands of partial reconfiguration that partial.tcl uses (UG835, UG909). They keep account of what is open and how
# far it has come, and refuse what comes in the wrong order. The environment plants faults:
#   TP_REGIONS      the number of cells of the region's module
#   TP_REGION_SLACK the slack that a core reaches in the region: a list, by cores
set memory 0; # projects in memory so far
array set made {}; # checkpoints: what they hold
array set region {state {} core {} reconfigurable 0 pblock 0 ranges 0 locked 0 routed 0}

proc create_memory_project {part} {
  incr ::memory
  set ::read($::memory) 0
  record create_memory_project $part
}
proc source_of_region {path} {
  if {![file isfile $path]} { error "$path does not exist" }
  incr ::read($::memory)
  record region_source [expr {$::memory - 1}] $path
}
proc read_verilog {args} { source_of_region [lindex [options $args {-sv} {}] 0] }
proc read_vhdl {args} { source_of_region [lindex [options $args {-vhdl2008} {}] 0] }
proc synth_design {args} {
  if {[options $args {} {-top -part -mode -verilog_define -include_dirs}] ne {}} { error "synth_design $args" }
  if {$option(-mode) ne "out_of_context" || !$::read($::memory)} { error "synth_design: a region is synthesised by itself, from sources" }
  foreach folder [expr {[info exists option(-include_dirs)] ? $option(-include_dirs) : {}}] {
    if {![file isdirectory $folder]} { error "synth_design: $folder does not exist" }
    record region_include [expr {$::memory - 1}] $folder
  }
  foreach macro $option(-verilog_define) { record region_define [expr {$::memory - 1}] $macro }
  record synth_design $option(-top) $option(-part)
  set ::synthesised $option(-top)
}
proc write_checkpoint {args} {
  set path [options $args {-force} {}]
  if {[file extension $path] ne ".dcp" || ![file isdirectory [file dirname $path]]} { error "write_checkpoint $path" }
  if {[info exists ::synthesised]} {
    set ::made($path) "synthesised $::memory"
  } elseif {$::region(routed)} {
    set ::made($path) "routed $::region(core)"
  } else {
    error "write_checkpoint: nothing is routed"
  }
}
proc close_project {} { unset -nocomplain ::synthesised }

proc region_cells {} {
  if {$::region(state) eq {}} { set ::region(state) hole }
  set cells {}
  for {set k 0} {$k < [planted TP_REGIONS 1]} {incr k} {
    lappend cells "i_board/i_card/core$k"
    set ::values(i_board/i_card/core$k,NAME) "i_board/i_card/core$k"
  }
  return $cells
}
proc must_be_region {cell} {
  if {$cell ne "i_board/i_card/core0"} { error "there is no cell $cell" }
}
proc read_checkpoint {args} {
  set path [options $args {} {-cell}]
  must_be_region $option(-cell)
  if {![info exists ::made($path)] || [lindex $::made($path) 0] ne "synthesised"} { error "read_checkpoint: $path was not synthesised" }
  if {$::region(state) ne "hole"} { error "read_checkpoint: the cell is no black box" }
  if {$::region(reconfigurable) && !$::region(locked)} { error "read_checkpoint: the rest's routing is not locked" }
  array set ::region [list state filled core [lindex $::made($path) 1] routed 0]
  record read_checkpoint $::region(core)
}
proc create_pblock {name} { set ::region(pblock) $name }
proc get_pblocks {name} {
  if {$::region(pblock) ne $name} { error "get_pblocks: there is no $name" }
  return @pblock
}
proc add_cells_to_pblock {pblock cell} { must_be_region $cell }
proc resize_pblock {args} {
  if {[options $args {} {-add}] ne "@pblock"} { error "resize_pblock $args" }
  if {![regexp {^(\w+)_X\d+Y\d+:\1_X\d+Y\d+$} $option(-add)]} { error "resize_pblock: $option(-add) is no range" }
  incr ::region(ranges)
  record resize_pblock $option(-add)
}
proc opt_design {} {
  if {$::region(state) ne "filled"} { error "opt_design: the region is empty" }
  if {![info exists ::values(i_board/i_card/core0,HD.RECONFIGURABLE)] || !$::region(ranges)} {
    error "opt_design: the region is not declared, or has no floorplan"
  }
  set ::region(reconfigurable) 1
  set ::region(step) opt
}
proc place_design {} {
  if {$::region(step) ne "opt"} { error "place_design: before opt_design" }
  set ::region(step) place
}
proc route_design {} {
  if {$::region(step) ne "place"} { error "route_design: before place_design" }
  array set ::region {step route routed 1}
}
proc get_timing_paths {args} {
  if {[options $args {} {-delay_type}] ne {} || $option(-delay_type) ni {min max}} { error "get_timing_paths $args" }
  set slacks [planted TP_REGION_SLACK {}]
  set slack [lindex $slacks [expr {$::region(core) - 1}]]
  set ::values(@path,SLACK) [expr {$slack eq {} ? 0.1 : $slack}]
  return @path
}
proc update_design {args} {
  if {[options $args {-black_box} {-cell}] ne {} || ![info exists option(-black_box)]} { error "update_design $args" }
  must_be_region $option(-cell)
  if {!$::region(routed)} { error "update_design: nothing is routed yet" }
  array set ::region {state hole locked 0 routed 0}
}
proc lock_design {args} {
  if {[options $args {} {-level}] ne {} || $option(-level) ne "routing" || $::region(state) ne "hole"} { error "lock_design $args" }
  set ::region(locked) 1
}
proc write_bitstream {args} {
  set path [options $args {-force -bin_file -no_partial_bitfile} {-cell}]
  if {!$::region(routed)} { error "write_bitstream: nothing is routed" }
  if {[info exists option(-cell)]} {
    must_be_region $option(-cell)
    if {![info exists ::values(@design,BITSTREAM.GENERAL.PERFRAMECRC)]} { error "write_bitstream: a CRC for each frame is wanted" }
  } elseif {![info exists option(-no_partial_bitfile)] || $::region(core) != 1} {
    error "write_bitstream: the whole holds the card's own core"
  }
  record write_bitstream $::region(core) [file tail $path] [info exists option(-cell)]
  close [open $path w]
  if {[info exists option(-bin_file)]} { close [open [file rootname $path].bin w] }
}
proc pr_verify {initial other} {
  foreach path [list $initial $other] {
    if {![info exists ::made($path)] || [lindex $::made($path) 0] ne "routed"} { error "pr_verify: $path was not routed" }
  }
  record pr_verify [lindex $::made($initial) 1] [lindex $::made($other) 1]
}
proc create_generated_clock {args} {
  set pin [options $args {} {-name -source -divide_by}]
  if {[llength $pin] == 0 || [llength $option(-source)] == 0 || ![string is integer -strict $option(-divide_by)]} {
    error "create_generated_clock $args"
  }
  record create_generated_clock $option(-name) $option(-divide_by) {*}$option(-source) {*}$pin
}
