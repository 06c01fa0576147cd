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

# What an earlier build made is not this one's.
file delete -force [file join $here $name.bit] [file join $here build]
foreach core $regions { file delete -force [file join $here partial $core.bit] [file join $here partial $core.bin] }

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

# Waits for a run. Runs that it waits for, such as the IP's own, fail on their own account, so the first one that did is named.
proc finish {run} {
  wait_on_run $run
  if {[get_property PROGRESS [get_runs $run]] eq "100%"} { return }
  foreach each [concat [get_runs] $run] {
    if {[string match -nocase *error* [get_property STATUS [get_runs $each]]]} {
      set run $each
      break
    }
  }
  fail "$run: [get_property STATUS [get_runs $run]]. What it said is in [get_property DIRECTORY [get_runs $run]]/runme.log"
}

# A constraint that could not be applied is no more than a critical warning to Vivado; the line names the file.
proc constraints_applied {run} {
  set log [open [file join [get_property DIRECTORY [get_runs $run]] runme.log]]
  set lines [split [read $log] \n]
  close $log
  foreach line $lines {
    if {![regexp {^(CRITICAL WARNING|ERROR):} $line]} { continue }
    foreach name [concat $::pins $::crossings] {
      if {[string first $name $line] >= 0} { fail "$run did not apply a constraint. $line" }
    }
  }
}

proc find {folder name} {
  foreach each [glob -nocomplain -directory $folder *] {
    if {[file tail $each] eq $name} { return $each }
    if {[file isdirectory $each] && [set found [find $each $name]] ne ""} { return $found }
  }
}

# The IP's documents do not say in which unit it takes the place of the MSI-X table, and public designs differ. What it generated tells.
proc msix_placed {} {
  set path [find [file join $::here build] $::msix_file]
  set text {}
  if {$path ne ""} {
    set text [read [set file [open $path]]]
    close $file
  }
  foreach {setting parameter wanted} $::msix {
    if {![regexp "\\m$parameter\\s*\[=(\]\\s*\\d*'\[hH\](\[0-9a-fA-F\]+)" $text -> made]} {
      fail "the generated IP has no $parameter in a file $::msix_file: look where it stands, compare it with 0x$wanted,\
        and empty the list msix in settings.tcl to go on"
    }
    scan "$made $wanted [dict get $::settings $setting]" "%x %x %x" made wanted given
    if {$made != $wanted} {
      # A size counts from another number, a place in another unit.
      set right [expr {[string match *SIZE $parameter] || !$made ? $given + $wanted - $made : $given * $wanted / $made}]
      fail [format "%s: %X makes %X of %s, and the card has %X. Write %X in settings.tcl, and please report it" \
        $setting $given $made $parameter $wanted $right]
    }
  }
}

if {![regexp {^\d+\.\d+} [version -short] number]} { set number 0.0 }
if {[package vcompare $number 2019.1] < 0} { fail "Vivado [version -short] is too old: 2019.1 or newer is needed" }

if {[llength $regions]} {
  source [file join $here partial.tcl]
  if {[lindex $argv 0] ne "project"} { synthesise_regions }
}

# ---- project
create_project -force $name [file join $here build] -part $part
set_property target_language Verilog [current_project]
add_files -norecurse [paths $sources]
if {[llength $systemverilog]} { set_property file_type SystemVerilog [get_files [paths $systemverilog]] }
if {[llength $vhdl]} { set_property file_type {VHDL 2008} [get_files [paths $vhdl]] }
set_property include_dirs [paths $includes] [current_fileset]
set_property verilog_define [concat {*}$defines] [current_fileset]
if {[llength $data]} { read_mem [paths $data] }
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
msix_placed
update_compile_order -fileset sources_1
if {[lindex $argv 0] eq "project"} {
  puts "build.tcl: the project is [file join $here build $name.xpr]"
  if {[llength $regions]} { puts "build.tcl: it has a hole for the region, which partial.tcl fills" }
  exit 0
}

# ---- bit stream
launch_runs synth_1 -jobs 4
finish synth_1
# crossings.tcl passes over names that match nothing, for not every design has all.
open_run synth_1
foreach pattern $crossing_names {
  if {[llength [get_cells -hierarchical $pattern]] == 0} {
    fail "no cell is named $pattern: crossings.tcl would leave a crossing without bounds"
  }
}
if {[llength $regions]} {
  implement_regions
  exit 0
}
close_design
launch_runs impl_1 -to_step write_bitstream -jobs 4
finish impl_1
constraints_applied impl_1
open_run impl_1
report_timing_summary -file [file join $here timing.txt]
report_utilization -file [file join $here utilization.txt]
report_cdc -file [file join $here cdc.txt]
# Setup, hold, and the width of pulses.
foreach slack {STATS.WNS STATS.WHS STATS.TPWS} {
  if {[get_property $slack [get_runs impl_1]] < 0} {
    fail "timing is not met, $slack is [get_property $slack [get_runs impl_1]] ns: see timing.txt. No bit stream is given out"
  }
}
file copy -force [file join $here build $name.runs impl_1 tp_top.bit] [file join $here $name.bit]
puts "build.tcl: [file join $here $name.bit]"
