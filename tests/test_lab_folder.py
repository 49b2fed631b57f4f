"""An answer folder that exists is complete, whatever fails on the way."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path

import pytest

from adversarykit import listing
from cuesta import machine, processes
from cuesta.errors import InputError
from cuesta.lab import leftovers
from cuesta.lab.folder import AnswerFolder
from labkit import answer, names


def write(folder: AnswerFolder, text: str = "new", error: BaseException | None = None) -> None:
    (folder.answer / "run.json").write_text(text)
    (folder.scratch / "spill").write_text("x")
    if error is not None:
        raise error


def test_a_finished_answer_has_its_name_and_nothing_else_is_left(tmp_path: Path) -> None:
    with AnswerFolder(tmp_path / "out", overwrite=False) as folder:
        write(folder)
        assert not (tmp_path / "out").exists()
        folder.finish()
    assert names(tmp_path) == {"out"}
    assert names(tmp_path / "out") == {"run.json"}


def test_missing_parents_are_made(tmp_path: Path) -> None:
    with AnswerFolder(tmp_path / "a" / "b" / "out", overwrite=False) as folder:
        write(folder)
        folder.finish()
    assert (tmp_path / "a" / "b" / "out" / "run.json").exists()


@pytest.mark.parametrize("kind", [KeyboardInterrupt, InputError, ValueError])
def test_a_failed_run_leaves_nothing(tmp_path: Path, kind: type[BaseException]) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    folder = AnswerFolder(tmp_path / "out", overwrite=False, scratch=scratch)
    with pytest.raises(kind), folder:
        write(folder, error=kind())
    assert names(tmp_path) == {"scratch"}
    assert names(scratch) == set()


def test_the_full_disk_is_that_of_scratch_where_scratch_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk of --scratch was reported as one of the output, as the error names no file. Now
    the place with less free space is named.
    """
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for full, place in ((scratch, f"--scratch {scratch}: "), (tmp_path, f"{tmp_path / 'out'}: ")):
        monkeypatch.setattr(machine, "free_bytes", lambda path, full=full: path != full)
        error = OSError(errno.ENOSPC, "No space left on device")
        folder = AnswerFolder(tmp_path / "out", overwrite=False, scratch=scratch)
        with pytest.raises(InputError, match=rf"^{place}the disk is full"), folder:
            write(folder, error=error)


def test_an_error_names_places_of_the_user_and_no_temporary_files(tmp_path: Path) -> None:
    """Messages named files that were removed when the message appeared. Now they name the output
    and the folder for scratch.
    """
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def fail(folder: AnswerFolder) -> None:
        text = f"writing {folder.scratch}/3.run failed: no space; see {folder.answer}/a.txt"
        raise InputError(text)

    for given, place in ((scratch, scratch), (None, tmp_path)):
        folder = AnswerFolder(tmp_path / "out", overwrite=False, scratch=given)
        with pytest.raises(InputError) as raised, folder:
            fail(folder)
        expected = f"writing temporary files in {place} failed: no space; see {tmp_path}/out/a.txt"
        assert str(raised.value) == expected


def test_until_it_is_finished_an_answer_has_a_temporary_name(tmp_path: Path) -> None:
    with AnswerFolder(tmp_path / "out", overwrite=False) as folder:
        write(folder)
        assert names(tmp_path) == {f"out.partial-{os.getpid()}"}
        assert not (tmp_path / f"out.partial-{os.getpid()}" / "run.json").exists()


def test_a_retained_answer_remains_under_its_temporary_name_without_scratch(tmp_path: Path) -> None:
    with AnswerFolder(tmp_path / "out", overwrite=False) as folder:
        write(folder)
        partial = folder.keep()
    assert (partial / "run.json").read_text() == "new"
    assert names(tmp_path) == {f"out.partial-{os.getpid()}"}
    assert names(partial.parent) == {"answer"}


def test_an_existing_answer_is_replaced_only_on_request(tmp_path: Path) -> None:
    old = answer(tmp_path / "out", {"stale.txt": b"old"})
    with pytest.raises(InputError, match="exists already"), AnswerFolder(old, overwrite=False):
        pass
    assert (old / "stale.txt").read_text() == "old"
    with AnswerFolder(old, overwrite=True) as folder:
        write(folder)
        folder.finish()
    assert names(tmp_path) == {"out"}
    assert names(old) == {"run.json"}
    assert (old / "run.json").read_text() == "new"


def test_an_answer_of_the_owner_alone_remains_private_when_it_is_replaced(tmp_path: Path) -> None:
    old = answer(tmp_path / "out", {"stale.txt": b"old"})
    old.chmod(0o700)
    with AnswerFolder(old, overwrite=True) as folder:
        write(folder)
        folder.finish()
    assert old.stat().st_mode & 0o777 == 0o700


