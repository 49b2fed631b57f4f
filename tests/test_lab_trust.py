"""A record, a comparison or an answer from elsewhere is data: it starts nothing.

Each hostile file names something that would leave a mark (a canary) if it were obeyed.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import cuesta
from cuesta.cli.app import call
from cuesta.errors import InputError

ENGINES = ("native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array")


class Canary:
    """A server and a file that reveal obedience to a hostile record: a connection, or the file
    itself.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / "canary"
        self.requests: list[str] = []
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(self.path)
                self.send_response(404)
                self.end_headers()

            do_HEAD = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.uri = f"http://127.0.0.1:{self.server.server_address[1]}/pairs.txt"

    @property
    def engine_options(self) -> dict[str, str]:
        """Return options that would run code, in the words of each engine."""
        script = self.file.with_name("python")
        script.write_text(f"#!/bin/sh\ntouch {self.file}\n")
        script.chmod(0o755)
        java = f"-XX:OnError='touch {self.file}' -Xlog:gc:file={self.file}"
        return {
            "python": str(script),
            "spark.driver.extraJavaOptions": java,
            "spark.jars": self.uri,
            "spark.plugins": "evil.Plugin",
            "master": f"spark://127.0.0.1:{self.server.server_address[1]}",
        }

    @property
    def fired(self) -> bool:
        """Return whether any of it was obeyed."""
        return bool(self.requests) or self.file.exists()


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    a_canary = Canary(tmp_path)
    yield a_canary
    a_canary.server.shutdown()
    a_canary.server.server_close()


@pytest.fixture(scope="module")
def scanned_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with `pairs.txt` and the answer folder `out` of a scan of it."""
    folder = tmp_path_factory.mktemp("made")
    words = "data make clusters --genes 60 --samples 20 --pairs 1500 --seed 3 -o"
    assert call([*words.split(), str(folder / "pairs.txt")]) == 0
    scan = ["run", "scan", str(folder / "pairs.txt"), "--min-abs-score", "0.2"]
    assert call([*scan, "-o", str(folder / "out")]) == 0
    return folder


@pytest.fixture
def out(scanned_folder: Path, tmp_path: Path) -> Path:
    """Copy of the answer folder that a test may change."""
    shutil.copytree(scanned_folder / "out", tmp_path / "out")
    return tmp_path / "out"


def change(out: Path, how: Callable[[dict[str, Any]], object]) -> None:
    fields = json.loads((out / "run.json").read_text())
    how(fields)
    (out / "run.json").write_text(json.dumps(fields))


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("engine", ENGINES)
def test_no_option_of_a_record_reaches_an_engine(
    engine: str, out: Path, canary: Canary, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sender of a record could run code on the verifier's machine: `verify` started the engine
    of run.json with its options (a jar, a plugin, words for Java, an interpreter), and fetched its
    inputs with the verifier's credentials. Now no option of a record reaches an engine.
    """

    def hostile(fields: dict[str, Any]) -> None:
        fields["engine"] = engine
        fields["engine_options"] = canary.engine_options
        fields["inputs"][0]["path"] = canary.uri

    change(out, hostile)
    assert call(["verify", str(out)]) == 2
    text = last_line(capsys)
    assert canary.uri in text
    assert "--fetch-inputs" in text
    assert "credentials" in text
    assert not canary.fired


def test_options_of_a_record_with_local_inputs_are_not_passed_on(out: Path, canary: Canary) -> None:
    change(out, lambda fields: fields.update(engine="spark", engine_options=canary.engine_options))
    assert call(["verify", str(out)]) == 0
    assert not canary.fired


