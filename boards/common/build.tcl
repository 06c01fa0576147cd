# SPDX-License-Identifier: Apache-2.0
# Makes the project, the PCI Express block and the bit stream. Runs in Vivado, 2019.1 or newer, from any folder:
#
#   vivado -mode batch -source build.tcl                        all of it; the bit stream lies beside this file afterwards
#   vivado -mode batch -source build.tcl -tclargs project       the project only, to go on with in the window
#
# What is specific to board and core stands in project.tcl and settings.tcl, which tools/boardproject.py wrote.

set here [file normalize [file dirname [info script]]]
source [file join $here project.tcl]
source [file join $here settings.tcl]

# What an earlier build gave out is not this one's.
file delete [file join $here $name.bit]

proc fail {message} {
  puts stderr "build.tcl: $message"
  exit 1
}

proc paths {names} {
  set paths {}
  foreach name $names {
    set path [file join $::here $name]
    if {![file exists $path]} { fail "$name is missing: prepare this folder again (./run board)" }
    lappend paths $path
  }
  return $paths
}

proc finished {run} {
  if {[get_property PROGRESS [get_runs $run]] ne "100%"} {
    fail "$run: [get_property STATUS [get_runs $run]]. What it said is in [get_property DIRECTORY [get_runs $run]]/runme.log"
  }
}

if {![regexp {^\d+\.\d+} [version -short] number]} { set number 0.0 }
if {[package vcompare $number 2019.1] < 0} { fail "Vivado [version -short] is too old: 2019.1 or newer is needed" }

# ---- project
create_project -force $name [file join $here build] -part $part
set_property target_language Verilog [current_project]
add_files -norecurse [paths $sources]
set_property file_type SystemVerilog [get_files [paths $systemverilog]]
set_property include_dirs [paths $includes] [current_fileset]
set_property verilog_define {SYNTHESIS=1} [current_fileset]
set_property top tp_top [current_fileset]
add_files -norecurse -fileset constrs_1 [paths [concat $pins $crossings]]
set_property used_in_synthesis false [get_files [paths $crossings]]

# ---- the block, and whether the IP took every setting: it ignores those that contradict others
create_ip -name $ip -vendor xilinx.com -library ip -module_name tp_pcie
set_property -dict $settings [get_ips tp_pcie]
foreach {setting value} $settings {
  set taken [get_property $setting [get_ips tp_pcie]]
  if {![string equal -nocase $taken $value]} {
    fail "$setting is $taken, not $value: this Vivado's $ip does not allow it. board.toml and common/$ip_settings have the settings"
  }
}
generate_target all [get_ips tp_pcie]
update_compile_order -fileset sources_1
if {[lindex $argv 0] eq "project"} {
  puts "build.tcl: the project is [file join $here build $name.xpr]"
  exit 0
}

# ---- bit stream
launch_runs synth_1 -jobs 4
wait_on_run synth_1
finished synth_1
launch_runs impl_1 -to_step write_bitstream -jobs 4
wait_on_run impl_1
finished impl_1
open_run impl_1
report_timing_summary -file [file join $here timing.txt]
report_utilization -file [file join $here utilization.txt]
foreach slack {STATS.WNS STATS.WHS} {
  if {[get_property $slack [get_runs impl_1]] < 0} {
    fail "timing is not met, $slack is [get_property $slack [get_runs impl_1]] ns: see timing.txt. No bit stream is given out"
  }
}
file copy -force [file join $here build $name.runs impl_1 tp_top.bit] [file join $here $name.bit]
puts "build.tcl: [file join $here $name.bit]"
