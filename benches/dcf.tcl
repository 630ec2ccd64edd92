# 802.11b stations around one, all in range: ns-2 beside wlanlens simulate.
#   ns dcf.tcl STATIONS FLOWS SECONDS KIND TRACE [RTS_THRESHOLD [BYTES]]
# KIND is tcp (downloads of the first node, FTP over TCP, 1448-byte segments, 22-segment window) or udp (each station
# saturates the channel towards the first node, BYTES, 1500 by default). TRACE is a file for MAC and agent traces, or none.
# Frames longer than RTS_THRESHOLD, 3000 by default, are preceded by RTS.
set stations [lindex $argv 0]
set flows [lindex $argv 1]
set seconds [lindex $argv 2]
set kind [lindex $argv 3]
set trace [lindex $argv 4]
set threshold [expr {$argc > 5 ? [lindex $argv 5] : 3000}]
set bytes_each [expr {$argc > 6 ? [lindex $argv 6] : 1500}]

Mac/802_11 set dataRate_ 11Mb
Mac/802_11 set basicRate_ 2Mb
Mac/802_11 set PLCPDataRate_ 1Mb
Mac/802_11 set CWMin_ 31
Mac/802_11 set CWMax_ 1023
Mac/802_11 set SlotTime_ 0.000020
Mac/802_11 set SIFS_ 0.000010
Mac/802_11 set PreambleLength_ 144
Mac/802_11 set PLCPHeaderLength_ 48
Mac/802_11 set RTSThreshold_ $threshold
Agent/TCP set packetSize_ 1448
Agent/TCP set window_ 22

set ns [new Simulator]
set traced [expr {$trace ne "none"}]
set out [open [expr {$traced ? $trace : "/dev/null"}] w]
$ns trace-all $out
set topo [new Topography]
$topo load_flatgrid 100 100
set god [create-god [expr $stations + 1]]
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue \
    -ifqLen 100 -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo -agentTrace [expr {$traced ? "ON" : "OFF"}] \
    -routerTrace OFF -macTrace [expr {$traced ? "ON" : "OFF"}] -movementTrace OFF
for {set i 0} {$i <= $stations} {incr i} {
    set node($i) [$ns node]
    $node($i) set X_ [expr 50 + 10 * cos($i)]
    $node($i) set Y_ [expr 50 + 10 * sin($i)]
    $node($i) set Z_ 0
    $node($i) random-motion 0
}
set sinks {}
for {set i 0} {$i < $flows} {incr i} {
    set far $node([expr 1 + $i % $stations])
    if {$kind eq "tcp"} {
        set agent [new Agent/TCP/Sack1]
        set sink [new Agent/TCPSink/Sack1/DelAck]
        $ns attach-agent $node(0) $agent
        $ns attach-agent $far $sink
        set application [new Application/FTP]
    } else {
        set agent [new Agent/UDP]
        $agent set packetSize_ $bytes_each
        set sink [new Agent/LossMonitor]
        $ns attach-agent $far $agent
        $ns attach-agent $node(0) $sink
        set application [new Application/Traffic/CBR]
        $application set packetSize_ $bytes_each
        $application set rate_ [expr 8e6 / $flows]
    }
    $ns connect $agent $sink
    $application attach-agent $agent
    $ns at [expr 0.1 + 0.001 * $i] "$application start"
    lappend sinks $sink
}
proc finish {} {
    global ns out sinks seconds
    $ns flush-trace
    close $out
    set bytes 0
    foreach sink $sinks { set bytes [expr $bytes + [$sink set bytes_]] }
    puts "goodput_bps [expr 8.0 * $bytes / $seconds]"
    exit 0
}
$ns at $seconds finish
$ns run