def test_a_person_may_have_remote_inputs_fetched_yet_without_options_of_the_record(
    scanned_folder: Path, out: Path, canary: Canary, capsys: pytest.CaptureFixture[str]
) -> None:
    def moved(fields: dict[str, Any]) -> None:
        fields["engine"], fields["engine_options"] = "spark", canary.engine_options
        fields["inputs"][0]["path"] = f"local://{scanned_folder}/pairs.txt"

    change(out, moved)
    assert call(["verify", str(out)]) == 2
    assert call(["verify", str(out), "--fetch-inputs"]) == 0
    assert not canary.fired
    change(out, lambda fields: fields["inputs"][0].update(path=canary.uri))
    assert call(["verify", str(out), "--fetch-inputs"]) in (2, 3)
    assert not canary.file.exists()
    capsys.readouterr()


def test_names_and_parameters_of_a_record_are_not_fetched(
    out: Path, canary: Canary, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"path": canary.uri, "genes": 60, "sha256": "0" * 64}
    change(out, lambda fields: fields.update(names=names))
    assert call(["verify", str(out)]) == 2
    assert "--fetch-inputs" in last_line(capsys)
    assert not canary.fired


def test_an_input_that_is_a_device_or_a_pipe_is_not_opened(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(out, lambda fields: fields["inputs"][0].update(path="/dev/zero", bytes=0))
    assert call(["verify", str(out)]) == 2
    assert "/dev/zero: is neither a file nor a folder" in last_line(capsys)


BROKEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "no-answer": lambda fields: fields.pop("answer"),
    "digest": lambda fields: fields["answer"].update(digest=3),
    "files": lambda fields: fields["answer"].update(files=[{"name": 3}]),
    "counts": lambda fields: fields["answer"].update(counts={"rows": "many"}),
    "inputs": lambda fields: fields.update(inputs=[{"path": 3, "bytes": "x"}]),
    "threads": lambda fields: fields.update(threads="all", seed="x"),
    "names": lambda fields: fields.update(names="genes.tsv"),
    "engine": lambda fields: fields.update(engine=["spark"]),
    "workload": lambda fields: fields.update(workload={"a": 1}),
    "seed": lambda fields: fields.update(seed=-1),
    "number": lambda fields: fields["parameters"].update(min_abs_score="x"),
    "not-a-number": lambda fields: fields["parameters"].update(min_abs_score=float("nan")),
}


