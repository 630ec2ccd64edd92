"""The process that analyses one trace: its limits, and the row that becomes of it."""

from __future__ import annotations

import math
import os
import stat
import time
from typing import TYPE_CHECKING

from wlanlens import operating_system
from wlanlens.capture import decryption_keys
from wlanlens.errors import AlignmentError, OutputError, WlanlensError, is_out_of_memory
from wlanlens.formatting import printable
from wlanlens.pipeline.analyze import analyze
from wlanlens.pipeline.batch.job import Job, Row, remove_result, write_record
from wlanlens.pipeline.batch.runs_table import described

if TYPE_CHECKING:
    from wlanlens.capture.decryption_keys import Keys

#: Address space that threads take and do not use: stacks and arenas.
_UNUSED_BYTES = 256 << 20


def limit(job: Job, program_bytes: int) -> None:
    """Limit this process: memory, CPU time, no core file; it ends when its parent ends."""
    operating_system.end_with_parent()
    # More than the time by the clock on all cores is impossible: this holds where the clock's limit does not.
    cpu_s = math.ceil(job.options.timeout_s * (os.cpu_count() or 1)) + 1
    operating_system.limit_process(program_bytes + _UNUSED_BYTES + job.options.memory_bytes, cpu_s)


def analyse(job: Job, keys: Keys) -> Row:
    """Analyse the trace, write its record, and return its row."""
    begun = time.monotonic()
    row = _analyse(job, keys)
    cpu_s, peak_bytes = operating_system.own_usage()
    row |= {
        "seconds": round(time.monotonic() - begun, 3),
        "cpu_s": round(cpu_s, 3),
        "peak_bytes": peak_bytes,
    }
    if row["status"] in ("done", "unreadable", "refused"):
        try:
            write_record(job, row)
        except OSError as error:
            row |= {"status": "refused", "reason": f"cannot write: {error.strerror}"}
    return row


def _analyse(job: Job, keys: Keys) -> Row:
    try:
        for capture in job.captures:
            if not stat.S_ISREG(os.stat(capture.path).st_mode):
                return job.row("refused", f"{_shown(capture.shown)}: not a regular file")
        remove_result(job.folder)
        roles = {capture.point: capture.path for capture in job.captures if capture.point}
        if len(roles) < sum(1 for capture in job.captures if capture.point):
            raise AlignmentError("two captures of the trace have the same capture point")
        if job.key_file:
            keys = keys + decryption_keys.from_file(job.key_file)
        analysis = analyze(
            [capture.path for capture in job.captures if not capture.point],
            out=job.folder,
            only=job.options.only or None,
            thresholds=job.options.thresholds,
            roles=roles,
            report=job.options.report,
            keys=keys,
            nat=job.options.nat,
        )
        serious = sum(finding.severity == "serious" for finding in analysis.findings)
        return job.row("done", **described(analysis.description, serious))
    except OutputError as error:
        return job.row("refused", _reason(error))
    except WlanlensError as error:
        return job.row("unreadable", _reason(error))
    except OSError as error:
        name = f"{_shown(os.fsdecode(error.filename))}: " if error.filename else ""
        return job.row("unreadable", name + (error.strerror or str(error)))
    except Exception as error:  # noqa: BLE001 - one trace never stops the others
        return job.row("killed", out_of_memory(job) if is_out_of_memory(error) else _bug(error))


def out_of_memory(job: Job) -> str:
    """The reason of an analysis that needs more than its memory."""
    return f"out of memory: it needs more than {job.options.memory_bytes >> 20} MB"


def _bug(error: Exception) -> str:
    return printable(f"a bug in wlanlens: {type(error).__name__}: {error}")


def _reason(error: WlanlensError) -> str:
    """What is wrong, without the folders above the file."""
    if error.path:
        error.path = _shown(error.path)
    return str(error)


def _shown(path: str) -> str:
    return printable(os.path.basename(path) or path)
