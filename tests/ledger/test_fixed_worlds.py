"""The ledger in a few fixed random worlds: bounds a little above what it reaches, so that a rule that is lost shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from wlanlens.validation.ledger_scoring import share_right, spread_of_worlds
from wlanlens.validation.random_validation import WorldCase, WorldScore, judge_world


def judged(number: int, folder: Path) -> WorldScore:
    score = judge_world(WorldCase(number, ("no_answer",), folder=str(folder)))
    assert not score.crash, score.crash
    assert not score.refused
    return score


@pytest.mark.parametrize(
    ("world", "most"),
    [
        # One download over the air; slow lines on which every connection queues behind eight and thirty others.
        (113006, 0.02),
        (134000, 0.01),
        (134007, 0.14),
        (134014, 0.17),
        # A fast retransmit waits in the queue of its host; in a recovery from losses the first copy is undecided.
        (341040, 0.09),
        (341140, 0.01),
        # Short writes pass behind a queue of their host, by their timestamps long after the ACK before.
        (345038, 0.05),
        # A receiver's timer of 14 ms answers each window. Copies wait in the host's queue until the ACK that ends their recovery.
        (349106, 0.35),
        (349121, 0.06),
        # The receiver stands still with a full window; it drops data that it lacks for its older timestamp.
        (349209, 0.04),
        (349299, 0.10),
        # Six connections keep a slow line full together, and so do nine with windows of two segments. A window is a little larger than the
        # path holds.
        (357389, 0.02),
        (357247, 0.17),
        (357095, 0.22),
        # Hundreds of connections of one host, whose data waits in its own queue; SYN+ACKs that are as late as timers, by a queue.
        (357203, 0.09),
        (357128, 0.01),
        # Transfers of few segments keep the air busy; a receiver's timer delays the ACKs of others, which do not. Windows of two segments
        # leave it idle for a moment.
        (360285, 0.02),
        (360012, 0.07),
        (356194, 0.02),
        # Data that echoes an older ACK waits behind 22 other connections; a recovery at the end.
        (360064, 0.07),
        (360293, 0.02),
        # The application has sent all when the window's ACK comes.
        (360297, 0.33),
        # Data that echoes an older ACK waits behind a probe that repeats acknowledged bytes. Probes wait in the host's queue to the end.
        (364220, 0.42),
        (364111, 0.17),
        # A SYN+ACK as late as a timer where no round trip is known, and of 891 connections; repairs in the queue of a host that had lost what
        # they repeat.
        (371108, 0.01),
        (371273, 0.05),
        (371251, 0.01),
        (371014, 0.01),
        (372107, 0.01),
        # A probe after an ACK that reports only what came twice.
        (370247, 0.07),
        # Recoveries that are undone on a path that reorders, by Eifel; and some that go on.
        (363076, 0.03),
        (362147, 0.20),
        # Data whose timestamp is that of an ACK long before; a handshake whose answer was lost, by the IP ids; what the host dropped before a
        # silence, and a pause in which the ids have no gap.
        (365060, 0.12),
        (365114, 0.02),
        (366144, 0.12),
        (362054, 0.01),
        # The last segment of a window waits on the air, and behind others there, not at the receiver for the next. ACKs are held.
        (365216, 0.02),
        (367115, 0.02),
        (366230, 0.12),
        # A delayed ACK in each round trip of three sizes. Copies that wait in the host's queue until after their ACK. Slow start behind the
        # queue of another connection. A bus that the packets of a window keep busy, one by one.
        (376003, 0.02),
        (377110, 0.40),
        (376019, 0.02),
        (377064, 0.05),
        # Windows whose segments a bus passes one by one. Downloads that wait behind the ACKs of uploads in their host's queue.
        (378292, 0.02),
        (378020, 0.06),
        (378166, 0.22),
        # Round trips of minutes: the first of many SYNs was answered, and data is under way at the end. Slow start from a timeout of which the
        # threshold shows nothing. Windows of one segment fill a slow line.
        (379260, 0.01),
        (381031, 0.02),
        (378228, 0.09),
        (380051, 0.25),
        # The host drops what a recovery repeats, too; a copy's echo on a path that reorders; a hole that is open until the end.
        (381029, 0.03),
        (380293, 0.02),
        (381264, 0.09),
        # A host whose queue drops a first window, and one whose queue keeps what it repeats; a first window of which one segment passes, by
        # a timer. Duplicate ACKs that report nothing before a probe.
        (377226, 0.03),
        (383136, 0.12),
        (382126, 0.02),
        (383049, 0.02),
        # A DSACK shows the timer to be spurious when its recovery has ended; slow start goes on. Probes pass long after the ACK of their bytes.
        (387135, 0.01),
        (388074, 0.29),
        # A first window waits for its turn behind other connections of its host.
        (387008, 0.10),
        (391112, 0.01),
        # No timer had expired for data of which the capture shows nothing more.
        (392009, 0.01),
    ],
)
def test_variation_at_the_tap_of_the_sender(world: int, most: float, tmp_path: Path) -> None:
    found = spread_of_worlds([s for s in judged(world, tmp_path).ledgers if s.place == "sender"])
    assert found is not None
    assert found[0] <= most


@pytest.mark.parametrize(
    ("world", "most"),
    [
        # The station sends others' copies, and sometimes its own queue is before the tap. Windows of two segments to receivers that were
        # not captured.
        (345145, 0.06),
        (346034, 0.12),
        # 222 connections of one station, whose queue is above the tap.
        (361147, 0.16),
        (361013, 0.07),
        # By the times at both hosts: windows that nearly fill a line, held ACKs, a queue of others, and data that is in it at the end.
        (369236, 0.05),
        (369159, 0.05),
        (369113, 0.06),
        (369011, 0.04),
        (367141, 0.01),
        (367286, 0.01),
        # By the air and the bus: a window that fills neither; a queue of the host above its tap.
        (367203, 0.03),
        (369055, 0.03),
        (366277, 0.05),
        (368071, 0.12),
        # RTS that nobody answered are attempts.
        (369297, 0.05),
        (369044, 0.05),
        # Connections begin at the other host; a late ACK ends none.
        (371220, 0.04),
        (371048, 0.04),
        (370213, 0.05),
        # A silent receiver; captures' clocks differ by more than an ACK's frame takes.
        (372190, 0.25),
        (372007, 0.25),
        # A transfer to the host is on the bus for no time of its own; the adapter contends before its host knows that it has a packet.
        (373162, 0.10),
        (373023, 0.07),
        (370067, 0.07),
        # Delayed ACKs of a host that sends a packet of another connection now and then.
        (373194, 0.12),
        # A window of one segment on the air, by a clock that is ahead; data that waits to the end of the captures.
        (371186, 0.02),
        (371260, 0.05),
        # A bus whose packets find the channel idle.
        (375195, 0.05),
        # Packets left on the bus at the end of the captures, which the sniffer has not missed.
        (376145, 0.15),
        # Slow start behind another connection, on the air and on a line.
        (376019, 0.03),
        (377097, 0.03),
        # Stations that were not captured wait for a channel that is hardly ever free.
        (389240, 0.04),
        (388292, 0.04),
        # A window and slow start while a hundred stations keep the air busy.
        (387125, 0.25),
        (387278, 0.21),
        # The air was full, too, when the first data followed the handshake.
        (392239, 0.06),
        # What a FIN follows without data had been all.
        (378043, 0.13),
        # ACKs that were late on the bus and the air, for a window of one segment.
        (379145, 0.06),
    ],
)
def test_variation_of_all_captures_together(world: int, most: float, tmp_path: Path) -> None:
    mean = spread_of_worlds([s for s in judged(world, tmp_path).ledgers if s.place == "together"])
    assert mean is not None
    assert mean[0] <= most


@pytest.mark.parametrize(
    ("world", "place", "most"),
    [
        # A probe and a delayed ACK cross; so do a timer's copy and that ACK.
        (349046, "receiver", 0.55),
        (349109, "receiver", 0.06),
        # A receiver's timer of 14 and 24 ms answers a window of five segments, and of one.
        (349106, "receiver", 0.20),
        (349362, "receiver", 0.02),
        # Any number of packets may be missing by the ids before an undecided copy: the doubt ends with one flight.
        (393296, "receiver", 0.05),
        (395134, "receiver", 0.05),
        (396091, "receiver", 0.06),
        # Two segments wait for the receiver's timer, behind the sniffer.
        (349163, "air", 0.04),
        # A hundred stations keep the air busy together, or a few; two do not, but for the way beyond the access point.
        (387125, "air", 0.16),
        (387204, "air", 0.04),
        (382152, "air", 0.05),
        (387075, "air", 0.06),
    ],
)
def test_variation_away_from_the_sender(world: int, place: str, most: float, tmp_path: Path) -> None:
    found = spread_of_worlds([s for s in judged(world, tmp_path).ledgers if s.place == place])
    assert found is not None
    assert found[0] <= most


def test_a_receiver_that_stood_still_took_data_and_the_timers_copy_together(tmp_path: Path) -> None:
    """World 349188: the silence before was the timer's, and no idle time."""
    known = [
        s for s in judged(349188, tmp_path).ledgers if s.place == "receiver" and s.subject.startswith("10.0.0.1:40000 ")
    ]
    assert [round(s.said["rto_wait"], -7) for s in known] == [440_000_000]


