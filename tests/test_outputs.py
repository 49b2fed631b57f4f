"""Outputs are local places apart from inputs, and each is no more than an output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import cuesta
from adversarykit import listing, needs_root
from cuesta import outputs
from cuesta.cli.app import call
from cuesta.errors import InputError
from cuesta.lab.folder import check_output
from labkit import CopyEngine, answer, names, plan, scan_trial


@pytest.mark.parametrize(
    ("output", "source", "text"),
    [
        ("data/out", "data", "lies in the input"),
        ("data/deep/er/out", "data", "lies in the input"),
        ("link/out", "data", "lies in the input"),
        ("data", "data", "is the input"),
        ("link", "data", "is the input"),
        ("data", "data/a.txt", "contains the input"),
        (".", "data/a.txt", "contains the input"),
        ("link", "data/../data/a.txt", "contains the input"),
    ],
)
def test_an_output_that_touches_an_input_is_refused_before_any_work(
    tmp_path: Path, output: str, source: str, text: str
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("x")
    (tmp_path / "link").symlink_to("data")
    before = listing(tmp_path)
    inputs = [str(tmp_path / "none"), "-", "hdfs://a/b", str(tmp_path / source)]
    with pytest.raises(InputError, match=text):
        check_output(tmp_path / output, overwrite=True, inputs=inputs)
    assert listing(tmp_path) == before


def test_an_output_apart_from_its_inputs_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("x")
    for output in ("out", "data/out", "database"):
        inputs = [str(tmp_path / "data/a.txt")]
        assert check_output(tmp_path / output, overwrite=False, inputs=inputs) == {}


@needs_root
def test_a_second_mount_does_not_hide_that_an_output_is_in_an_input(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "again").mkdir()
    code = "import sys; from cuesta.outputs import *; check_apart(Path(sys.argv[1]), sys.argv[2:])"
    script = 'mount --bind "$1/data" "$1/again" && exec "$0" -c "$2" "$1/again/out" "$1/data"'
    words = ["unshare", "--mount", "sh", "-c", script, sys.executable, str(tmp_path), code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "lies in the input" in done.stderr


def test_the_current_folder_the_home_and_their_parents_are_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    existing = answer(tmp_path / "out", {"pairs.txt": b"old"})
    monkeypatch.chdir(existing)
    for place in (existing, Path(), existing / "../out"):
        with pytest.raises(InputError, match="contains the current folder"):
            check_output(place, overwrite=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(existing))
    with pytest.raises(InputError, match="contains your home folder"):
        check_output(existing, overwrite=True)
    with pytest.raises(InputError, match="contains the current folder"):
        outputs.check_replaceable(Path("/"))
    with pytest.raises(InputError, match="something is mounted"):
        outputs.check_replaceable(Path("/proc"))
    assert names(existing) == {"pairs.txt", "run.json"}


def test_a_run_refuses_scratch_in_its_input(tmp_path: Path) -> None:
    """An engine that reads a folder would have read its own temporary files. Now such a scratch is
    refused.
    """
    from cuesta.lab.run import run_trial

    data = tmp_path / "data"
    (data / "scratch").mkdir(parents=True)
    (data / "a.txt").write_text("x")
    trial = scan_trial(tmp_path, inputs=(str(data),))
    with pytest.raises(InputError, match=r"--scratch .* lies in the input"):
        run_trial(CopyEngine(), trial, plan(tmp_path, scratch=data / "scratch"))


def test_a_path_through_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for option in ("-o", "--resume", "--scratch"):
        with pytest.raises(InputError, match=f"^{option} .*: has links that lead back"):
            outputs.check_links(tmp_path / "loop" / "x", option)
    with pytest.raises(InputError, match="has links that lead back"):
        check_output(tmp_path / "loop" / "x", overwrite=False)


@pytest.mark.parametrize("uri", ["cuesta:///ans", "s3://b/ans", "hdfs://h:1/ans", "file:///x/ans"])
def test_an_output_that_is_a_uri_is_refused_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], uri: str
) -> None:
    """`-o cuesta:///ans` and `-o s3://b/ans` made local folders `cuesta:` and `s3:`. Now an address
    is refused.
    """
    monkeypatch.chdir(tmp_path)
    folder = answer(tmp_path / "folder", {"pairs.txt": b"old"})
    (tmp_path / "a.txt").write_text("1\t2\t1\t1\t5\t0\t0\t0\t0\t0.9\t11111\n")
    (tmp_path / "runs.csv").write_text("workload,engine\n")
    commands = [
        "run scan a.txt -o",
        "compare scan a.txt --engines native -o",
        f"report {folder} -o",
        "study run two-level-scaling --smoke -o",
        "study tune two-level-scaling --smoke -o",
        "data make tera --rows 3 -o",
        "model fit runs.csv -o",
        "model predict model.json runs.csv -o",
        "cluster up -o",
        "cluster submit -o -- doctor",
        "advise assemble --input-size 1GB -o",
    ]
    with pytest.raises(InputError, match="output is written to local paths"):
        cuesta.run("scan", "a.txt", output="s3://b/ans")
    for command in commands:
        before = listing(tmp_path)
        words = command.replace(" -o", f" -o {uri}").split()
        assert call(words) == 2, command
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1, (command, lines)
        assert f"-o {uri}: " in lines[0], (command, lines)
        assert listing(tmp_path) == before, command


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[32m", "a\udce9", "a\u202eb"])
def test_a_name_that_no_terminal_shows_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line break, a control character or bytes") as caught:
        outputs.check_local(tmp_path / name)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["é", "データ\u3000", "a b", "🧬"])
def test_a_name_in_any_script_is_fine(name: str, tmp_path: Path) -> None:
    outputs.check_local(tmp_path / name)


@pytest.mark.parametrize(
    "command",
    [
        "run scan a.txt -o folder/deep/out",
        "report folder -o folder/page.html",
        "data make tera --rows 3 -o link/rows.dat",
    ],
)
def test_an_output_in_an_answer_folder_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    """Output in the folder of another answer was written, and that answer no longer verified. Now
    such a place is refused.
    """
    monkeypatch.chdir(tmp_path)
    folder = answer(tmp_path / "folder", {"pairs.txt": b"old"})
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "a.txt").write_text("1\t2\t1\t1\t5\t0\t0\t0\t0\t0.9\t11111\n")
    before = listing(tmp_path)
    assert call(command.split()) == 2
    assert f"is in the answer folder {folder}" in capsys.readouterr().err
    assert listing(tmp_path) == before


def test_the_report_of_an_answer_may_be_in_its_folder(tmp_path: Path) -> None:
    folder = answer(tmp_path / "folder", {"pairs.txt": b"old"})
    outputs.check_local(folder / "report.html")
    outputs.check_local(folder)


def test_overwriting_is_advised_only_where_it_is_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For a file and for the current folder the message named --overwrite, which was refused as
    well. Now it names only what helps.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis").write_text("x")
    for place in (Path("file"), Path(), Path("full"), Path("link")):
        with pytest.raises(InputError, match=r"exists already; give another --output$"):
            check_output(place, overwrite=False)
    (tmp_path / "empty").mkdir()
    for place in (Path("empty"), answer(tmp_path / "old", {"pairs.txt": b"old"})):
        with pytest.raises(InputError, match=r"give another --output, or --overwrite$"):
            check_output(place, overwrite=False)
    for name, remedy in (("link", "give another -o"), ("file", "another -o, or --overwrite")):
        assert call(["data", "make", "tera", "--rows", "3", "-o", name]) == 2
        assert capsys.readouterr().err.strip().endswith(remedy)
