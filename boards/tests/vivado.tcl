# SPDX-License-Identifier: Apache-2.0
# Stand-ins for the commands of Vivado that build.tcl and the constraints use. Each takes only the options that it is documented to have (UG835), refuses what
# the tool would refuse (files that are not there, objects that nobody made), and records what it was asked.
#
#   tclsh vivado.tcl LOG CELLS SCRIPT [ARGUMENTS]
#
# CELLS is a file with the names of the design's registers, one a line. The environment plants faults:
#   TP_VERSION      another version
#   TP_IGNORED      a setting that the IP does not take
#   TP_UNIT         what the IP divides the places of MSI-X by
#   TP_VECTORS      what it takes off the number of vectors
#   TP_GENERATED    another name for the file in which it writes them
#   TP_FAILED       a run that fails
#   TP_SLACK        the slack that the implementation reaches
#   TP_PULSES       the slack of pulse widths
#   TP_SAID         a line in the implementation's log
lassign $argv log_name cells_name script
set argv [lrange $argv 3 end]
set log [open $log_name w]
fconfigure $log -buffering none -encoding utf-8
set cells [split [read [set file [open $cells_name]]] \n]
close $file
array set files {}
array set values {}
set ip_name {}

proc planted {name otherwise} { expr {[info exists ::env($name)] ? $::env($name) : $otherwise} }
proc record {args} { puts -nonewline $::log [join $args \x1f]\x1e }

# Splits arguments into options, which stay in the caller's array `option`, and the rest, which is returned. A name in `flags` stands alone, one in
# `valued` takes a value.
proc options {words flags valued} {
  upvar 1 option option
  set rest {}
  for {set i 0} {$i < [llength $words]} {incr i} {
    set word [lindex $words $i]
    if {$word in $flags} {
      set option($word) 1
    } elseif {$word in $valued} {
      set option($word) [lindex $words [incr i]]
    } elseif {[string match {-[a-z]*} $word]} {
      error "[lindex [info level -1] 0]: there is no option $word"
    } else {
      lappend rest $word
    }
  }
  return $rest
}

proc version {args} {
  if {$args ne "-short"} { error "version $args" }
  return [planted TP_VERSION 2019.1]
}
proc current_project {} { return @project }
proc current_fileset {} { return @sources }
proc current_design {} { return @design }
proc all_clocks {} { return @clocks }

