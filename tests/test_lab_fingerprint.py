"""Records know the content of their inputs: a replaced input is no wrong answer."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuesta.cli.app import call
from cuesta.errors import InputError
from cuesta.lab import fingerprint
from cuesta.lab.run import run_trial
from cuesta.trial import Trial
from labkit import CopyEngine, plan, scan_trial


def fingerprints(out: Path) -> list[dict[str, Any]]:
    record = json.loads((out / "run.json").read_text())
    return [row["fingerprint"] for row in record["inputs"]]


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.splitlines()[-1]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.txt"
    words = "data make clusters --genes 60 --samples 20 --pairs 1500 --seed 3 -o"
    assert call([*words.split(), str(path)]) == 0
    return path


def scanned(pairs: Path, out: Path, *words: str) -> Path:
    scan = ["run", "scan", str(pairs), "--min-abs-score", "0.2", *words]
    assert call([*scan, "-o", str(out)]) == 0
    return out


def test_a_replaced_input_is_no_wrong_answer(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records stored the size of inputs alone, so a replaced input of the same size was not
    detected, and `cuesta verify` reported a wrong answer. Now it reports the changed input.
    """
    out = scanned(pairs, tmp_path / "out")
    bytes_before = pairs.read_bytes()
    at = bytes_before.index(b"1", len(bytes_before) // 2)
    pairs.write_bytes(bytes_before[:at] + b"2" + bytes_before[at + 1 :])
    capsys.readouterr()
    assert call(["verify", str(out)]) == 2
    message = last_line(capsys)
    assert f"{pairs}: the input changed; its content has the fingerprint" in message
    # An unreadable input is reported in the same way.
    pairs.write_bytes(b"x" * len(bytes_before))
    assert call(["verify", str(out)]) == 2
    assert f"{pairs}: the input changed" in last_line(capsys)
    pairs.write_bytes(bytes_before)
    assert call(["verify", str(out)]) == 0


def test_a_wrong_answer_is_still_called_wrong(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = scanned(pairs, tmp_path / "out")
    text = (out / "pairs.txt").read_text()
    at = text.index("1", len(text) // 2)
    (out / "pairs.txt").write_text(text[:at] + "2" + text[at + 1 :])
    record = json.loads((out / "run.json").read_text())
    del record["answer"]["files"][0]["blake3"], record["verification"]["level"]
    (out / "run.json").write_text(json.dumps(record))
    capsys.readouterr()
    assert call(["verify", str(out)]) == 1
    assert "the input changed" not in last_line(capsys)


def test_the_fingerprint_is_of_the_content_whatever_read_it(pairs: Path, tmp_path: Path) -> None:
    marks = fingerprints(scanned(pairs, tmp_path / "one", "--threads", "1"))
    assert marks[0]["kind"] == fingerprint.WHOLE
    assert marks[0]["bytes"] == pairs.stat().st_size
    second_record = scanned(pairs, tmp_path / "two", "--threads", "2", "--memory", "64MiB")
    assert fingerprints(second_record) == marks
    assert fingerprint.now(str(pairs)).sum == marks[0]["sum"]
    moved_file = pairs.rename(tmp_path / "moved.txt")
    assert fingerprints(scanned(moved_file, tmp_path / "three")) == marks


@pytest.mark.parametrize("level", ["sample", "none"])
def test_what_was_not_verified_wholly_has_no_fingerprint(
    level: str, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = scanned(pairs, tmp_path / "out", "--verify", level)
    assert fingerprints(out) == [{"kind": "none", "bytes": 0, "files": 0, "sum": None}]
    capsys.readouterr()
    assert call(["verify", str(out)]) == 0
    assert "not proven: that the inputs are those of the run" in capsys.readouterr().out


def test_verify_reports_what_it_did_not_prove(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = scanned(pairs, tmp_path / "out")
    record = json.loads((out / "run.json").read_text())
    record["machine"]["cpu"] = "a faster one"
    (out / "run.json").write_text(json.dumps(record))
    capsys.readouterr()
    assert call(["verify", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("not proven: times, machine, engine")
    assert not any("inputs are those" in line for line in lines)


def make(kind: str, path: Path, *words: str) -> str:
    assert call(["data", "make", kind, *words, "-o", str(path)]) == 0
    return str(path)


def questions(folder: Path, pairs: Path) -> dict[str, list[str]]:
    """Return commands over inputs of all forms that are read completely."""
    packed_file = folder / "packed.txt.gz"
    packed_file.write_bytes(gzip.compress(pairs.read_bytes()))
    np.save(folder / "points.npy", np.random.default_rng(1).normal(size=(500, 3)))
    reads = make("reads", folder / "reads.fq", "--bases", "3000", "--coverage", "12")
    matrix = make("matrix", folder / "matrix.txt", "--genes", "30", "--samples", "12")
    return {
        "degrees": ["degrees", str(pairs)],
        "gzipped": ["scan", str(packed_file)],
        "join": ["join", str(pairs), str(pairs)],
        "communities": ["communities", str(pairs)],
        "load": ["load", str(pairs)],
        "sort": ["sort", make("tera", folder / "records", "--rows", "3000")],
        "kmeans": ["kmeans", str(folder / "points.npy"), "--clusters", "3"],
        "correlate": ["correlate", matrix],
        "assemble": ["assemble", reads, "-k", "21"],
    }


def test_inputs_of_all_forms_have_a_fingerprint_of_all_their_bytes(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = {}
    for name, words in questions(tmp_path, pairs).items():
        out = tmp_path / f"out-{name}"
        assert call(["run", *words, "-o", str(out)]) == 0, name
        kinds[name] = [entry["kind"] for entry in fingerprints(out)]
        for path, entry in zip(words[1:], fingerprints(out), strict=False):
            assert entry["sum"] == fingerprint.now(path).sum, name
        capsys.readouterr()
        assert call(["verify", str(out)]) == 0, name
        assert "inputs are those" not in capsys.readouterr().out
    assert {kind for group in kinds.values() for kind in group} == {fingerprint.WHOLE}, kinds


def test_a_pair_matrix_has_a_fingerprint_of_what_is_read_of_it(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["run", "load", str(pairs), "-o", str(tmp_path / "loaded")]) == 0
    matrix = tmp_path / "loaded" / "pairs.zarr"
    marks = []
    for threads in ("1", "2"):
        out = tmp_path / f"out-{threads}"
        scan = ["run", "scan", str(matrix), "--min-abs-score", "0.9", "--threads", threads]
        assert call([*scan, "-o", str(out)]) == 0
        marks += fingerprints(out)
        assert call(["verify", str(out), "--threads", "1"]) == 0
    assert marks[0] == marks[1]
    assert marks[0]["sum"]
    shards = (shard for shard in matrix.rglob("c/*") if shard.is_file())
    largest = max(shards, key=lambda shard: shard.stat().st_size)
    intact = largest.read_bytes()
    largest.write_bytes(intact[:40] + bytes([intact[40] ^ 1]) + intact[41:])
    capsys.readouterr()
    assert call(["verify", str(tmp_path / "out-1")]) == 2


def test_an_input_that_changes_while_it_is_read_is_named(tmp_path: Path) -> None:
    def write(trial: Trial, _: Path) -> None:
        Path(trial.inputs[0]).write_text("4\t1\n")

    engine = CopyEngine(before=write)
    with pytest.raises(InputError, match="the input changed while it was read"):
        run_trial(engine, scan_trial(tmp_path), plan(tmp_path))
    assert not (tmp_path / "answer").exists()


def test_a_record_is_signed_by_a_key_of_the_user(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    out = scanned(pairs, tmp_path / "out")
    key, record = tmp_path / "key", out / "run.json"
    make_key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
    sign = ["ssh-keygen", "-Y", "sign", "-n", "cuesta.run", "-f", str(key), str(record)]
    for command in (make_key, sign):
        subprocess.run(command, check=True, capture_output=True)
    assert call(["verify", str(out)]) == 0
    trusted = tmp_path / "trusted"
    trusted.write_text(f"me {key.with_suffix('.pub').read_text()}")
    check = ["ssh-keygen", "-Y", "verify", "-n", "cuesta.run", "-f", str(trusted), "-I", "me"]
    check += ["-s", f"{record}.sig"]
    written = record.read_bytes()
    changed = written.replace(b'"threads": ', b'"threads": 1')
    for text, fits in ((written, True), (changed, False)):
        done = subprocess.run(check, input=text, check=False, capture_output=True)
        assert (done.returncode == 0) == fits
