"""What a detector author uses: `from wlanlens.detection.toolkit import Facts, ...`. Public; other packages may import it.

A detector is a function of a trace that yields findings. It begins with ``facts = Facts.of(trace)`` and reads tables as
NumPy vectors:

* `Facts.rows` reads columns of a table, filtered and ordered by *key*: one number for a capture, a connection and a
  direction. `Rows` selects, sorts and searches them; `key_groups` finds the rows of each key.
* `Facts.flow_values` reads a column of `flows` for keys; `Facts.tap_away_from_sender` and `Facts.lifetime_s` are the most used.
* `Facts.cached` computes once for all detectors what several need: `facts.cached(Acks)`.
    - `Acks`: what had been acknowledged, by packet, by byte and by time.
    - `AckTimestamps`: when each ACK was made, by its own timestamp.
    - `Losses`: lost copies of data, grouped in loss episodes.
    - `round_trip_samples`, `time_since_sample_ns`, `min_data_rtt_ns` and `empty_path_ns`: round trips of data.
    - `TimeoutRuns`: timer expiries without an ACK of new data between them.
    - `PacketPaths`, `downlink_keys` and `HoldingPoints` (several captures): where each packet passed, and who held it.
    - `Air` (802.11 captures): frames, exchanges and transmissions, by station pair. `Air.finding` makes a finding about a
      pair. `channel_trials`, `bad_frame_bursts`, `bursty_pairs` and `lost_packet_runs` measure bursts, `rates_used` and
      `best_steady_rate` bit rates, `TieSearch` collisions, `DropSearch` drops of the signal; `transmission_us` is airtime with its overhead.
* `binomial_tail`, `poisson_tail`, `normal_tail` and `variance_ratio_tail` are p-values; `p_value_text` writes one.
* `Cases` makes the findings: one for each of the costliest cases and one that sums up the rest. `Facts.finding` and
  `make_finding` make a single one; `Facts.undecided` reports what the capture cannot decide.
  A finding about a direction costs at most the ledger's time in the categories that the detector `explains`.
* `duration`, `moment`, `count` and `bit_rate` write numbers in sentences.
"""

from wlanlens.detection.finding import Finding, Undecided, Value
from wlanlens.detection.toolkit.ack_bursts import BurstSearch, HeldBurst
from wlanlens.detection.toolkit.ack_timestamps import PURE_ACKS, SENT, AckTimestamps, ticks_between
from wlanlens.detection.toolkit.acks import DUPACK_THRESHOLD, Acks
from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.air_vectors import Exchanges
from wlanlens.detection.toolkit.airtime import transmission_us
from wlanlens.detection.toolkit.ap_queue import before_air_ns, found_full, queue_lengths, sniffer_doubt
from wlanlens.detection.toolkit.bursts import Bursts, LostRuns, bad_frame_bursts, bursty_pairs, lost_packet_runs
from wlanlens.detection.toolkit.bus_time import BusyTransfers
from wlanlens.detection.toolkit.cases import Cases, Description
from wlanlens.detection.toolkit.contention import ContendingStations, contending_stations
from wlanlens.detection.toolkit.cwnd_reductions import CwndReductions, cwnd_reductions
from wlanlens.detection.toolkit.dupack_answers import dupack_answers, sent_before, third_dupacks
from wlanlens.detection.toolkit.dupack_reasons import NO_FAST_RETRANSMIT, reasons_without
from wlanlens.detection.toolkit.dupack_surroundings import has_data_between, latest_before, sent_above
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.fades import Fade, StationDrops
from wlanlens.detection.toolkit.findings import (
    MAX_EVIDENCE_ROWS,
    MAX_FINDINGS,
    costliest,
    make_finding,
    severity,
)
from wlanlens.detection.toolkit.first_losses import (
    REACTIONS,
    FirstLosses,
    first_losses,
    first_reaction,
    judge_first_losses,
    may_have_first_losses,
    unseen_losses,
)
from wlanlens.detection.toolkit.holding_point import HoldingPoint, HoldingPoints
from wlanlens.detection.toolkit.ledger_time import AFTER_LOSS, ON_THE_PATH, TIMERS, LedgerTime, shown_by_links
from wlanlens.detection.toolkit.lone_segments import LoneSegments, lone_segments
from wlanlens.detection.toolkit.lone_waits import late_with_others, stands_out
from wlanlens.detection.toolkit.long_timers import kept_long
from wlanlens.detection.toolkit.losses import Losses, first_of_episodes, sent_up_to
from wlanlens.detection.toolkit.lost_acks import LostAcks
from wlanlens.detection.toolkit.open_repairs import open_repairs
from wlanlens.detection.toolkit.packet_paths import PacketPaths, downlink_keys
from wlanlens.detection.toolkit.periodicity import Clock, ClockSearch
from wlanlens.detection.toolkit.rates import SteadyRate, best_steady_rate, highest_working, rates_used, required_dbm
from wlanlens.detection.toolkit.round_trips import (
    empty_path_ns,
    is_on_ack_path,
    min_data_rtt_ns,
    round_trip_samples,
    time_since_sample_ns,
)
from wlanlens.detection.toolkit.rows import Rows, key_groups
from wlanlens.detection.toolkit.sending_rate import arrival_bytes_per_s, cwnd_may_limit
from wlanlens.detection.toolkit.sent_bytes import SentBytes, steadier_in_time
from wlanlens.detection.toolkit.sent_data import SentData
from wlanlens.detection.toolkit.signal_drops import Drop, DropSearch
from wlanlens.detection.toolkit.station_pairs import StationPairs, capture_of, receiver_of, reverse, transmitter_of
from wlanlens.detection.toolkit.statistics import (
    binomial_tail,
    normal_tail,
    p_value_text,
    poisson_tail,
    variance_ratio_tail,
)
from wlanlens.detection.toolkit.ties import TieSearch, mean_airtime_us, ties_of_dcf
from wlanlens.detection.toolkit.timeout_runs import TimeoutRuns, last_ack_lateness_ns, recovery_after_runs
from wlanlens.detection.toolkit.transfer_ends import TransferEnds
from wlanlens.detection.toolkit.trials import Trials, channel_trials, failure_chances
from wlanlens.detection.toolkit.unseen_packets import may_be_unseen
from wlanlens.detection.toolkit.window_time import (
    MAY_BE_LIMITED,
    acked_with_pauses,
    evenly_paced,
    has_no_room,
    main_stretches,
    may_be_busy,
    mean_by_length,
    mostly_full,
    on_full_path,
    several_acks,
)
from wlanlens.formatting import bit_rate, count, duration, moment, times
from wlanlens.tables import SPURIOUS_KINDS
from wlanlens.tables.columns import NULL, Array, enum_mask, vector

