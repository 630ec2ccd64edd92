"""Columns in the page, numbers on the page, and JSON inside a script."""

from __future__ import annotations

import base64
import gzip
import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wlanlens import formatting
from wlanlens.report import encode, inert, policy

NARROW = formatting.THIN


def decoded(text):
    """The columns as columns.js decodes them."""
    raw = gzip.decompress(base64.b64decode(text))
    (length,) = struct.unpack_from("<I", raw)
    at = -(-(4 + length) // 8) * 8
    out = {}
    for name, kind, count, coding in json.loads(raw[4 : 4 + length]):
        values = np.frombuffer(raw, "<" + kind, count, at)
        at += -(-values.nbytes // 8) * 8
        out[name] = (np.cumsum(values.astype(float)) if coding == "delta" else values).astype(np.int64)
    assert at == len(raw)
    return out


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.lists(st.integers(-(2**52), 2**52), max_size=40)))
def test_columns_come_back(columns):
    arrays = {name: np.array(values, np.int64) for name, values in columns.items()}
    back = decoded(encode.columns(arrays))
    assert {name: values.tolist() for name, values in back.items()} == columns


def test_the_same_columns_are_the_same_bytes():
    columns = {"t": np.arange(1000) * 12_345_678}
    assert encode.columns(columns) == encode.columns(columns)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (5.2158, "5.22 s"),
        (12.473, "12.5 s"),
        (1286.663, "1 287 s"),
        (0.45, "0.450 s"),
        (0.0012, "0.001 s"),
        (0.000123, "123 µs"),
        (9.996, "10.0 s"),
        (0.99951, "1.00 s"),
        (None, "\N{EM DASH}"),
    ],
)
def test_seconds(value, text):
    assert formatting.page_seconds(value) == text.replace(" ", NARROW)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (999, "999 B"), (1448, "1.45 kB"), (1.8e6, "1.80 MB"), (None, "\N{EM DASH}")]
)
def test_size(value, text):
    assert formatting.page_size(value) == text.replace(" ", NARROW)


def test_a_share_above_zero_never_shows_as_zero():
    assert formatting.page_share(1, 10**9) == "< 0.1 %".replace(" ", NARROW)
    assert formatting.page_share(0, 10**9) == "0 %".replace(" ", NARROW)


@given(st.text())
def test_json_in_a_script_is_inert_and_complete(text):
    out = str(inert.embedded({"a": [text, 1.5, None]}))
    assert not set("<>&\u2028\u2029") & set(out)
    assert out.isascii()
    assert json.loads(out)["a"] == [inert.shown(text), 1.5, None]


def test_the_policy_allows_only_these_scripts():
    text = policy.policy([policy.digest("alert(1)")], spilled=False)
    assert text.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in text
    assert "http" not in text
    assert "file:" not in text
