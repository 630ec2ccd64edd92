//! The counters of the `flows` table: one row a direction of a TCP connection, tcptrace's `-l -r -W` columns one for one.

define_table! {
    CounterRows, COUNTERS, "flows",
    "One row a direction of a TCP connection.", {
    packets: U64, "", "Packets sent (tcptrace: total packets).";
    rst_packets: U64, "", "Of these with RST (tcptrace: resets sent).";
    ack_packets: U64, "", "With ACK (tcptrace: ack pkts sent).";
    pure_ack_packets: U64, "", "With ACK, but no payload, SYN, FIN or RST (tcptrace: pure acks sent).";
    sack_packets: U64, "", "With ACK and SACK blocks, RST not counted (tcptrace: sack pkts sent).";
    dsack_packets: U64, "", "Of these whose first block reports a duplicate, RFC 2883 (tcptrace: dsack pkts sent).";
    sack_blocks_max: U8, "", "Most SACK blocks in one packet (tcptrace: max sack blks/ack).";
    unique_bytes: U64, "bytes", "Payload sent, each byte counted once, zero-window probes not (tcptrace: unique bytes sent).";
    data_packets: U64, "", "Packets with payload (tcptrace: actual data pkts).";
    data_bytes: U64, "bytes", "Payload sent, resent bytes included (tcptrace: actual data bytes).";
    rexmt_packets: U64, "", "Packets with bytes sent before, SYN and FIN included (tcptrace: rexmt data pkts).";
    rexmt_bytes: U64, "bytes", "These bytes, SYN and FIN counting one each (tcptrace: rexmt data bytes).";
    zero_window_probe_packets: U64, "", "Packets with payload or FIN sent against a closed window (tcptrace: zwnd probe pkts).";
    zero_window_probe_bytes: U64, "bytes", "Their payload (tcptrace: zwnd probe bytes).";
    out_of_order_packets: U64, "", "Packets that fill a hole below bytes already seen: reordered, or lost before the tap and sent again (tcptrace: outoforder pkts).";
    pushed_packets: U64, "", "Data packets with PSH (tcptrace: pushed data pkts).";
    syn_packets: U64, "", "With SYN (tcptrace: SYN/FIN pkts sent).";
    fin_packets: U64, "", "With FIN (tcptrace: SYN/FIN pkts sent).";
    window_scale_requested: Bool, "", "A window scale option was sent (tcptrace: req 1323 ws/ts).";
    timestamps_requested: Bool, "", "A timestamp option was sent (tcptrace: req 1323 ws/ts).";
    window_scale: U8, "bits", "Shift of its own advertised window; 0 unless both sides asked for scaling (tcptrace: adv wind scale).";
    sack_requested: Bool, "", "SACK permitted was sent (tcptrace: req sack).";
    sacks_sent: U64, "", "Packets with SACK blocks, RST included (tcptrace: sacks sent).";
    urgent_packets: U64, "", "Data packets with URG (tcptrace: urgent data pkts).";
    urgent_bytes: U64, "bytes", "Sum of their urgent pointers (tcptrace: urgent data bytes).";
    mss_bytes: U16 ? null, "bytes", "The MSS option sent (tcptrace: mss requested); null: none seen.";
    segment_max_bytes: U32 ? null, "bytes", "Largest payload (tcptrace: max segm size); null without data.";
    segment_min_bytes: U32 ? null, "bytes", "Smallest payload above 0 (tcptrace: min segm size).";
    segment_mean_bytes: F64 ? null, "bytes", "Mean payload of data packets (tcptrace: avg segm size).";
    window_max_bytes: U64 ? null, "bytes", "Largest window advertised, scaled; windows of SYNs count only where no scaling follows (tcptrace: max win adv).";
    window_min_bytes: U64 ? null, "bytes", "Smallest window above 0 (tcptrace: min win adv).";
    zero_window_packets: U64, "", "ACKs that advertise a closed window (tcptrace: zero win adv).";
    window_mean_bytes: F64 ? null, "bytes", "Sum of windows over packets sent, since scaling began where there is scaling (tcptrace: avg win adv).";
    owin_max_bytes: U32 ? null, "bytes", "Most bytes outstanding after a packet, plus one: tcptrace counts the byte that the ACK names (tcptrace -W: max owin).";
    owin_min_bytes: U32 ? null, "bytes", "Fewest above 0 (tcptrace -W: min non-zero owin).";
    owin_mean_bytes: F64 ? null, "bytes", "Mean over the packets that are neither SYN, resent nor out of order (tcptrace -W: avg owin).";
    owin_time_mean_bytes: F64 ? null, "bytes", "Mean over the connection's time (tcptrace -W: wavg owin).";
    initial_window_bytes: U64, "bytes", "Data sent before the first ACK of data (tcptrace: initial window).";
    initial_window_packets: U64, "", "The packets of it (tcptrace: initial window).";
    stream_bytes: U64 ? null, "bytes", "Length of the stream by SYN and FIN (tcptrace: ttl stream length); null unless both were seen.";
    missed_bytes: I64 ? null, "bytes", "Stream length less unique bytes: never captured (tcptrace: missed data).";
    truncated_bytes: U64, "bytes", "Payload that the capture cut off (tcptrace: truncated data).";
    truncated_packets: U64, "", "Packets of which it did (tcptrace: truncated packets).";
    data_transmit_ns: I64 ? null, "ns", "From the first to the last data packet (tcptrace: data xmit time).";
    idle_max_ns: I64 ? null, "ns", "Longest time between two packets of this direction, or to the capture's end where the connection was not closed (tcptrace: idletime max).";
    hardware_duplicates: U64, "", "Packets with sequence number and IPv4 identification of one of the last eight (tcptrace: hardware dups).";
    throughput_bytes_per_s: F64 ? null, "bytes/s", "Unique bytes over the connection's time, both directions' packets (tcptrace: throughput).";

    rtt_samples: U64, "", "ACKs that end exactly at a segment sent once, with nothing before it resent later: Karn's rule (tcptrace: RTT samples).";
    rtt_min_ns: I64 ? null, "ns", "Least of these (tcptrace: RTT min).";
    rtt_max_ns: I64 ? null, "ns", "Greatest (tcptrace: RTT max).";
    rtt_mean_ns: F64 ? null, "ns", "Mean (tcptrace: RTT avg).";
    rtt_sd_ns: F64 ? null, "ns", "Standard deviation; null with fewer than 3 samples (tcptrace: RTT stdev).";
    rtt_handshake_ns: I64 ? null, "ns", "Of the SYN, as this direction's (tcptrace: RTT from 3WHS); null if the SYN was resent.";
    rtt_full_samples: U64, "", "Samples of the longest segments sampled (tcptrace: RTT full_sz smpls).";
    rtt_full_min_ns: I64 ? null, "ns", "Least of these (tcptrace: RTT full_sz min).";
    rtt_full_max_ns: I64 ? null, "ns", "Greatest (tcptrace: RTT full_sz max).";
    rtt_full_mean_ns: F64 ? null, "ns", "Mean (tcptrace: RTT full_sz avg).";
    rtt_full_sd_ns: F64 ? null, "ns", "Standard deviation; null with fewer than 3 samples (tcptrace: RTT full_sz stdev).";
    post_loss_acks: U64, "", "ACKs of a segment before which another was sent later, so no sample (tcptrace: post-loss acks).";
    ambiguous_acks: U64, "", "ACKs of a segment sent more than once (tcptrace: ambiguous acks).";
    rtt_resent_min_ns: I64 ? null, "ns", "Least time from the last transmission of such a segment to its ACK (tcptrace: RTT min (last)).";
    rtt_resent_max_ns: I64 ? null, "ns", "Greatest (tcptrace: RTT max (last)).";
    rtt_resent_mean_ns: F64 ? null, "ns", "Mean (tcptrace: RTT avg (last)).";
    rtt_resent_sd_ns: F64 ? null, "ns", "Standard deviation; null with fewer than 3 samples (tcptrace: RTT sdv (last)).";
    cumulatively_acked_segments: U64, "", "Segments acknowledged only together with a later one (tcptrace: segs cum acked).";
    duplicate_acks: U64, "", "Equal ACKs received without payload and with the same window (tcptrace: duplicate acks).";
    triple_duplicate_acks: U64, "", "Runs of them that reached three (tcptrace: triple dupacks).";
    resends_max: U32, "", "Most times that one unacknowledged segment was sent again (tcptrace: max # retrans).";
    resend_min_ns: I64 ? null, "ns", "Least time between two transmissions of an unacknowledged segment (tcptrace: min retr time).";
    resend_max_ns: I64 ? null, "ns", "Greatest (tcptrace: max retr time).";
    resend_mean_ns: F64 ? null, "ns", "Mean (tcptrace: avg retr time).";
    resend_sd_ns: F64 ? null, "ns", "Standard deviation; null with fewer than 3 (tcptrace: sdv retr time).";
} }
