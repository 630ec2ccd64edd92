"""Analysed directories as a stranger may have edited them, and the commands that read them.

`python -m tests.pipeline.edited_directories 2000 SEED` edits directories in 2000 ways and prints each fault.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import wlanlens as wl
from tests.captures import samples
from tests.warm import warm
from wlanlens.errors import WlanlensError
from wlanlens.tables import names

#: Samples of every kind of capture: host, several points, air.
BASES = ("mixed_newreno.sender", "usb_ack_holding", "ap_overflow", "burst_loss.air")
#: Longest time and largest memory of a command.
SECONDS, MOST_BYTES = 20, 2**30
#: What a command may end with: done, wrong usage, unreadable.
STATUSES = (0, 2, 3)

#: Values of JSON that no field expects.
ODD = (
    None, True, False, 0, -1, 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64, 10**400, 0.5, -0.0, 1e18, 1e308, 5e-324,
    float("nan"), float("inf"), float("-inf"), "", "a2b", "\0", "\x1b[31m\x07", "../../../etc/passwd", "/dev/zero", "-", "x" * 100_000,
    "\ud800", "\u202e<script>alert(1)</script>", [], {}, [[]], [None], {"": None}, [1, 2, 3], ["a", "b"], {"rows": -1},
)  # fmt: skip

Edit = Callable[[Path, random.Random], str]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every value inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def read_json(file: Path) -> Any:
    """The value in a regular file: an edit before may have put /dev/zero in its place, which has no end."""
    if not file.is_file():
        raise OSError(f"{file} is no regular file")
    return json.loads(file.read_bytes())


def json_value(folder: Path, rng: random.Random) -> str:
    """Replace, remove or copy values in analysis.json or findings.json."""
    file = folder / rng.choice(["analysis.json", "analysis.json", "findings.json"])
    content = read_json(file)
    every = list(places(content))
    # A list of a thousand numbers is one place among many.
    by_key: dict[Any, list[tuple[Any, ...]]] = {}
    for place in every:
        by_key.setdefault(tuple(key for key in place if isinstance(key, str)), []).append(place)
    said = []
    for _ in range(rng.choice([1, 1, 1, 2, 5]) if every else 0):
        place = rng.choice(by_key[rng.choice(list(by_key))])
        try:
            where = content
            for key in place[:-1]:
                where = where[key]
            deed = rng.random()
            if deed < 0.15:
                del where[place[-1]]
                said.append(f"del {place}")
            elif deed < 0.25 and isinstance(where, dict):
                where[rng.choice(["other", "\0", "rows", "code"])] = where[place[-1]]
                said.append(f"copy {place}")
            else:
                where[place[-1]] = rng.choice(ODD)
                said.append(f"{place} = {where[place[-1]]!r:.30}")
        except (KeyError, IndexError, TypeError):
            continue  # an earlier edit took the place away
    text = json.dumps(content)
    if rng.random() < 0.03:
        text = text.replace("null", "[" * 100_000, 1)
    file.write_text(text)
    return f"{file.name}: {'; '.join(said)}"


def noise(data: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut, zeroed, repeated or inserted."""
    out = bytearray(data)
    kind = rng.randrange(6)
    at = rng.randrange(len(out) + 1)
    if kind == 0:
        return bytes(out[:at])
    if kind == 1:
        out[at : at + rng.choice([1, 8, 4096])] = b""
    elif kind == 2:
        out[at:at] = rng.randbytes(rng.choice([1, 4, 100]))
    elif kind == 3:
        out[at : at + 64] = bytes(len(out[at : at + 64]))
    else:
        for _ in range(rng.choice([1, 3, 20])):
            if out:
                # Half of them in the footer, which has lengths and offsets.
                spot = rng.randrange(len(out)) if kind == 4 else max(0, len(out) - 1 - rng.randrange(3000))
                out[spot] = rng.choice([rng.randrange(256), out[spot] ^ (1 << rng.randrange(8)), 0, 255])
    return bytes(out)


