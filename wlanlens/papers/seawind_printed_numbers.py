from __future__ import annotations

from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

_MSS_BYTES, _HEADER_BYTES, _FRAMING_BYTES, _BYTES_PER_S = 256, 40, 8, 1200


@experiment("seawind_printed_numbers", study="seawind", source="sections 4 and 5: arithmetic on the set-up")
def seawind_printed_numbers(lab: Lab) -> Result:  # noqa: ARG001  arithmetic, no simulation
    """Throughput, flight and round trip that follow from the line, the segment and the window."""
    whole = _MSS_BYTES + _HEADER_BYTES + _FRAMING_BYTES
    segment_s = whole / _BYTES_PER_S
    return Result(
        (
            Row("payload at the line's rate (B/s)", "1002 measured", "E", _MSS_BYTES / whole * _BYTES_PER_S, (1010.0, 1011.0),
                because="256 of 304 bytes at 9600 bit/s"),
            Row("measured throughput over it", "1002", "E", 1002 / (_MSS_BYTES / whole * _BYTES_PER_S), (0.985, 1.0),
                because="the start of the transfer"),
            Row("a segment on the line (s)", "not printed", "E", segment_s, (0.2525, 0.2535), because="304 bytes"),
            Row("segments in the receiver's window", "127", "E", 32_696 // _MSS_BYTES, (127, 127), because="32696 / 256"),
            Row("round trip at that flight (s)", "32", "E", 127 * segment_s, (31.5, 32.5), because="all of it in the queue"),
        )
    )  # fmt: skip
