from __future__ import annotations

from dataclasses import dataclass

from wlanlens.reproduction.model import model


@model("usb_bus")
@dataclass(frozen=True, kw_only=True)
class UsbBus:
    """TCP throughput over a full-speed USB bus with a UHCI controller, in whole frames of 1 ms.

    The study of 802.11b adapters on USB (section 4.1.2 and appendix A) counts 24 transactions a packet and attributes the
    rest to a fitted overhead of 15 %. Whole frames explain its table 2 without that: with the adapter's descriptor a packet
    takes 25 transactions, a driver that waits for the completion misses a frame, and with depth first the adapter refuses a
    transfer's second transaction until the next frame (inferred, as in rust/sim/src/usb_host.rs).
    """

    depth_first: bool = False
    #: Full-speed bandwidth reclamation.
    reclamation: bool = False
    #: The driver submits before earlier packets are done.
    queued: bool = False
    #: The adapter refuses a transfer's second transaction for a fraction of a frame.
    refuses_second: bool = True
    ip_bytes: int = 1500
    payload_bytes: int = 1448
    #: Ethernet header and the radio's descriptor before each packet.
    descriptor_bytes: int = 14 + 60
    transaction_bytes: int = 64
    frame_transactions: int = 19
    frame_s: float = 1e-3

    def bare_transactions(self) -> int:
        """Transactions of an IP packet without descriptor, as the study counts."""
        return -(-self.ip_bytes // self.transaction_bytes)

    def transactions(self) -> int:
        """Transactions of a packet with its descriptor."""
        return -(-(self.ip_bytes + self.descriptor_bytes) // self.transaction_bytes)

    def frames(self) -> float:
        """Frames from one packet to the next; with reclamation the least number, because the bus may not limit then."""
        n = self.transactions()
        if self.reclamation:
            return n / self.frame_transactions if self.queued else float(-(-n // self.frame_transactions))
        moving = n
        if self.depth_first:
            # The first transaction if the second must wait, then the rest in whole frames.
            alone = int(self.refuses_second)
            moving = alone + -(-(n - alone) // self.frame_transactions)
        return float(moving if self.queued else moving + 1)

    def throughput_bps(self) -> float:
        """TCP payload rate if the bus limits."""
        return self.payload_bytes * 8 / (self.frames() * self.frame_s)

    def one_transaction_bps(self) -> float:
        """One transaction a frame."""
        return self.transaction_bytes * 8 / self.frame_s

    def full_bps(self) -> float:
        """The largest number of bulk transactions in a frame."""
        return self.frame_transactions * self.one_transaction_bps()

    def isochronous_bps(self, packet_bytes: int = 1023) -> float:
        """One isochronous packet of the largest length in each frame."""
        return packet_bytes * 8 / self.frame_s

    def pattern_bps(self, frames: int, packets: int) -> float:
        """`packets` whole IP packets in `frames` frames, as the study computes."""
        return packets * self.ip_bytes * 8 / (frames * self.frame_s)
