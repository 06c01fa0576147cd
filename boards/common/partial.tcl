# SPDX-License-Identifier: Apache-2.0
# For a core with plug-in `partial`: procedures of build.tcl. The card's own core and those that can be loaded in its place are synthesised by themselves,
# each as `tp_region`; the rest has a hole in their place. The card's own core is placed and routed with the rest, whose routing stays for the others.
#
# Commands of the flow without a project (UG909), in one session: they are the same from 2019.1 on, where the feature is called Partial Reconfiguration, and
# since 2020.1, where it is Dynamic Function eXchange. Vivado's project flow for it is not used.

proc region_checkpoint {kind number} { return [file join $::here regions $kind-$number.dcp] }

proc synthesise_regions {} {
  file delete -force [file join $::here regions]
  file mkdir [file join $::here regions]
  for {set number 0} {$number < [llength $::regions]} {incr number} {
    create_project -in_memory -part $::part
    foreach name $::region_sources($number) {
      set path [paths [list $name]]
      switch -glob -nocase $name {
        *.sv { read_verilog -sv $path }
        *.vhd - *.vhdl { read_vhdl -vhdl2008 $path }
        default { read_verilog $path }
      }
    }
    if {[llength $::region_data($number)]} { read_mem [paths $::region_data($number)] }
    set options [list -top tp_region -part $::part -mode out_of_context -verilog_define $::region_defines($number)]
    if {[llength $::region_includes($number)]} { lappend options -include_dirs [paths $::region_includes($number)] }
    synth_design {*}$options
    write_checkpoint -force [region_checkpoint synthesised $number]
    close_project
  }
}

# Where the region is in the netlist. Objects do not outlive a checkpoint that is read, so it is a name.
proc region_cell {} {
  set cells [get_cells -hierarchical -filter {REF_NAME == tp_region}]
  if {[llength $cells] != 1} { fail "the design has [llength $cells] cells of tp_region: one is needed" }
  return [get_property NAME $cells]
}

proc route_region {number} {
  set what "core [lindex $::regions $number]"
  opt_design
  place_design
  route_design
  report_timing_summary -file [file join $::here timing-$number.txt]
  foreach {name delay} {setup max hold min} {
    set slack [get_property SLACK [get_timing_paths -delay_type $delay]]
    if {$slack < 0} { fail "$what: timing is not met, the $name slack is $slack ns: see timing-$number.txt. No bit stream is given out" }
  }
  write_checkpoint -force [region_checkpoint routed $number]
}

# The synthesised design is open, with a hole.
proc implement_regions {} {
  set cell [region_cell]
  set made {}
  file mkdir [file join $::here partial]
  for {set number 0} {$number < [llength $::regions]} {incr number} {
    if {$number > 0} {
      update_design -cell $cell -black_box
      lock_design -level routing
    }
    read_checkpoint -cell $cell [region_checkpoint synthesised $number]
    if {$number == 0} {
      set_property HD.RECONFIGURABLE true [get_cells $cell]
      create_pblock tp_region
      add_cells_to_pblock [get_pblocks tp_region] [get_cells $cell]
      foreach range $::pblock { resize_pblock [get_pblocks tp_region] -add $range }
      set_property SNAPPING_MODE ON [get_pblocks tp_region]
    }
    route_region $number
    # A damaged file is to be noticed before its frames are used, and not only at its end.
    set_property BITSTREAM.GENERAL.PERFRAMECRC YES [current_design]
    # A program takes the file's name for the core's.
    set file [file join $::here partial [lindex $::regions $number]]
    write_bitstream -force -bin_file -cell $cell $file.bit
    lappend made $file.bin
    if {$number == 0} {
      report_utilization -file [file join $::here utilization.txt]
      report_cdc -file [file join $::here cdc.txt]
      write_bitstream -force -no_partial_bitfile [file join $::here build whole.bit]
    } else {
      pr_verify [region_checkpoint routed 0] [region_checkpoint routed $number]
    }
  }
  file copy -force [file join $::here build whole.bit] [file join $::here $::name.bit]
  puts "build.tcl: [file join $::here $::name.bit]; to load into the region: [join $made {, }]"
}
