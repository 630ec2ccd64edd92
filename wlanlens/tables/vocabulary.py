"""Enumerations: the values of enum columns that Python writes, and what they mean."""

#: Categories of the ledger, in the order in which it shows them.
CATEGORIES = (
    "handshake",
    "application",
    "receiver_window",
    "delayed_ack",
    "rto_wait",
    "rto_backoff",
    "spurious_recovery",
    "loss_recovery",
    "fast_recovery",
    "slow_start",
    "usb",
    "air_useful",
    "air_retries",
    "air_others",
    "queue",
    "path",
    "unknown",
)

#: What a frame's time on the air was for.
PURPOSES = (
    "delivered",
    "unproven",
    "group",
    "retry",
    "acknowledgement",
    "reservation",
    "control",
    "beacon",
    "probe",
    "management",
    "damaged",
    "unknown",
)

#: States of a sender on a path that its flow keeps full.
FULL_PATH = ("full_path", "full_path_window_limited", "full_path_slow_start")

#: Kinds of timeouts after which nothing had to be retransmitted.
SPURIOUS_KINDS = ("spurious", "ack_lost")

#: Capture points, in the order in which data of the sending host passes them, and their labels.
POINTS = ("sender", "usb", "air", "ap", "receiver")
POINT_LABELS = {
    "sender": "sending host",
    "usb": "USB bus",
    "air": "802.11 sniffer",
    "ap": "access point or a router",
    "receiver": "receiving host",
}

#: What became of a packet at a capture point, in the order of the codes, with labels.
OUTCOMES = {
    "seen": "seen",
    "lost_after": "seen, and at no later point: lost after this point",
    "lost_before": "not seen: lost before this point",
    "missed": "not recorded, although it passed this point",
    "not_capturing": "no capture at that time",
    "unknown": "not seen: lost, or not recorded",
}

#: Stages of a packet's path, in its order from a station, with labels.
STAGES = {
    "queue": "driver queue of the host",
    "bus": "USB bus",
    "air_wait": "waiting for the air, and queues before it",
    "air": "on the air",
    "wire": "after the air",
    "unseparated": "between two captures, stages not separable",
}

#: Whether the last capture on a packet's path has it.
ARRIVALS = ("arrived", "not_seen", "not_capturing", "unknown")

#: Where a packet was lost.
LOSS_LOCATIONS = ("before_usb", "before_air", "on_air", "after_air", "on_path", "unknown")

#: Tables of the link layer: every capture has them, empty where it is of another kind.
LINK = ("frames", "exchanges", "urbs")
