"""One sentence about the USB transfers of a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wlanlens.capture.usb import ENDPOINT_COLUMNS, Endpoint
from wlanlens.formatting import count, size

if TYPE_CHECKING:
    import pyarrow as pa


def usb_summary(urbs: pa.Table) -> str:
    """ "4 USB transfers of 2 endpoints moved 1.82 kB; USB bus 1 device 2 endpoint 1 in moved most, 1.31 kB."; "" without rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not urbs.num_rows:
        return ""
    columns = {name: urbs[name] for name in ENDPOINT_COLUMNS}
    plain = {n: c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for n, c in columns.items()}
    moved = pc.fill_null(urbs["done_bytes"].cast(pa.int64()), 0)
    sums = (
        pa.table({**plain, "moved": moved})
        .group_by(list(ENDPOINT_COLUMNS), use_threads=False)
        .aggregate([("moved", "sum")])
    )
    rows = sorted(sums.to_pylist(), key=lambda row: (-row["moved_sum"], *(str(row[name]) for name in ENDPOINT_COLUMNS)))
    most = Endpoint(*(rows[0][name] for name in ENDPOINT_COLUMNS))
    text = f"{count(urbs.num_rows, 'USB transfer')} of {count(len(rows), 'endpoint')}"
    total = sum(row["moved_sum"] for row in rows)
    if not total:
        return f"{text} moved no data."
    return f"{text} moved {size(total)}; {most} moved most, {size(rows[0]['moved_sum'])}."
