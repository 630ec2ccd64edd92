"""The library as a script or a notebook uses it: version, names, errors, short reprs, figures."""

from __future__ import annotations

import html
import inspect
import re
import tomllib
import typing
from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from tests.captures import MIXED, ROOT, sample, samples
from wlanlens import _core
from wlanlens.detection.finding import Finding
from wlanlens.errors import FileDenied, FileIsFolder, FileMissing, WrongUse, file_error


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert wl.__version__ == project["version"] == _core.build_info()[0]


def public() -> dict[str, Any]:
    """Public functions, and public methods of public classes, by their dotted name."""
    out = {}
    for name in wl.__all__:
        value = getattr(wl, name)
        if inspect.isfunction(value):
            out[name] = value
        elif inspect.isclass(value):
            for method, what in vars(value).items():
                function = what.__func__ if isinstance(what, classmethod) else what
                if inspect.isfunction(function) and not method.startswith("_"):
                    out[f"{name}.{method}"] = function
    return out


@pytest.mark.parametrize("name", [n for n in public() if "." not in n])
def test_a_public_function_says_what_it_takes_and_returns(name: str) -> None:
    function = public()[name]
    doc, signature = inspect.getdoc(function) or "", inspect.signature(function)
    assert re.search(r"^Returns\n-+\n", doc, re.M) or signature.return_annotation in (None, "None"), "no Returns"
    sections = doc.split("\nParameters\n")
    for parameter in signature.parameters:
        assert len(sections) == 2, "no Parameters"
        assert re.search(
            rf"^(.*, )?\**{parameter}(, .*)? :|^\**{parameter}$|^(\w+, )*{parameter}(, \w+)*$", sections[1], re.M
        ), parameter


@pytest.mark.parametrize("name", list(public()))
def test_a_public_function_is_typed_and_documented(name: str) -> None:
    function = public()[name]
    assert inspect.getdoc(function)
    assert "return" in function.__annotations__
    parameters = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
    assert set(parameters) <= set(function.__annotations__)


def test_public_names_have_a_sentence() -> None:
    for name in wl.__all__:
        if name != "plots":
            assert (inspect.getdoc(getattr(wl, name)) or "").split("\n")[0].endswith((".", ":")), name
    assert set(wl.__all__) <= set(dir(wl))
    with pytest.raises(AttributeError):
        wl.analyse  # noqa: B018


