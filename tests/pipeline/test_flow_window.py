"""Windows: which rows are judged now, and which stay."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from wlanlens.pipeline.flow_window import _parted

MASKS = {
    "none stays": "nnnnnn",
    "all stay": "ssssss",
    "the last ones stay": "nnnsss",
    "the first ones stay": "sssnnn",
    "mixed rows between": "nnsnsnss",
    "one row": "s",
    "no row": "",
}


@pytest.mark.parametrize("kinds", MASKS.values(), ids=MASKS)
def test_rows_are_parted_in_their_order(kinds: str) -> None:
    stay = np.array([kind == "s" for kind in kinds], bool)
    column = pa.chunked_array([pa.array(range(len(kinds)), pa.int64())])
    words = pa.chunked_array([pa.array(list(kinds), pa.string()).dictionary_encode()])
    now, rest = _parted(pa.table({"row": column, "kind": words}), stay)
    assert now.column("row").to_pylist() == np.flatnonzero(~stay).tolist()
    assert rest.column("row").to_pylist() == np.flatnonzero(stay).tolist()
    assert set(rest.column("kind").to_pylist()) <= {"s"}
    assert rest.schema == now.schema