proc create_project {args} {
  lassign [options $args {-force -in_memory} {-part}] name folder
  if {[info exists option(-in_memory)]} { return [create_memory_project $option(-part)] }
  record create_project $name $folder $option(-part)
  set ::project [list $name $folder]
}
proc add_files {args} {
  set option(-fileset) sources_1
  foreach path [lindex [options $args {-norecurse} {-fileset}] 0] {
    if {![file isfile $path]} { error "add_files: $path does not exist" }
    set ::files($path) 1
    record add_files $option(-fileset) $path
  }
}
proc read_mem {paths} {
  foreach path $paths {
    if {![file isfile $path]} { error "read_mem: $path does not exist" }
    record read_mem $path
  }
}
proc get_files {paths} {
  foreach path $paths {
    if {![info exists ::files($path)]} { error "get_files: $path is not in the project" }
  }
  return $paths
}
proc set_property {args} {
  array set option {}
  set rest [options $args {} {-dict}]
  if {[info exists option(-dict)]} {
    set pairs $option(-dict)
    set objects [lindex $rest 0]
  } else {
    set pairs [lrange $rest 0 1]
    set objects [lindex $rest 2]
  }
  if {[llength $objects] == 0} { error "set_property $pairs: of nothing" }
  foreach {name value} $pairs {
    record set_property $name $value {*}$objects
    if {$name ne [planted TP_IGNORED {}]} {
      foreach object $objects { set ::values($object,$name) $value }
    }
  }
}
proc get_property {name object} {
  if {![info exists ::values($object,$name)]} {
    if {[string match CONFIG.* $name]} { return {what the IP had before} }
    error "get_property: $object has no $name"
  }
  return $::values($object,$name)
}
proc create_ip {args} {
  options $args {} {-name -vendor -library -module_name}
  record create_ip $option(-name) $option(-module_name)
  set ::ip_name $option(-module_name)
}
proc get_ips {name} {
  if {$name ne $::ip_name} { error "get_ips: there is no $name" }
  return @ip
}
proc configured {name} { scan $::values(@ip,CONFIG.$name) %x }
# Writes the file that names the place of the MSI-X table, as the IP of each family does.
proc generate_target {what object} {
  record generate_target $what $object
  lassign $::project name folder
  set old [info exists ::values(@ip,CONFIG.MSIx_Table_Size)]
  set names [expr {$old ? {MSIx_Table_Offset MSIx_PBA_Offset} : {PF0_MSIX_CAP_TABLE_OFFSET PF0_MSIX_CAP_PBA_OFFSET}}]
  foreach setting $names { lappend places [expr {[configured $setting] / [planted TP_UNIT 1]}] }
  set size [expr {[configured [expr {$old ? "MSIx_Table_Size" : "PF0_MSIX_CAP_TABLE_SIZE"}]] - [planted TP_VECTORS [expr {$old ? 1 : 0}]]}]
  set target $folder/$name.gen/sources_1/ip/tp_pcie/[expr {$old ? "source" : "synth"}]
  file mkdir $target
  set file [open $target/[planted TP_GENERATED [expr {$old ? "tp_pcie_core_top.v" : "tp_pcie.v"}]] w]
  foreach {field bits value} [list TABLE_SIZE 11 $size TABLE_OFFSET 29 [lindex $places 0] PBA_OFFSET 29 [lindex $places 1]] {
    if {$old} {
      puts $file [format "  parameter        MSIX_CAP_%s = %d'h%X," $field $bits $value]
    } else {
      puts $file [format "    .PF0_MSIX_CAP_%s('H%08X)," $field $value]
    }
  }
  close $file
}
proc update_compile_order {args} { options $args {} {-fileset} }
proc get_runs {{name *}} {
  if {$name eq "*"} { return {tp_pcie_synth_1 synth_1 impl_1} }
  if {$name ni {tp_pcie_synth_1 synth_1 impl_1}} { error "get_runs: there is no $name" }
  return $name
}
proc launch_runs {args} {
  set run [get_runs [options $args {} {-jobs -to_step}]]
  record launch_runs $run
  set failed [expr {[planted TP_FAILED {}] eq $run}]
  lassign $::project name folder
  if {$run eq "synth_1"} {
    # The IP's own run goes first, and takes the other with it.
    set ip_failed [expr {[planted TP_FAILED {}] eq "tp_pcie_synth_1"}]
    array set ::values [list tp_pcie_synth_1,STATUS [expr {$ip_failed ? "synth_design ERROR" : "synth_design Complete!"}] \
      tp_pcie_synth_1,DIRECTORY $folder/$name.runs/tp_pcie_synth_1 impl_1,STATUS {Not started}]
    if {$ip_failed} {
      array set ::values [list synth_1,PROGRESS 0% synth_1,STATUS {Not started} synth_1,DIRECTORY $folder/$name.runs/synth_1]
      return
    }
  }
  array set ::values [list $run,PROGRESS [expr {$failed ? "45%" : "100%"}] $run,STATUS [expr {$failed ? "ERROR" : "Complete!"}] \
    $run,DIRECTORY $folder/$name.runs/$run $run,STATS.WNS [planted TP_SLACK 0.1] $run,STATS.WHS 0.02 \
    $run,STATS.TPWS [planted TP_PULSES 0.0]]
  if {$run eq "impl_1" && !$failed} {
    if {$::values(synth_1,PROGRESS) ne "100%"} { error "launch_runs: synth_1 has not run" }
    file mkdir $folder/$name.runs/$run
    close [open $folder/$name.runs/$run/tp_top.bit w]
    puts [set file [open $folder/$name.runs/$run/runme.log w]] "Command: link_design\n[planted TP_SAID {CRITICAL WARNING: of the IP's own [tp_pcie.xdc:7]}]"
    close $file
  }
}
proc wait_on_run {run} { get_runs $run }
proc open_run {run} { get_runs $run }
proc report_timing_summary {args} { options $args {} {-file} }
proc report_utilization {args} { options $args {} {-file} }
proc report_cdc {args} { options $args {-details} {-file} }
proc close_design {} {}

