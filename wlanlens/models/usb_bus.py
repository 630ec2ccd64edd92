from __future__ import annotations

from dataclasses import dataclass

from wlanlens.reproduction.model import model


@model("usb_bus")
@dataclass(frozen=True, kw_only=True)
class UsbBus:
    """TCP throughput over a full-speed USB bus with a UHCI controller, in whole frames of 1 ms.

    The study of 802.11b adapters on USB (section 4.1.2 and appendix A) counts 24 transactions a packet and puts the rest
    down to an overhead of 15 %, fitted. Whole frames explain its table 2 without: with the adapter's descriptor a packet
    takes 25 transactions, a driver that waits for the completion misses a frame, and depth first the adapter refuses a
    transfer's second transaction until the next frame (the last is inferred, as in rust/sim/src/usb_host.rs).
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
        """Transactions of an IP packet alone, as the study counts them."""
        return -(-self.ip_bytes // self.transaction_bytes)

    def transactions(self) -> int:
        """Transactions of a packet with its descriptor."""
        return -(-(self.ip_bytes + self.descriptor_bytes) // self.transaction_bytes)

    def frames(self) -> float:
        """Frames from a packet to the next; with reclamation the least, for then the bus need not limit."""
        n = self.transactions()
        if self.reclamation:
            return n / self.frame_transactions if self.queued else float(-(-n // self.frame_transactions))
        moving = n
        if self.depth_first:
            # The first transaction, if the second must wait, and what is left in whole frames.
            alone = int(self.refuses_second)
            moving = alone + -(-(n - alone) // self.frame_transactions)
        return float(moving if self.queued else moving + 1)

    def throughput_bps(self) -> float:
        """Payload of TCP when the bus limits."""
        return self.payload_bytes * 8 / (self.frames() * self.frame_s)

    def one_transaction_bps(self) -> float:
        """One transaction a frame."""
        return self.transaction_bytes * 8 / self.frame_s

    def full_bps(self) -> float:
        """As many bulk transactions as fit in a frame."""
        return self.frame_transactions * self.one_transaction_bps()

    def isochronous_bps(self, packet_bytes: int = 1023) -> float:
        """One isochronous packet of the greatest length a frame."""
        return packet_bytes * 8 / self.frame_s

    def pattern_bps(self, frames: int, packets: int) -> float:
        """So many whole IP packets in so many frames, as the study reckons."""
        return packets * self.ip_bytes * 8 / (frames * self.frame_s)
