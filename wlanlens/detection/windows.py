"""Findings of the windows of a long capture: two halves of one finding, split at a border, become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from wlanlens import registry
from wlanlens.detection.finding import EVIDENCE_ROWS, SEVERITIES, Finding, Value


def join_windows(earlier: Iterable[Finding], later: Iterable[Finding]) -> list[Finding]:
    """Join the findings of two consecutive windows: two halves of one finding, split at the border, become one.

    Halves have the same code, subject and flow, and the later starts before the earlier ends. Costs are added, and so are
    whole numbers whose names end in `_count` or `_bytes`; other values and the sentence come from the costlier half. Findings
    that sum up a connection (`whole` in `registry.detector`) become one wherever they are, with a sentence of their own.
    """
    whole = {name: unit.whole for name, unit in registry.units("detectors").items() if isinstance(unit, registry.Tool)}
    out = list(earlier)
    latest: dict[tuple[str, str, str, int | None, str | None], int] = {}
    for i, f in enumerate(out):
        at = latest.setdefault(_key(f), i)
        if f.t_end_ns > out[at].t_end_ns:
            latest[_key(f)] = i
    for f in later:
        cut = latest.get(_key(f))
        sentence = whole.get(f.code)
        if cut is not None and sentence is not None and f.flow is not None:
            out[cut] = _sum_up(out[cut], f, sentence)
        elif cut is not None and f.t_start_ns <= out[cut].t_end_ns:
            out[cut] = _join(out[cut], f)
            del latest[_key(f)]
        else:
            out.append(f)
    return out


def _key(f: Finding) -> tuple[str, str, str, int | None, str | None]:
    return f.code, f.capture, f.subject, f.flow, f.direction


def _join(a: Finding, b: Finding) -> Finding:
    main, other = (a, b) if a.cost_s >= b.cost_s else (b, a)
    values = dict(main.values)
    for name, value in other.values.items():
        mine = values.get(name)
        if name.endswith(("_count", "_bytes")) and isinstance(mine, int) and isinstance(value, int):
            values[name] = mine + value
        else:
            values.setdefault(name, value)
    rows: dict[tuple[str, str], dict[int, None]] = {}
    for table, capture, packets in (*a.evidence, *b.evidence):
        rows.setdefault((table, capture), {}).update(dict.fromkeys(packets))
    return replace(
        main,
        t_start_ns=min(a.t_start_ns, b.t_start_ns),
        t_end_ns=max(a.t_end_ns, b.t_end_ns),
        cost_s=a.cost_s + b.cost_s,
        saved_s=None if a.saved_s is None or b.saved_s is None else a.saved_s + b.saved_s,
        severity=max(a.severity, b.severity, key=SEVERITIES.index),
        values=values,
        evidence=tuple((t, c, tuple(r)[:EVIDENCE_ROWS]) for (t, c), r in rows.items()),
    )


def _sum_up(a: Finding, b: Finding, sentence: Callable[[Mapping[str, Value]], str]) -> Finding:
    """One finding about a connection from those of an earlier and a later window."""
    added = ("_s", "_count", "_bytes")
    sums = {k: a.values.get(k, 0) + v for k, v in b.values.items() if k.endswith(added)}  # type: ignore[operator]
    values = {**a.values, **b.values, **sums}
    return replace(_join(a, b), values=values, sentence=f"{b.subject}: {sentence(values)}")