@pytest.mark.parametrize("how", list(BROKEN.values()), ids=list(BROKEN))
def test_a_record_with_missing_parts_is_refused_in_a_line(
    how: Callable[[dict[str, Any]], object], out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(out, how)
    assert call(["verify", str(out)]) == 2
    assert last_line(capsys).startswith("cuesta: ")


def _pipe(file: Path) -> None:
    os.mkfifo(file)


def _device(file: Path) -> None:
    file.symlink_to("/dev/zero")


@pytest.mark.parametrize("place", [_pipe, _device])
@pytest.mark.parametrize("name", ["pairs.txt", "run.json", "assessment.json", "report.html"])
def test_a_pipe_or_a_device_in_an_answer_is_refused(
    name: str, place: Callable[[Path], None], out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe in a folder from elsewhere made `verify` block, a device filled the memory. Now both
    are refused.
    """
    (out / name).unlink(missing_ok=True)
    place(out / name)
    assert call(["verify", str(out)]) == 2
    assert name in last_line(capsys)
    for command in (["explain", str(out)], ["report", str(out), "-o", str(out) + ".html"]):
        assert call(command) in (0, 2)
    if name == "pairs.txt":
        with pytest.raises(InputError):
            cuesta.Answer(out).table()


def test_a_link_in_an_answer_does_not_verify(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`verify` followed links out of the answer folder, and reported their targets as unchanged.
    Now a link does not verify.
    """
    (out / "pairs.txt").rename(tmp_path / "elsewhere.txt")
    (out / "pairs.txt").symlink_to(tmp_path / "elsewhere.txt")
    assert call(["verify", str(out)]) == 2
    assert "pairs.txt: is a symbolic link" in last_line(capsys)


def test_a_name_cannot_pretend_to_be_a_line_of_output(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name of a folder held a line break and the words of a verification."""
    folder = tmp_path / "sent\nthesis: verified\x1b[32m"
    out.rename(folder)
    assert call(["verify", str(folder)]) == 0
    assert "\nthesis" not in capsys.readouterr().out
    assert call(["run", "scan", str(folder / "none"), "-o", str(tmp_path / "a\nb")]) == 2
    assert "line break" in last_line(capsys)
    (folder / "pairs.txt").write_text("")
    assert call(["verify", str(folder)]) == 1
    printed = capsys.readouterr().err
    assert "\nthesis" not in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize("name", ["../secret.tsv", "/etc/passwd", "a/../../secret.tsv", "link.tsv"])
def test_reading_a_result_never_leaves_its_folder(name: str, out: Path, tmp_path: Path) -> None:
    """A record that named a file by a path had that file read as a part of the answer. Now reads
    remain in the folder.
    """
    (tmp_path / "secret.tsv").write_text("gene\tname\n1\tsecret\n")
    (out / "link.tsv").symlink_to(tmp_path / "secret.tsv")
    change(out, lambda fields: fields["answer"].update(files=[{"name": name, "bytes": 1}]))
    answer = cuesta.Answer(out)
    for read in (lambda: answer.files, lambda: answer.tables, answer.table):
        with pytest.raises(InputError, match="not in its folder; trust none of it"):
            read()


def test_a_comparison_names_no_record_outside_of_its_folder(out: Path, tmp_path: Path) -> None:
    folder = tmp_path / "compared"
    folder.mkdir()
    digests = {"../out": "0"}
    comparison = {
        "schema": "cuesta.compare/1",
        "engines": ["../out"],
        "records": {"native": "../out/run.json"},
        "digests": digests,
    }
    (folder / "compare.json").write_text(json.dumps(comparison))
    with pytest.raises(InputError, match="not in its folder; trust none of it"):
        _ = cuesta.Comparison(folder).answers
    assert call(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 2


ESCAPES = "\x1b]0;renamed\x07\x1b[2Jcleared\x9b2J\u202egnp.exe\r"


def test_no_word_of_a_record_does_something_to_a_terminal(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names in a record cleared the screen, or renamed the window, of its reader. Now none does."""

    def hostile(fields: dict[str, Any]) -> None:
        fields["engine"] = fields["workload"] = fields["inputs"][0]["path"] = ESCAPES
        fields["answer"]["files"] = [{"name": ESCAPES, "bytes": 1}]
        fields["machine"]["cpu"] = fields["command"][0] = ESCAPES
        fields["phases"][0]["name"] = fields["started"] = ESCAPES

    change(out, hostile)
    for command in ("explain", "verify"):
        call([command, str(out)])
    change(out, lambda fields: fields.update(workload="scan", engine="native"))
    for command in ("explain", "verify"):
        call([command, str(out)])
    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert not set(text) & set("\x1b\x07\x9b\u202e\r")


def test_a_page_of_hostile_words_shows_them_as_words(out: Path, tmp_path: Path) -> None:
    bad = "</title></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'"

    def hostile(value: Any) -> Any:
        """Return a value with all texts, and all names of free tables, made hostile."""
        if isinstance(value, dict):
            return {name: hostile(item) for name, item in value.items()}
        if isinstance(value, list):
            return [hostile(item) for item in value]
        return bad if isinstance(value, str) else value

    fields = json.loads((out / "run.json").read_text())
    hostile_fields = hostile(fields)
    hostile_fields |= {"schema": fields["schema"], "workload": "scan"}
    hostile_fields["answer"]["counts"][bad] = 3
    hostile_fields["machine"][bad] = hostile_fields["versions"][bad] = hostile_fields["parameters"][
        bad
    ] = bad
    hostile_fields["engine_options"][bad] = bad
    (out / "run.json").write_text(json.dumps(hostile_fields))
    page = tmp_path / "page.html"
    assert call(["report", str(out), "-o", str(page)]) == 0
    text = page.read_text()
    assert "<script" not in text
    assert "<img" not in text
    assert "alert(1)" in text  # The words are shown, as words.
    assert "script-src" not in text
    assert "default-src 'none'" in text
