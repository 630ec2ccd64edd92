"""Tests that `make test-fast` leaves out, and why. All others are marked `fast`.

A path is a file or a folder below tests/. A file that takes more than about five CPU seconds belongs here.
"""

from __future__ import annotations

from pathlib import PurePosixPath

SLOW = {
    "simulation": "simulates hundreds of worlds",
    "reproduction": "runs published experiments",
    "validation": "simulates and scores worlds",
    "alignment": "aligns simulated and real captures, many times each",
    "correlation": "aligns simulated and real captures, many times each",
    "test_badinputs.py": "runs the command on every bad input",
    "test_captures.py": "runs the command on every shared capture",
    "test_new.py": "runs pytest in a copy of the repository",
    "report/test_browser.py": "starts a browser",
    "report/test_reading.py": "starts a browser",
    "report/test_fleet_page.py": "starts a browser",
    "report/test_experiments.py": "starts a browser",
    "report/test_layers.py": "starts a browser",
    "report/test_air.py": "starts a browser",
    "detectors/test_air_score.py": "simulates every world of the oracle",
    "detectors/test_air_capture.py": "simulates worlds of the oracle and runs tshark",
    "detectors/test_air_odd.py": "simulates worlds of the oracle",
    "detectors/test_filters.py": "runs tshark",
    "pipeline/test_mutated_captures.py": "analyses many mutated captures",
    "detection/test_every_capture.py": "analyses every shared capture and every scenario",
    "detection/test_verdict_together.py": "simulates worlds and aligns them",
    "capture/test_decryption_keys.py": "runs every command with keys",
    "cli/test_journey.py": "simulates worlds and runs commands",
    "airtime/test_cli.py": "runs commands",
    "cli/test_cli.py": "starts the command for each test",
    "cli/test_interrupted.py": "starts and stops the command for each test",
    "pipeline/test_compare.py": "simulates and analyses worlds",
    "cli/test_fail_on.py": "starts the command for each test",
    "pipeline/test_edited_directories.py": "runs every command on many edited directories",
    "cli/test_query.py": "starts the command for each test",
    "pipeline/test_batch.py": "analyses hundreds of traces",
    "pipeline/test_batch_cluster.py": "starts clusters",
    "pipeline/test_fleet.py": "analyses traces; collects 2000 runs",
    "pipeline/test_memory.py": "measures memory on long captures",
    "pipeline/test_time_chunks.py": "analyses captures in many small chunks",
    "plots/test_usb_bytes.py": "draws many random transfers",
    "parsers/test_containers.py": "compares every record with tshark",
    "parsers/test_packets_tshark.py": "compares all captures with tshark",
    "parsers/test_frames_tshark.py": "compares all captures with tshark",
    "parsers/test_airtime_tshark.py": "compares all captures with tshark",
    "parsers/test_decrypt_tshark.py": "compares all captures with tshark",
    "parsers/test_sniffer_tshark.py": "compares all captures with tshark",
    "parsers/test_ns3.py": "compares ns-3 and real captures with tshark",
    "parsers/test_damage.py": "analyses many damaged copies of a capture",
    "exchange": "compares all captures with tshark",
    "usb": "compares all captures with tshark",
    "flow": "reads every kernel capture; runs tcptrace",
    "release/test_wheel.py": "builds the wheel and installs it in new environments",
    "release/test_operating_system.py": "starts Python for each test",
    "docs/test_commands.py": "runs every command of the documentation",
    "docs/test_site.py": "builds the documentation",
    "ledger/test_shared_scores.py": "analyses every kernel and labelled capture",
}

#: What takes longest begins first: tests that wait for a browser leave their core to other workers, and no worker ends with a
#: test of half a minute while the others have nothing left.
FIRST = (
    "release/test_wheel.py", "report/test_browser.py", "report/test_layers.py", "report/test_air.py", "report/test_experiments.py", "test_badinputs.py",
    "ledger/test_shared_scores.py",
)  # fmt: skip


def is_slow(path: str) -> bool:
    """Whether a file, named below tests/, is on the list."""
    parts = PurePosixPath(path)
    return any(str(place) in SLOW for place in (parts, *parts.parents))


def begins(path: str) -> int:
    """The place in the order of files: those of `FIRST`, then the others as they are."""
    return FIRST.index(path) if path in FIRST else len(FIRST)
