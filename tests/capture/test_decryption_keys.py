"""Keys: every way in, what a mistake says, and that no output holds one."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import MIXED, ROOT
from tests.warm import completed
from wlanlens.capture import decryption_keys
from wlanlens.errors import BadKey

INDUCTION = ROOT.parent / "shared" / "captures" / "wlan" / "wpa-Induction.pcap"
SECRET = "wlxSecretPassphrase"  # noqa: S105 - what no output may hold


def run(folder: Path, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return completed(folder, *words, COLUMNS="80", **environment)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.txt"
    path.write_text(f'# home\n\nwep:0102030405\n"wpa-pwd","{SECRET}:net"\nwpa-psk:{"0a" * 32}\n{SECRET}\n')
    return path


@pytest.fixture
def induction() -> Path:
    if not INDUCTION.exists():
        pytest.skip("wpa-Induction.pcap is absent from ../shared")
    return INDUCTION


def holders(folder: Path) -> list[str]:
    """Files under a folder with the secret in them."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [str(path) for path in files if SECRET.encode() in path.read_bytes()]


def test_no_output_holds_a_key(tmp_path: Path, key_file: Path) -> None:
    ways: list[tuple[list[object], dict[str, str]]] = [
        (["--key-file", key_file], {}),
        (["--key", f"wpa-pwd:{SECRET}:net"], {}),
        (["--key", SECRET], {}),
        ([], {"WLANLENS_KEYS": f"# mine\nwep:0102030405\nwpa-pwd:{SECRET}"}),
        ([], {"WLANLENS_KEY": SECRET}),
    ]
    for i, (words, environment) in enumerate(ways):
        out = tmp_path / f"out{i}"
        done = run(tmp_path, "analyze", MIXED, "-o", out, *words, **environment)
        assert done.returncode == 0, done.stderr
        assert SECRET not in done.stdout + done.stderr
        assert holders(out) == []
        assert ("list of processes" in done.stderr) == ("--key" in words)
    assert SECRET not in run(tmp_path, "show", MIXED, 1, "--key-file", key_file).stdout


@pytest.mark.parametrize(
    ("line", "form"),
    [
        (f"wpa-pdw:{SECRET}", "wpa-pwd:PASSPHRASE:SSID"),
        (f"wep:{SECRET}", "wep:HEX"),
        (f"wpa-psk:{SECRET}", "wpa-psk:HEX"),
        (f"{SECRET}:net", "wep:HEX, wpa-pwd:PASSPHRASE:SSID or wpa-psk:HEX"),
        (f"wpa-pwd:{SECRET * 4}:net", "8 to 63 characters"),
        (f'"wpa-pwd","{SECRET}', '"wpa-pwd","PASSPHRASE:SSID"'),
    ],
)
def test_a_mistake_names_line_and_form(tmp_path: Path, line: str, form: str) -> None:
    path = tmp_path / "keys.txt"
    path.write_text(f"# one\n# two\n{line}\n")
    done = run(tmp_path, "analyze", MIXED, "-o", "out", "--key-file", path)
    assert done.returncode == 2
    assert f"{path}: line 3: " in done.stderr
    assert form in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert not (tmp_path / "out").exists()
    for environment in ({"WLANLENS_KEYS": f"#\n{line}"}, {"WLANLENS_KEY": line}):
        done = run(tmp_path, "analyze", MIXED, **environment)
        assert next(iter(environment)) in done.stderr
        assert SECRET not in done.stdout + done.stderr
    with pytest.raises(BadKey) as caught:
        wl.open(MIXED, keys=["wep:0102030405", line])
    assert caught.value.line == 2
    assert SECRET not in str(caught.value) + repr(caught.value) + repr(caught.value.args)


def test_keys_do_not_show_themselves(tmp_path: Path, key_file: Path) -> None:
    given = decryption_keys.from_file(key_file) + decryption_keys.Keys([f"wpa-pwd:{SECRET}"])
    assert SECRET not in repr(given) + str(given) + str(vars(wl.open(MIXED, keys=given)))
    with pytest.raises(wl.WlanlensError):
        pickle.dumps(given)
    big = tmp_path / "big"
    big.write_bytes(b"#" * (decryption_keys.FILE_BYTES + 1))
    with pytest.raises(wl.WlanlensError, match="key file has at most"):
        decryption_keys.from_file(big)
    assert run(tmp_path, "analyze", MIXED, "--key-file", tmp_path / "none").returncode == 3


def test_decrypts_what_the_key_opens(induction: Path, tmp_path: Path) -> None:
    found = wl.open(induction, keys=["wpa-pwd:Induction:Coherer"])
    assert sum(p == 6 for p in found.table("packets").column("protocol").to_pylist()) == 67
    assert {note.name for note in found.notes} >= {"decrypted"}
    assert (
        wl.align([induction], keys=["wpa-pwd:Induction"]).table("packets").num_rows == found.table("packets").num_rows
    )
    analysis = wl.analyze(induction, out=tmp_path / "out", keys=["wpa-pwd:Induction"])
    assert analysis.trace.table("packets").num_rows == found.table("packets").num_rows
    assert "Induction" not in (tmp_path / "out" / "analysis.json").read_text().replace("wpa-Induction.pcap", "")


def test_a_wrong_key_is_said_aloud(induction: Path, tmp_path: Path) -> None:
    done = run(tmp_path, "analyze", induction, "-o", "out", "--quiet", WLANLENS_KEYS="wpa-pwd:induction:Coherer")
    assert done.returncode == 0
    assert "no frame could be decrypted with the given keys" in done.stderr
    assert "check the passphrase and the network name" in done.stderr
    assert run(tmp_path, "analyze", induction, "-o", "out", "--quiet", WLANLENS_KEYS="Induction").stderr == ""