# ---- constraints
proc get_ports {pattern} {
  record get_ports {*}$pattern
  return $pattern
}
proc get_cells {args} {
  set pattern [options $args {-hierarchical} {-filter}]
  if {[info exists option(-filter)]} {
    if {$option(-filter) ne "REF_NAME == tp_region"} { error "get_cells $args" }
    return [region_cells]
  }
  if {[info exists ::region(state)] && [string match i_board/* $pattern]} { return $pattern }
  set found [lsearch -all -inline $::cells $pattern]
  record get_cells $pattern [llength $found]
  return $found
}
proc get_pins {args} {
  options $args {-hierarchical} {-filter}
  if {[lindex $option(-filter) 0] ne "NAME" || [lindex $option(-filter) 1] ne "=~"} { error "get_pins $args" }
  set found [lsearch -all -inline $::cells [lindex $option(-filter) 2]]
  if {[llength $found] == 0} { error "get_pins: nothing is named [lindex $option(-filter) 2]" }
  return $found
}
proc get_nets {args} {
  if {[lindex $args 0] ne "-of_objects" || [llength $args] != 2 || [llength [lindex $args 1]] == 0} { error "get_nets $args" }
  return [lindex $args 1]
}
proc get_clocks {args} {
  if {[lindex $args 0] ne "-of_objects" || [llength $args] != 2 || [llength [lindex $args 1]] == 0} { error "get_clocks $args" }
  return [lindex $args 1]
}
proc set_clock_groups {args} {
  if {[lindex $args 0] ne "-physically_exclusive" || [llength $args] < 5} { error "set_clock_groups $args" }
  foreach {option clocks} [lrange $args 1 end] {
    if {$option ne "-group"} { error "set_clock_groups: there is no option $option" }
    record set_clock_groups {*}$clocks
  }
}
# The clocks are named by the pins that they are at.
proc set_multicycle_path {args} {
  set count [options $args {-setup -hold -start -end} {-from -to}]
  if {[info exists option(-setup)] == [info exists option(-hold)] || [info exists option(-start)] == [info exists option(-end)]} {
    error "set_multicycle_path $args: say -setup or -hold, -start or -end"
  }
  if {![string is integer -strict $count]} { error "set_multicycle_path: $count" }
  foreach end {-from -to} {
    if {![info exists option($end)] || [llength $option($end)] == 0} { error "set_multicycle_path: $end nothing" }
  }
  set of [lmap name {-setup -hold -start -end} {if {![info exists option($name)]} continue; set name}]
  record set_multicycle_path $count {*}$of $option(-from) $option(-to)
}
proc create_clock {args} {
  set port [options $args {} {-name -period}]
  record create_clock $option(-name) $option(-period) $port
}
proc set_false_path {args} {
  if {[options $args {-hold -setup} {-from -to}] ne {}} { error "set_false_path $args" }
  foreach {end objects} [array get option] {
    if {[llength $objects] == 0} { error "set_false_path: $end nothing" }
    record set_false_path $end {*}$objects
  }
}
proc set_max_delay {args} {
  set delay [options $args {-datapath_only} {-from -to}]
  if {![string is double -strict $delay]} { error "set_max_delay: $delay" }
  if {[info exists option(-datapath_only)] && ![info exists option(-from)]} { error "set_max_delay: -datapath_only needs -from" }
  foreach end {-from -to} {
    if {[info exists option($end)] && [llength $option($end)] == 0} { error "set_max_delay: $end nothing" }
  }
  record set_max_delay $delay
}

source [file join [file dirname [info script]] vivado_partial.tcl]
source $script