@pytest.mark.parametrize(
    ("what", "kinds"),
    [
        (lambda place: wl.open(place / "nowhere.pcap"), (FileNotFoundError,)),
        (lambda place: wl.align([place / "nowhere.pcap"]), (FileNotFoundError,)),
        (lambda place: wl.analyze(place / "nowhere.pcap"), (FileNotFoundError,)),
        (lambda place: wl.doctor(place / "nowhere.pcap"), (FileNotFoundError,)),
        (lambda place: wl.open(place).table("packets"), (IsADirectoryError,)),
        (lambda place: wl.load(place / "nowhere"), (FileNotFoundError,)),
        (lambda place: wl.simulate("clean_link", place / "file" / "below", duration_s=0.1), (NotADirectoryError,)),
    ],
)
def test_errors_of_files_are_ours_and_the_systems(tmp_path: Path, what: Any, kinds: tuple[type[OSError], ...]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(wl.WlanlensError) as found:
        what(tmp_path)
    assert isinstance(found.value, kinds)
    assert isinstance(found.value, wl.FileError)
    assert found.value.errno
    assert str(tmp_path) in str(found.value)
    assert found.value.strerror
    assert "os error" not in str(found.value)


def test_each_error_of_the_system_has_its_kind() -> None:
    assert isinstance(file_error(PermissionError(13, "no", "x")), FileDenied)
    assert isinstance(file_error(IsADirectoryError(21, "no", "x")), FileIsFolder)
    assert isinstance(file_error(FileNotFoundError(2, "no", b"\xff")), FileMissing)
    full = file_error(OSError(28, "No space left on device", "x"))
    assert (type(full), full.errno, str(full)) == (wl.FileError, 28, "x: No space left on device")
    with pytest.raises(WrongUse, match="did you mean 'sender'"):
        wl.open(MIXED, point="sendr")


@pytest.mark.parametrize(("inside", "advice"), [("analysis.json", "wl.load"), ("a.pcap", "wlanlens batch")])
def test_a_folder_in_place_of_a_capture_names_what_reads_it(tmp_path: Path, inside: str, advice: str) -> None:
    (tmp_path / inside).write_text("")
    with pytest.raises(FileIsFolder, match=advice):
        wl.open(tmp_path)


def shown() -> dict[str, Any]:
    """An object of each class that a notebook shows."""
    trace = sample(MIXED.stem)
    findings = wl.detect(trace)
    run = wl.simulate("clean_link", duration_s=0.2)
    return {
        "capture": wl.open(MIXED), "read": trace.captures[0], "trace": trace, "findings": findings, "none": findings[:0],
        "finding": findings[0], "tables": trace.tables, "run": run,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["capture", "read", "trace", "findings", "none", "finding", "tables", "run"])
def test_a_notebook_shows_no_address_and_no_markup(name: str) -> None:
    value = shown()[name]
    assert len(repr(value)) < 300
    assert " at 0x" not in repr(value)
    assert value._repr_html_().startswith("<table>")


def test_an_analysis_shows_itself_and_its_figures(tmp_path: Path) -> None:
    analysis = wl.analyze(MIXED, out=tmp_path / "out", report=False)
    assert analysis.verdict.sentence in repr(analysis)
    page = analysis._repr_html_()
    assert all(html.escape(finding.sentence) in page for finding in analysis.findings)
    assert "2,313" in analysis.trace._repr_html_()
    figure = analysis.figure("time_sequence")
    assert "192.0.2.1:40000" in figure.layout.title.text
    assert figure.layout.shapes, "the findings are not marked"
    assert "192.0.2.2:5001 &gt;" in analysis.figure("time_sequence", direction="b2a").layout.title.text
    with pytest.raises(WrongUse, match="did you mean 'time_sequence'"):
        analysis.figure("time_sequenc")
    with pytest.raises(wl.WlanlensError, match="needs rows of urbs"):
        analysis.figure("usb_bytes")


def test_hostile_text_stays_text_in_html() -> None:
    hostile = Finding("x", 0, 1, "<script>alert(1)</script>", "\x1b[2J<b>", "info", 0.5, 0.0, sentence="<img src=x>.")
    for page in (hostile._repr_html_(), wl.Findings([hostile])._repr_html_()):
        assert "<script" not in page
        assert "<img" not in page
        assert "<b>" not in page
        assert "\x1b" not in page


def test_plots_are_functions_whatever_was_imported_first() -> None:
    import importlib

    trace = sample(MIXED.stem)
    for name in wl.plots.names():
        importlib.import_module(f"wlanlens.plots.{name}")
        assert callable(getattr(wl.plots, name))
    assert type(wl.plots.time_sequence(trace)).__module__.startswith("plotly")
    assert wl.plots.draw("time_sequence", trace).to_dict() == wl.plots.time_sequence(trace).to_dict()
    assert set(wl.plots.names()) <= set(dir(wl.plots))
    with pytest.raises(AttributeError, match="did you mean 'time_sequence'"):
        wl.plots.time_sequenc  # noqa: B018
    from wlanlens.plots.time_sequence import time_sequence

    assert time_sequence is wl.plots.time_sequence


def test_findings_are_a_list_and_a_table(tmp_path: Path) -> None:
    findings = wl.detect(sample(MIXED.stem))
    assert isinstance(findings, list)
    assert findings == list(findings)
    assert isinstance(findings[:2], wl.Findings)
    assert findings[:2].states == findings.states
    assert {f.code for f in findings.of("packet_loss")} == {"packet_loss"}
    frame = findings.to_pandas()
    assert list(frame.index) == list(range(1, len(findings) + 1))
    assert frame["flow"].dtype == "Int64"
    assert list(frame["code"]) == [f.code for f in findings]
    empty = findings[:0].to_pandas()
    assert list(empty.columns) == list(frame.columns)
    assert findings.to_table().num_rows == len(findings)
    text = findings.to_csv(tmp_path / "findings.csv")
    assert (tmp_path / "findings.csv").read_bytes().decode() == text
    hostile = wl.Findings([Finding("x", 0, 1, "a", "=1+1", "info", 0.5, 0.0, sentence="line\nbreak")])
    assert "'=1+1" in hostile.to_csv()
    assert len(hostile.to_csv().splitlines()) == 2


def test_views_have_ports_and_whole_numbers() -> None:
    trace = sample(MIXED.stem)
    packets, segments = trace.view("packets"), trace.view("segments")
    for name in ("src_port", "dst_port"):
        assert list(segments[name]) == list(packets.set_index("packet").loc[segments["packet"], name])
    for name in ("ip_src", "ip_dst"):
        assert [str(x) for x in segments[name]] == [
            str(x) for x in packets.set_index("packet").loc[segments["packet"], name]
        ]
    table = trace.table("segments")
    assert str(segments["rtt_ns"].dtype) == "Int64"
    assert str(segments["spurious"].dtype) == "boolean"
    assert str(segments["len"].dtype) == "uint32"
    for name in ("rtt_ns", "rel_seq", "spurious", "len"):
        assert [
            None if value is None or value != value else value
            for value in segments[name].astype(object).where(segments[name].notna(), None)
        ] == table[name].to_pylist()
    four = wl.align(samples()["usb_ack_holding"])
    assert four.view("segments")["src_port"].notna().all()
    assert len(trace.view("timeouts")) == trace.table("timeouts").num_rows


def test_to_pandas_keeps_the_order_of_columns_and_empty_tables() -> None:
    from wlanlens import tables

    for name in tables.names():
        frame = wl.to_pandas(tables.empty(name))
        assert list(frame.columns) == tables.schema(name).names
    assert typing.get_type_hints(wl.to_pandas, {"pd": __import__("pandas"), "pa": __import__("pyarrow")})
