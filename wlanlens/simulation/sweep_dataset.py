"""The truth of all runs of a sweep: one Parquet dataset a table, written while the sweep runs.

Part files with one number belong together. The sweep's journal names the number only once the parts are whole, so that an
interrupted sweep has neither half a part nor a run twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

#: The tables: the true findings and the true ledger, each with the column `run`.
TABLES = ("truth", "truth_ledger")

#: A part is written after this time, s, or this share of the sweep's time so far, whichever is longer: a crash costs little of
#: the work, and the number of parts grows with the logarithm of the time.
PART_S, PART_SHARE = 0.5, 0.01


class Dataset:
    """Writes the truth tables of finished runs in parts.

    Parameters
    ----------
    folder : Path
        The sweep's folder; each table has a folder in it.
    known : iterable of int
        Numbers of the parts of finished runs. Others are of an interrupted sweep, and are removed.
    """

    def __init__(self, folder: Path, known: Iterable[int]) -> None:
        self.folder, numbers = folder, set(known)
        whole = {part_name(number) for number in numbers}
        for name in TABLES:
            (folder / name).mkdir(exist_ok=True)
            for path in (folder / name).glob("part-*"):
                if path.name not in whole:
                    path.unlink()
        self._began = self._last = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time to write a part."""
        now = time.monotonic()
        return now - self._last >= max(PART_S, PART_SHARE * (now - self._began))

    def write(self, number: int, runs: Mapping[str, Mapping[str, pa.Table]]) -> None:
        """Write the truth tables of some runs, by their names, as part `number`, also where an interrupted call has begun that."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for name in TABLES:
            rows = [
                tables[name].add_column(0, "run", pa.array([run] * tables[name].num_rows, pa.string()))
                for run, tables in runs.items()
            ]
            path = self.folder / name / part_name(number)
            partial = path.with_suffix(".partial")
            pq.write_table(pa.concat_tables(rows, promote_options="default").unify_dictionaries(), partial)
            partial.replace(path)
        self._last = time.monotonic()


def parts(folder: Path) -> dict[str, list[Path]]:
    """The part files of each table, in order; links are no parts."""
    return {
        name: sorted(p for p in (folder / name).glob("part-*.parquet") if p.is_file() and not p.is_symlink())
        for name in TABLES
    }


def part_name(number: int) -> str:
    """The file name of a part."""
    return f"part-{number:05}.parquet"