def files(folder: Path) -> list[Path]:
    """All files of the directory."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def file_bytes(folder: Path, rng: random.Random) -> str:
    """Change bytes of a file."""
    path = rng.choice([p for p in files(folder) if p.suffix in (".json", ".parquet")])
    path.write_bytes(noise(path.read_bytes(), rng))
    return f"bytes of {path.relative_to(folder)}"


def file_kind(folder: Path, rng: random.Random) -> str:
    """Put something else in the place of a file or folder."""
    path = rng.choice([p for p in sorted(folder.rglob("*")) if p.suffix != ".html" and (p.is_file() or p.is_dir())])
    kind = rng.choice(["remove", "fifo", "link", "zero", "folder", "empty", "rename", "socket", "loop", "moved"])
    elsewhere = folder.parent / "outside"
    if kind in ("link", "moved"):
        shutil.rmtree(elsewhere / path.name, ignore_errors=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, elsewhere / path.name)
    if kind == "rename":
        path.rename(
            path.with_name(rng.choice(["part-00001.parquet", "part-99999.parquet", "x", "flows", "analysis.json"]))
        )
        return f"rename {path.relative_to(folder)}"
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind in ("link", "moved"):
        path.symlink_to(elsewhere / path.name)
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "folder":
        path.mkdir()
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(path.parent)  # a socket's path is short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
        os.chdir(here)
    return f"{kind} {path.relative_to(folder)}"


def odd_values(kind: pa.DataType, count: int, rng: random.Random) -> list[Any]:
    """Values of a type that no analysis writes."""
    if pa.types.is_integer(kind):
        bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        few = [low, high, 0, 1, high // 2, None, min(high, 10**9)]
    elif pa.types.is_floating(kind):
        few = [float("nan"), float("inf"), float("-inf"), -1.0, 1e308, 5e-324, None, 0.0]
    elif pa.types.is_boolean(kind):
        few = [True, False, None]
    elif pa.types.is_string(kind) or pa.types.is_dictionary(kind):
        few = ["", "a2b", "b2a", "\x1b[2J", "unheard", "\0", "x" * 10_000, None]
    else:
        return [rng.choice([None, []]) for _ in range(count)]
    return [rng.choice(few) for _ in range(count)]


def table_values(folder: Path, rng: random.Random) -> str:
    """Write a table again with other values, columns, types or rows."""
    name = rng.choice([n for n in names() if (folder / "tables" / n / "part-00000.parquet").is_file()])
    path = folder / "tables" / name / "part-00000.parquet"
    table = pq.read_table(path)
    rows = table.num_rows
    kind = rng.choice(["values"] * 6 + ["drop", "twice", "type", "order", "less", "more", "swap", "nulls"])
    at = rng.randrange(table.num_columns)
    field = table.schema.field(at)
    if kind in ("values", "nulls") and rows:
        values = (
            [None] * rows
            if kind == "nulls"
            else table.column(at).to_pylist()
            if not pa.types.is_timestamp(field.type)
            else None
        )
        if values is None:
            values = table.column(at).cast(pa.int64()).to_pylist()
        odd = odd_values(pa.int64() if pa.types.is_timestamp(field.type) else field.type, rows, rng)
        share = 0.0 if kind == "nulls" else rng.choice([0.05, 0.5, 1.0])
        plain = pa.int64() if pa.types.is_timestamp(field.type) else field.type
        mixed = [o if rng.random() < share else v for o, v in zip(odd, values, strict=True)]
        column = pa.array(mixed, plain.value_type if pa.types.is_dictionary(plain) else plain).cast(field.type)
        table = table.set_column(at, field.with_nullable(True), column)
    elif kind == "drop":
        table = table.remove_column(at)
    elif kind == "twice":
        table = table.append_column(field, table.column(at))
    elif kind == "type":
        table = table.set_column(at, field.name, pa.array([rng.choice(["1", "x"])] * rows, pa.string()))
    elif kind == "order":
        table = table.take(pa.array(rng.sample(range(rows), rows), pa.int64()))
    elif kind == "less":
        table = table.slice(0, rows // 2)
    elif kind == "more":
        table = pa.concat_tables([table] * 3)
    else:
        other = rng.choice([n for n in names() if (folder / "tables" / n / "part-00000.parquet").is_file()])
        table = pq.read_table(folder / "tables" / other / "part-00000.parquet")
    pq.write_table(table, path)
    if rng.random() < 0.8:
        analysis = read_json(folder / "analysis.json")
        if isinstance(analysis, dict) and isinstance(analysis.get("tables"), dict):
            analysis["tables"][name] = {"rows": table.num_rows, "parts": 1}
            (folder / "analysis.json").write_text(json.dumps(analysis))
    return f"{name}.{field.name}: {kind}"


EDITS: tuple[tuple[Edit, int], ...] = ((json_value, 4), (table_values, 4), (file_bytes, 2), (file_kind, 2))


def edit(folder: Path, rng: random.Random) -> str:
    """Edit a directory once, or in several ways; returns what was done."""
    said = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        (chosen,) = rng.choices([e for e, _ in EDITS], [w for _, w in EDITS])
        try:
            said.append(chosen(folder, rng))
        except (
            OSError,
            ValueError,
            KeyError,
            IndexError,
            TypeError,
            AttributeError,
            RecursionError,
            pa.ArrowException,
        ):
            said.append(f"{chosen.__name__} not possible after that")
    return " | ".join(said)


def commands(folder: Path, rng: random.Random) -> Iterator[tuple[object, ...]]:
    """The commands that read an analysed directory."""
    point = rng.choice(["sender", "air", "receiver", "mixed_newreno.sender.pcap"])
    yield "show", folder, f"{point}:{rng.choice([1, 2, 50, 100])}"
    yield "query", folder, f"FROM {rng.choice(names())}"
    yield "query", folder, "SELECT f.flow, count(*), max(s.t_ns) FROM flows f JOIN segments s USING (flow) GROUP BY ALL"
    yield "evidence", folder, rng.choice([1, 2, 3]), "-o", folder.parent / "out.pcapng"
    yield "report", folder


def faults(folder: Path, rng: random.Random) -> Iterator[str]:
    """What goes wrong when an edited directory is read."""
    outside = {path: path.read_bytes() for path in files(folder.parent / "outside")}
    try:
        trace = wl.load(folder).trace
        for name in names():
            if trace.has(name):
                trace.table(name).validate(full=True)
    except WlanlensError as error:
        if not str(error):
            yield "load: an error without words"
    except Exception as error:  # noqa: BLE001 - what is looked for
        yield f"load: {type(error).__name__}: {error}"
    for words in commands(folder, rng):
        done = warm().run(folder.parent / "cwd", *words, seconds=SECONDS)
        said = done.err.strip()
        what = f"{words[0]} {words[2] if len(words) > 2 else ''}"
        if done.status not in STATUSES:
            yield f"{what}: status {done.status}: {said[-300:]}"
        elif "a bug in wlanlens" in said or "Traceback" in said:
            yield f"{what}: {said[-300:]}"
        elif done.status == 3 and len(said.splitlines()) != 1:
            yield f"{what}: not one line: {said[-300:]!r}"
        elif "\x1b" in done.out + said:
            yield f"{what}: an escape on the terminal"
        if done.peak_bytes > MOST_BYTES:
            yield f"{what}: {done.peak_bytes >> 20} MiB"
    if outside != {path: path.read_bytes() for path in files(folder.parent / "outside")}:
        yield "a file outside of the directory was changed"


def analysed(place: Path) -> list[Path]:
    """The directories to edit."""
    out = []
    for name in BASES:
        out.append(place / name)
        wl.analyze(samples()[name], out=out[-1], report=False)
    return out


def attempt(bases: list[Path], place: Path, seed: str) -> tuple[str, list[str]]:
    """Edit a copy of a directory by the numbers of a seed; what was done to it, and the faults found."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    if place.exists():
        shutil.rmtree(place)
    (place / "outside").mkdir(parents=True)
    base = rng.choice(bases)
    shutil.copytree(base, place / "dir")
    said = edit(place / "dir", rng)
    return f"{base.name}: {said}", list(faults(place / "dir", rng))


def main(count: int, seed: str) -> int:
    """Edit `count` directories; returns the number of edits with a fault."""
    bad: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="wlanlens-edited-") as folder:
        bases = analysed(Path(folder) / "bases")
        for number in range(count):
            said, found = attempt(bases, Path(folder) / "place", f"{seed}/{number}")
            bad["with a fault" if found else "as promised"] += 1
            for fault in found:
                print(f"{seed}/{number} {said:.300}\n    {fault}", flush=True)
    print(f"{count} edits, seed {seed}: {dict(bad)}")
    return bad["with a fault"]


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), sys.argv[2])))
