"""Enumerations: the values of enum columns that Python writes, and what they mean."""

#: Who a second of a flow's life belongs to, in the order in which the ledger shows them.
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

#: The points of a trace, in the order in which the sender's data passes them, and where they are.
POINTS = ("sender", "usb", "air", "ap", "receiver")
PLACES = {
    "sender": "sending host",
    "usb": "USB bus",
    "air": "802.11 sniffer",
    "ap": "access point or a router",
    "receiver": "receiving host",
}

#: Stages of a packet's way, and what each lies between.
STAGES = ("queue", "bus", "air_wait", "air", "wire", "unseparated")
STAGE_MEANINGS = {
    "queue": "Between the host's tap and the bus: driver and its queue.",
    "bus": "Towards the adapter from the URB's submission to its completion; from the adapter from the end of the last "
    "attempt on the air to the completion, adapter and bus together.",
    "air_wait": "From the point before the air, the nearest that was captured, to the begin of the first attempt heard: "
    "waiting for the air, and in all queues since that point. Less than 0: the adapter sent it before it told the host "
    "that it had it.",
    "air": "From the begin of the first attempt heard to the end of the last, the time between them with it.",
    "wire": "From the end of the last attempt to the points behind the air, and between an access point and a host.",
    "unseparated": "Between two points of which no capture tells what lies between them.",
}

#: Whether the last capture on a packet's way has it.
ARRIVALS = ("arrived", "not_seen", "outside", "unknown")

#: Where a packet was lost.
LOST = ("before_usb", "before_air", "on_air", "after_air", "on_way", "unknown")

#: Tables of a link: every capture has them, without a row where it is of another kind.
LINK = ("frames", "exchanges", "urbs")
