"""The whole interface to Rust."""

from typing import Any, NoReturn

class File:
    """A file, open at its first byte, decompressed; path None is standard input. See `wlanlens.registry.CaptureFile`."""

    def __init__(self, path: str | None) -> None: ...
    @property
    def path(self) -> str | None: ...
    @property
    def head(self) -> bytes: ...
    @property
    def compression(self) -> str: ...
    def read(self, size: int) -> bytes:
        """ValueError: over 64 MiB, or a reader of the core has the file. Releases the GIL if it has to wait."""
    def readline(self, size: int = 1048576) -> bytes:
        """As `read`."""
    def tell(self) -> int: ...
    def note(self, name: str, count: int = 1) -> None:
        """ValueError: no note has this name."""
    def refuse(self, formats: str) -> NoReturn:
        """UnknownFormat or UnsupportedFormat, with the formats that can be read."""

class Records:
    """The records of one file, for one `Reader` or one `select`."""

    def __init__(self, format: str, file: File, records: Any) -> None:
        """From an iterable of (time_ns, link_type, wire_bytes, data[, interface[, outgoing]]). TypeError: not iterable."""

def is_format(format: str, head: bytes) -> bool:
    """Whether the core recognises a format by the first bytes of a file."""

def read_format(format: str, file: File) -> Records:
    """The records of a file in a format of the core, which takes over the file."""

def select(records: Records, wanted: list[int]) -> list[tuple[int, int | None, int, bytes, int, int]]:
    """[(packet, time_ns, wire_bytes, data, link_type, offset), ...] of the given packet numbers, which must rise."""

class Reader:
    """Reads one capture, a batch of tables at a time."""

    def __init__(
        self,
        records: Records,
        *,
        batch_rows: int = 16384,
        track: bool = True,
        packets: bool | None = None,
        keys: list[bytes] = ...,
        two_threads: bool = False,
    ) -> None:
        """`packets`: only that table, without facts (see `numbered`), or all tables but that one. `two_threads`: faster by the clock,
        at a little more CPU time."""
    def numbered(self) -> bool:
        """Whether the numbers of connections in `packets` are those of the facts."""
    def add_open_flows(self) -> None:
        """Emit batches `open_flows` too: rows of `flows` of connections that continue. Call it before the first batch."""
    def name_capture(self, name: str, doc: str) -> None:
        """Put the column `capture` in front of every batch: the capture's name, and the column's sentence."""
    def next_batches(self, least_rows: int = 1) -> list[tuple[str, Any]]:
        """[(table, pyarrow.RecordBatch), ...]; an empty list is the end. Releases the GIL, and needs pyarrow only once so many rows
        of all tables together are decoded."""
    def read_ahead(self, most: int) -> bool:
        """Read what a later `next_batches` returns, unless it has been read for `most` of them; returns whether more can be read.
        Releases the GIL, and does not need pyarrow."""
    def notes(self) -> list[tuple[str, str, int, int, int, str]]:
        """[(name, severity, count, first_packet, first_offset, sentence), ...]"""
    def info(self) -> dict[str, Any]:
        """About the file so far; `stamps` of an 802.11 capture: clock, stamp_at, announced, pairs, fitting, residual_us."""

class Simulation:
    """A simulated world, described as JSON (rust/sim/src/config.rs). ValueError: it cannot be."""

    def __init__(self, world: str) -> None: ...
    def run(self, until_ns: int) -> int | None:
        """Go on until this simulated time or a little less; the time reached, None when the run is over. OverflowError
        (what, time reached): more than can be held. Releases the GIL."""
    def finish(self) -> list[tuple[str, Any]]:
        """Close the captures; the truth as [(table, pyarrow.RecordBatch), ...]."""

class Pairing:
    """Pairs the rows of two tables `packets`, or `frames`, sides 0 and 1, which are read twice, in batches."""

    def __init__(self, *, nat: bool = False, frames: bool = False) -> None: ...
    def sample(self, side: int, batch: Any) -> None:
        """First reading. ValueError: a column is missing. Releases the GIL."""
    def compare(self) -> dict[str, Any]:
        """End of the first reading: common, sampled, ids_kept, lean_tcp, lean_other, shifted."""
    def wants(self) -> int | None:
        """Second reading: the side whose next batch is needed; None when a window can be paired."""
    def held_from(self) -> list[int]:
        """Of both sides the first row that a later window may pair."""
    def reading(self, side: int) -> PairingReading:
        """Second reading: what reads the batches of a side."""
    def push(self, side: int, rows: PairingRows | None) -> None:
        """Second reading: the rows of the next batch, once; None when the side is over. Releases the GIL."""
    def step(self) -> tuple[Any, bool]:
        """Pair a window: a pyarrow.RecordBatch of `pairs`, and whether there are more. Releases the GIL."""
    def clipped(self) -> int:
        """Windows too wide to be held: pairs may be missing."""