__all__ = [
    "AFTER_LOSS",
    "DUPACK_THRESHOLD",
    "MAX_EVIDENCE_ROWS",
    "MAX_FINDINGS",
    "MAY_BE_LIMITED",
    "NO_FAST_RETRANSMIT",
    "NULL",
    "ON_THE_PATH",
    "PURE_ACKS",
    "REACTIONS",
    "SENT",
    "SPURIOUS_KINDS",
    "TIMERS",
    "AckTimestamps",
    "Acks",
    "Air",
    "Array",
    "BurstSearch",
    "Bursts",
    "BusyTransfers",
    "Cases",
    "Clock",
    "ClockSearch",
    "ContendingStations",
    "CwndReductions",
    "Description",
    "Drop",
    "DropSearch",
    "Exchanges",
    "Facts",
    "Fade",
    "Finding",
    "FirstLosses",
    "HeldBurst",
    "HoldingPoint",
    "HoldingPoints",
    "LedgerTime",
    "LoneSegments",
    "Losses",
    "LostAcks",
    "LostRuns",
    "PacketPaths",
    "Rows",
    "SentBytes",
    "SentData",
    "StationDrops",
    "StationPairs",
    "SteadyRate",
    "TieSearch",
    "TimeoutRuns",
    "TransferEnds",
    "Trials",
    "Undecided",
    "Value",
    "acked_with_pauses",
    "arrival_bytes_per_s",
    "bad_frame_bursts",
    "before_air_ns",
    "best_steady_rate",
    "binomial_tail",
    "bit_rate",
    "bursty_pairs",
    "capture_of",
    "channel_trials",
    "contending_stations",
    "costliest",
    "count",
    "cwnd_may_limit",
    "cwnd_reductions",
    "downlink_keys",
    "dupack_answers",
    "duration",
    "empty_path_ns",
    "enum_mask",
    "evenly_paced",
    "failure_chances",
    "first_losses",
    "first_of_episodes",
    "first_reaction",
    "found_full",
    "has_data_between",
    "has_no_room",
    "highest_working",
    "is_on_ack_path",
    "judge_first_losses",
    "kept_long",
    "key_groups",
    "last_ack_lateness_ns",
    "late_with_others",
    "latest_before",
    "lone_segments",
    "lost_packet_runs",
    "main_stretches",
    "make_finding",
    "may_be_busy",
    "may_be_unseen",
    "may_have_first_losses",
    "mean_airtime_us",
    "mean_by_length",
    "min_data_rtt_ns",
    "moment",
    "mostly_full",
    "normal_tail",
    "on_full_path",
    "open_repairs",
    "p_value_text",
    "poisson_tail",
    "queue_lengths",
    "rates_used",
    "reasons_without",
    "receiver_of",
    "recovery_after_runs",
    "required_dbm",
    "reverse",
    "round_trip_samples",
    "sent_above",
    "sent_before",
    "sent_up_to",
    "several_acks",
    "severity",
    "shown_by_links",
    "sniffer_doubt",
    "stands_out",
    "steadier_in_time",
    "third_dupacks",
    "ticks_between",
    "ties_of_dcf",
    "time_since_sample_ns",
    "times",
    "transmission_us",
    "transmitter_of",
    "unseen_losses",
    "variance_ratio_tail",
    "vector",
]