def test_a_failed_replacement_keeps_the_old_answer(tmp_path: Path) -> None:
    old = answer(tmp_path / "out", {"pairs.txt": b"old"})
    before = listing(old)
    with pytest.raises(RuntimeError), AnswerFolder(old, overwrite=True) as folder:
        write(folder, error=RuntimeError())
    assert listing(old) == before


def test_overwrite_does_not_replace_a_folder_that_is_no_answer(tmp_path: Path) -> None:
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter-1.tex").write_text("all of it")
    with pytest.raises(InputError, match="not an answer folder"):
        AnswerFolder(precious, overwrite=True).__enter__()
    with pytest.raises(InputError, match="not an answer folder"):
        AnswerFolder(precious / "chapter-1.tex", overwrite=True).__enter__()
    assert (precious / "chapter-1.tex").read_text() == "all of it"


def test_an_output_under_a_file_is_refused_in_a_single_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a directory"):
        AnswerFolder(tmp_path / "file" / "out", overwrite=False).__enter__()
    assert names(tmp_path) == {"file"}


def test_a_full_disk_is_named_as_such(tmp_path: Path) -> None:
    folder = AnswerFolder(tmp_path / "out", overwrite=False)
    with pytest.raises(InputError, match=r"pairs\.txt: the disk is full"), folder:
        raise OSError(errno.ENOSPC, "No space left on device", "pairs.txt")
    assert names(tmp_path) == set()


def test_a_leftover_of_a_run_of_the_same_number_remains_and_blocks_no_run(
    tmp_path: Path,
) -> None:
    """In containers all processes may have the same number. A retained wrong answer, or a killed
    run of another machine, blocked all later runs. Now its folder remains and blocks no run.
    """
    scratch = tmp_path / "scratch"
    places = [
        tmp_path / f"out.partial-{os.getpid()}",
        tmp_path / f"out.replaced-{os.getpid()}.2",
        scratch / f"cuesta-scratch.partial-{os.getpid()}.3",
    ]
    for place in places:
        place.mkdir(parents=True)
        (place / "theirs").write_text("here")
    with AnswerFolder(tmp_path / "out", overwrite=False, scratch=scratch) as folder:
        write(folder)
        assert folder.answer.parent.name == f"out.partial-{os.getpid()}.4"
        folder.finish()
    assert names(tmp_path / "out") == {"run.json"}
    assert all((place / "theirs").read_text() == "here" for place in places)
    assert names(tmp_path) == {"out", "scratch", places[0].name, places[1].name}
    assert names(scratch) == {places[2].name}


def test_a_folder_of_a_living_run_of_the_same_number_blocks(tmp_path: Path) -> None:
    folder = AnswerFolder(tmp_path / "out", overwrite=False)
    other = folder.answer.parent
    other.mkdir()
    lock = leftovers.hold(other, other)
    with pytest.raises(InputError, match="is of another run, which has not ended"), folder:
        pass
    os.close(lock)
    with folder:
        write(folder)
        folder.finish()
    assert names(tmp_path) == {"out", other.name}


def test_where_locks_fail_the_process_shows_whether_a_run_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lockless(*_: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", lockless)
    folder = AnswerFolder(tmp_path / "out", overwrite=False)
    other = folder.answer.parent
    other.mkdir()
    os.close(leftovers.hold(other, other))
    lock = other / "lock"
    facts = json.loads(lock.read_text())
    assert facts["process"] == processes.identity(os.getpid())
    elsewhere = ({"boot": "another"}, {"numbers": "pid:[1]"}, {"process": ""})
    for more in ({}, *elsewhere):
        lock.write_text(json.dumps(facts | more))
        assert list(leftovers.sweep(tmp_path / "out")) == []
        with pytest.raises(InputError, match="has not ended"), folder:
            pass
    # Another process with that number, started later.
    lock.write_text(json.dumps(facts | {"process": f"{os.getpid()}:1"}))
    with folder:
        assert folder.answer.parent.name == f"{other.name}.2"
    assert len(list(leftovers.sweep(tmp_path / "out"))) == 1
    assert names(tmp_path) == set()


def test_an_answer_that_came_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with AnswerFolder(output, overwrite=False) as folder:
        (folder.answer / "run.json").write_text("ours")
        output.mkdir()
        (output / "run.json").write_text("theirs")
        with pytest.raises(InputError, match=r"out exists already; .*; this answer is in "):
            folder.finish()
    assert (output / "run.json").read_text() == "theirs"
    assert (folder.answer / "run.json").read_text() == "ours"