# In 134007 slow start lasts for minutes behind other connections. In 134000 it lasts a few round trips in which some station always has
# a packet, which the truth calls path. In 250055 silences are longer than any first timer: most of them is backoff. In 345184 the
# application pauses between writes, in some pauses with one segment outstanding. In 382118, 382255 and 385049 a queue of many seconds keeps
# SYNs, SYN+ACKs and first segments, or their timers repeat them for as long. In 381111 and 388041 the timers of SYNs make the first ones
# of data long, and one of 385271 is at its ceiling. In 381242 frames wait for the air as long as an application
# might pause. In 391165 and 392135 full windows are in queues of half a minute, of which the receiver's round trips show nothing.
@pytest.mark.parametrize(
    ("world", "least"),
    [
        (113006, 0.98),
        (134007, 0.94),
        (134000, 0.81),
        (250055, 0.80),
        (345184, 0.98),
        (381242, 0.98),
        (382118, 0.95),
        (382255, 0.62),
        (385049, 0.98),
        (381111, 0.89),
        (388041, 0.95),
        (385271, 0.82),
        (391165, 0.91),
        (392135, 0.87),
    ],
)
def test_known_seconds_at_the_tap_of_the_receiver(world: int, least: float, tmp_path: Path) -> None:
    right = share_right([s for s in judged(world, tmp_path).ledgers if s.place == "receiver"])
    assert right is not None
    assert right >= least
