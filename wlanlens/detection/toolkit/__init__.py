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
    - `round_trip_samples` and `min_data_rtt_ns`: round trips of data.
    - `TimeoutRuns`: timer expiries without an ACK of new data between them.
    - `PacketPaths`, `downlink_keys` and `HoldingPoints` (several captures): where each packet passed, and who held it.
* `Cases` makes the findings: one for each of the costliest cases and one that sums up the rest. `Facts.finding` and
  `make_finding` make a single one; `Facts.undecided` reports what the capture cannot decide.
* `duration`, `moment`, `count` and `bit_rate` write numbers in sentences.
"""

from wlanlens.detection.finding import Finding, Undecided, Value
from wlanlens.detection.toolkit.ack_timestamps import PURE_ACKS, SENT, AckTimestamps, ticks_between
from wlanlens.detection.toolkit.acks import DUPACK_THRESHOLD, Acks
from wlanlens.detection.toolkit.cases import Cases, Description
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import (
    MAX_EVIDENCE_ROWS,
    MAX_FINDINGS,
    costliest,
    make_finding,
    severity,
)
from wlanlens.detection.toolkit.holding_point import HoldingPoint, HoldingPoints
from wlanlens.detection.toolkit.losses import Losses, first_of_episodes, sent_up_to
from wlanlens.detection.toolkit.packet_paths import PacketPaths, downlink_keys
from wlanlens.detection.toolkit.round_trips import min_data_rtt_ns, round_trip_samples
from wlanlens.detection.toolkit.rows import Rows, key_groups
from wlanlens.detection.toolkit.sending_rate import cwnd_may_limit, delivery_rates
from wlanlens.detection.toolkit.timeout_runs import (
    SPURIOUS_KINDS,
    TimeoutRuns,
    last_ack_lateness_ns,
    recovery_after_runs,
)
from wlanlens.formatting import bit_rate, count, duration, moment
from wlanlens.tables.columns import NULL, Array, enum_mask, vector

__all__ = [
    "DUPACK_THRESHOLD",
    "MAX_EVIDENCE_ROWS",
    "MAX_FINDINGS",
    "NULL",
    "PURE_ACKS",
    "SENT",
    "SPURIOUS_KINDS",
    "AckTimestamps",
    "Acks",
    "Array",
    "Cases",
    "Description",
    "Facts",
    "Finding",
    "HoldingPoint",
    "HoldingPoints",
    "Losses",
    "PacketPaths",
    "Rows",
    "TimeoutRuns",
    "Undecided",
    "Value",
    "bit_rate",
    "costliest",
    "count",
    "cwnd_may_limit",
    "delivery_rates",
    "downlink_keys",
    "duration",
    "enum_mask",
    "first_of_episodes",
    "key_groups",
    "last_ack_lateness_ns",
    "make_finding",
    "min_data_rtt_ns",
    "moment",
    "recovery_after_runs",
    "round_trip_samples",
    "sent_up_to",
    "severity",
    "ticks_between",
    "vector",
]