class PairingReading:
    """Reads batches of one side for the second reading, in any thread."""

    def read(self, batch: Any) -> PairingRows:
        """ValueError: a column is missing. Releases the GIL."""

class PairingRows:
    """The rows of a batch, until they are pushed."""

class AirSums:
    """Adds up what the air of one capture was used for."""

    def __init__(self, *, pending: int, stations: int) -> None:
        """Frames that wait for their exchange, and stations told apart, at most."""
    @staticmethod
    def purposes() -> list[str]:
        """The names of purposes, in the order of all sums."""
    def waiting(self) -> int:
        """Frames that wait for their exchange."""
    def frames(self, batch: Any) -> None:
        """ValueError: a column is missing or of another type. Releases the GIL."""
    def exchanges(self, batch: Any) -> Any:
        """A pyarrow.RecordBatch of the transmissions of TCP segments: packet, outcome. Errors as `frames`. Releases the GIL."""
    def finish(self) -> None:
        """The Retry bit decides about frames that still wait."""
    def counts(self) -> dict[str, Any]:
        """frames, no_airtime, damaged, encrypted, data_frames, stations"""
    def channels(self) -> dict[int, int]:
        """{channel in MHz: frames}"""
    def flows(self) -> list[tuple[int, bool, int, int, int, int, int]]:
        """[(flow, whether from b to a, airtime_ns, wasted_ns, exchanges, attempts, dropped), ...] in no order."""
    def slices(self) -> tuple[int, list[tuple[int, int, int, int]]]:
        """Width of a slice in ns; [(slice, purpose, frames, ns), ...] without those of 0."""
    def stations(self) -> list[dict[str, Any]]:
        """The stations that were heard, by number: 0 without an address, 1 for those beyond the limit."""
    def totals(self) -> tuple[list[int], list[int]]:
        """Airtime in ns and frames of each purpose."""

class Region:
    """The lines of clock offset and drift that agree with limits: offsets at `origin` within `wide` of `middle`, ns, and slopes
    up to `steep`, ns per second, at first. Arrays are of float64, in one piece."""

    def __init__(self, origin: float, middle: float, wide: float, steep: float) -> None: ...
    def corners(self) -> list[tuple[float, float]]:
        """Offset and slope of each corner."""
    def excess(self, x: float, limit: float, side: float) -> float:
        """Distance of the best line from a limit, on the wrong side."""
    def clip(self, x: float, limit: float, side: float) -> bool:
        """Keep the lines on the right side of a limit; False, without a change, when there is none."""
    def clip_while(self, x: Any, limit: Any, side: Any) -> int:
        """Clip by limits in turn up to the first that contradicts the region; how many agreed."""
    def clip_all(self, x: Any, limit: Any, side: float) -> int:
        """Clip by all limits of one side; the number of those that contradict the region."""

def hull(x: Any, limit: Any, side: float) -> list[int]:
    """Indices of the corners of the lower (side 1) or upper (side -1) convex hull of points, in order of x."""

def channel_trials(exchanges: Any, transmissions: Any) -> Any:
    """Transmissions as trials of the channel, by pair and packet: a pyarrow.RecordBatch of vectors without nulls, from such batches of
    vectors of `Exchanges` and `Transmissions`. ValueError: a column is missing or of another type. Releases the GIL."""

def exchange_vectors(exchanges: list[Any], numbers: Any, group: list[bool], frames: Any) -> tuple[Any, Any]:
    """Exchanges of unicast data that were heard, by pair and first packet, and their transmissions: two pyarrow.RecordBatch of vectors
    without nulls. ValueError: a column is missing or of another type. Releases the GIL.

    `exchanges`: batches of the table; `numbers`: capture, ta and ra of their rows as int64, -1 for none; `group`: whether each number of
    an address is a group address; `frames`: vectors of `Frames` and `key`, capture << 40 plus packet, rising.
    """

def match_order(a: list[int], b: list[int]) -> tuple[list[tuple[int, int]], int]:
    """Places of the same packets in two sequences of lengths, and by how much those of b are longer. Releases the GIL."""

def check_keys(lines: list[bytes]) -> None:
    """BadKey unless every line is a key, empty or a comment."""

def decodes(link_type: int) -> bool:
    """Whether frames of a LINKTYPE_ value can be decoded."""

def schemas() -> dict[str, Any]:
    """Table name -> pyarrow.Schema."""

def table_names() -> list[str]:
    """The names of these tables, in the same order; it does not need pyarrow."""

def build_info() -> tuple[str, bool]:
    """(version, is a debug build)."""
