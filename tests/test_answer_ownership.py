"""Foreign files survive where Cuesta writes output."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from adversarykit import damage, foreign_tree, listing
from cuesta import generated, markers, removal
from cuesta.data.make import KINDS, make
from cuesta.errors import CuestaError, InputError
from cuesta.lab import compare, leftovers
from cuesta.lab.folder import AnswerFolder
from cuesta.lab.ownership import replaceable
from cuesta_lab.study import inputs as study_inputs
from cuesta_lab.study import run as study_run
from cuesta_lab.study import trials
from labkit import answer, names

TREES = 1000
NAMES = (
    "run.json", "compare.json", "study.json", "assessment.json", "report.html", "pairs.txt",
    "lock", "answer", "scratch", "inputs", "runs", "settings.json", ".cuesta-folder",
    ".cuesta-study", f"out.partial-{os.getpid()}", f"out.replaced-{os.getpid()}", "out.partial-1",
    "out.replaced-1", f"cuesta-scratch.partial-{os.getpid()}", "cuesta-scratch.partial-1",
)  # fmt: skip
"""Names that Cuesta uses itself."""


def write(folder: AnswerFolder) -> None:
    answer(folder.answer, {"pairs.txt": b"new"})


def attempt(work: Callable[[], object]) -> bool:
    """Return whether `work` was not refused."""
    try:
        work()
    except (CuestaError, OSError):
        return False
    return True


def overwrite(output: Path, scratch: Path | None = None) -> None:
    list(leftovers.sweep(output.resolve(), scratch))
    with AnswerFolder(output, overwrite=True, scratch=scratch) as folder:
        write(folder)
        folder.finish()


@pytest.mark.parametrize("part", range(4))
def test_no_run_damages_what_a_stranger_has_in_and_around_its_output(
    tmp_path: Path, part: int
) -> None:
    """`--overwrite` removed any folder with a file `run.json` and all content: a project was lost
    with `-o .`, and a user's notes with their answer. Now only files of the answer are removed.
    """
    for seed in range(part, TREES, 4):
        around = tmp_path / str(seed)
        before = foreign_tree(around, seed, (*NAMES, "out"))
        output = around / "out"
        if seed % 3 == 0 and not os.path.lexists(output):
            answer(output, {"pairs.txt": b"old", "pairs.zarr/0/1": b"chunk"})
            created = listing(around).keys() - before.keys()
            foreign_tree(output, seed, NAMES)
            before = {name: entry for name, entry in listing(around).items() if name not in created}
        scratch = around if seed % 2 else None
        attempt(partial(overwrite, output, scratch))
        assert damage(before, listing(around)) == [], seed
        remove_tree(around)


def test_no_other_output_damages_what_a_stranger_has(tmp_path: Path) -> None:
    (points,) = (kind for kind in KINDS if kind.name == "tera")
    page = f'<meta name="generator" content="{generated.mark("report")}">'
    for seed in range(TREES):
        around = tmp_path / str(seed)
        before = foreign_tree(around, seed, NAMES)
        choose = random.Random(seed)
        paths = [around, *(around / os.fsdecode(name) for name in sorted(before))]
        place = choose.choice([*paths, around / "new"])
        if place.is_dir() and not any(place.iterdir()):
            continue  # An empty folder may be taken over.
        works: list[Callable[[], object]] = [
            partial(make, points, {"rows": 3}, place),
            partial(generated.put, page, place),
            partial(trials.save_record, {"schema": "cuesta.run/1"}, place),
            partial(trials.remove_answer, place),
            partial(removal.remove_marked, place),
            partial(removal.ensure_marked, place),
            partial(study_run._claim, place, ()),
            partial(study_run._clear, place),
            partial(study_inputs._make_room, place, place.with_name("word.json")),
        ]
        attempt(choose.choice(works))
        assert damage(before, listing(around)) == [], seed
        remove_tree(around)


def remove_tree(folder: Path) -> None:
    """Remove the folders of a test, and the target of links of a foreign tree."""
    for place in folder.parent.glob(f"{folder.name}*"):
        shutil.rmtree(place)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema": "other/1"}', '{"schema": 3}'])
@pytest.mark.parametrize("name", ["run.json", "compare.json"])
def test_a_record_of_another_program_makes_no_answer_folder(
    tmp_path: Path, name: str, text: str
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / name).write_text(text)
    (project / "thesis.tex").write_text("all of it")
    before = listing(project)
    with pytest.raises(InputError, match="not an answer folder"):
        overwrite(project)
    assert listing(project) == before


def test_an_answer_with_notes_in_it_is_refused_by_name(tmp_path: Path) -> None:
    old = answer(tmp_path / "out", {"pairs.txt": b"old"})
    (old / "notes.txt").write_text("read me")
    with pytest.raises(InputError, match=r"out: notes\.txt is not of the answer, so --overwrite"):
        overwrite(old)
    assert names(old) == {"notes.txt", "pairs.txt", "run.json"}


@pytest.mark.parametrize("change", ["content", "size", "inner"])
def test_a_file_of_an_answer_that_a_person_changed_is_refused_by_name(
    tmp_path: Path, change: str
) -> None:
    old = answer(tmp_path / "out", {"pairs.txt": b"old", "pairs.zarr/0/1": b"chunk"})
    file = old / ("pairs.zarr/0/1" if change == "inner" else "pairs.txt")
    facts = file.stat()
    file.write_bytes(b"more than that" if change == "size" else file.read_bytes().upper())
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    before = listing(old)
    with pytest.raises(InputError, match=r"pairs\.(txt|zarr) has changed since the run"):
        overwrite(old)
    assert listing(old) == before


def test_pages_and_assessments_of_cuesta_are_replaced_with_their_answer(tmp_path: Path) -> None:
    old = answer(tmp_path / "out", {"pairs.txt": b"old"})
    mark = generated.mark("assessment")
    generated.put(f'{{"schema": "cuesta.assessment/1", "generator": "{mark}"}}', old / "a.json")
    page = f'<meta name="generator" content="{generated.mark("report")}">'
    generated.put(page, old / "report.html")
    overwrite(old)
    assert names(old) == {"pairs.txt", "run.json"}
    generated.put(page, old / "report.html")
    with (old / "report.html").open("a") as file:
        file.write("<p>My remark.</p>")
    with pytest.raises(InputError, match=r"report\.html is not of the answer"):
        overwrite(old)
    with pytest.raises(InputError, match="was changed since"):
        generated.put(page, old / "report.html")


def test_a_page_does_not_replace_a_file_of_another(tmp_path: Path) -> None:
    precious = tmp_path / "index.html"
    precious.write_text("<p>all of it</p>")
    with pytest.raises(InputError, match="not a file that Cuesta wrote"):
        generated.put(generated.mark("report"), precious)
    link = tmp_path / "link.html"
    link.symlink_to(precious)
    with pytest.raises(InputError, match="not a file that Cuesta wrote"):
        generated.put(generated.mark("report"), link)
    assert precious.read_text() == "<p>all of it</p>"
    assert names(tmp_path) == {"index.html", "link.html"}


def test_an_answer_that_is_half_removed_at_an_interrupt_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of it stayed for ever, and no line named it."""
    answer(tmp_path / "out", {"pairs.txt": b"old", "more.txt": b"old"})
    remove = removal.remove_listed
    olds: list[Path] = []

    def interrupted(old: Path, *arguments: Any) -> list[PurePosixPath]:
        olds.append(old)
        if len(olds) == 1:
            (old / "pairs.txt").unlink()
            raise KeyboardInterrupt
        return remove(old, *arguments)

    monkeypatch.setattr(removal, "remove_listed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        overwrite(tmp_path / "out")
    assert len(olds) == 2
    assert (tmp_path / "out" / "pairs.txt").read_bytes() == b"new"
    assert names(tmp_path) == {"out"}


def test_a_file_that_turns_up_while_an_answer_is_replaced_is_retained_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files in the folder were removed when its name changed. Now foreign files remain."""
    old = answer(tmp_path / "out", {"pairs.txt": b"old"})
    swap = removal.exchange

    def later(path: Path, target: Path) -> bool:
        (target / "notes.txt").write_text("just now")
        (target / "pairs.txt").write_bytes(b"OLD")
        return swap(path, target)

    monkeypatch.setattr(removal, "exchange", later)
    with AnswerFolder(old, overwrite=True) as folder:
        write(folder)
        (sentence,) = folder.finish()
    (replaced,) = tmp_path.glob("out.replaced-*")
    assert sentence == (
        f"{replaced} remains: notes.txt (and 1 more) is not of the answer that was replaced"
    )
    assert names(replaced) == {"notes.txt", "pairs.txt"}
    assert (old / "pairs.txt").read_bytes() == b"new"


def test_an_answer_exists_at_each_moment_of_its_replacement(tmp_path: Path) -> None:
    """Two renames left a moment without any answer, and a reader saw a missing file. Now an answer
    exists at each moment.
    """
    old = answer(tmp_path / "out", {"pairs.txt": b"old"})
    if not can_swap(tmp_path):
        pytest.skip("this file system cannot swap names")
    missing, is_over = [], threading.Event()

    def look() -> None:
        while not is_over.is_set():
            try:
                folder = os.open(old, os.O_RDONLY)
            except FileNotFoundError as error:
                missing.append(error)
            else:
                os.close(folder)

    reader = threading.Thread(target=look)
    reader.start()
    for _ in range(50):
        overwrite(old)
    is_over.set()
    reader.join()
    assert missing == []


def test_where_names_cannot_be_swapped_two_renames_replace_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = answer(tmp_path / "out", {"pairs.txt": b"old"})
    monkeypatch.setattr(removal, "_renameat2", lambda *_: 38)
    overwrite(old)
    assert names(tmp_path) == {"out"}
    assert (old / "pairs.txt").read_bytes() == b"new"


def can_swap(folder: Path) -> bool:
    for name in ("one", "two"):
        (folder / name).touch()
    is_able = removal.exchange(folder / "one", folder / "two")
    for name in ("one", "two"):
        (folder / name).unlink()
    return is_able


def test_a_comparison_is_replaced_but_notes_among_its_answers_are_not(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for engine in ("native", "spark"):
        answer(out / engine, {"pairs.txt": b"old"})
    places = {engine: f"{engine}/run.json" for engine in ("native", "spark", "..", "/tmp")}
    record = {"schema": compare.SCHEMA, "records": places}
    (out / "compare.json").write_text(json.dumps(record))
    (out / "spark" / "notes.txt").write_text("read me")
    with pytest.raises(InputError, match=r"spark/notes\.txt is not of the answer"):
        overwrite(out)
    (out / "spark" / "notes.txt").unlink()
    overwrite(out)
    assert names(out) == {"pairs.txt", "run.json"}


def test_a_removal_follows_no_link_and_enters_no_folder_of_another(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("must stay")
    removed_folder = tmp_path / "made"
    removal.make_marked(removed_folder)
    (removed_folder / "link").symlink_to(outside)
    (removed_folder / "deep").mkdir()
    (removed_folder / "deep" / "file").symlink_to(outside / "precious")
    removal.remove_marked(removed_folder)
    assert names(tmp_path) == {"outside"}
    assert names(outside) == {"precious"}
    (tmp_path / "planted").symlink_to(outside)
    (outside / markers.MARKER).write_text(json.dumps({"schema": markers.SCHEMA, "uid": 0}))
    for work in (removal.remove_marked, removal.remove_made):
        with pytest.raises(OSError, match="planted"):
            work(tmp_path / "planted")
    removal.discard(tmp_path / "planted")
    assert names(outside) == {"precious", markers.MARKER}


def test_of_a_folder_that_was_not_finished_only_what_was_made_is_removed(tmp_path: Path) -> None:
    """An agent that was killed while it made its folder left one with a hidden name."""
    ended = "killed here"

    def end(*_: object) -> None:
        raise KeyboardInterrupt(ended)

    for with_file in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(removal, "discard", end)
            patch.setattr(removal, "put_new" if with_file else "boot", end)
            with pytest.raises(KeyboardInterrupt, match=ended):
                removal.make_marked(tmp_path / "scratch")
    foreign = {
        ".scratch-0123456789abcdef": ("precious",),
        ".scratch-notes": (),
        ".scratches-0123456789abcdef": (),
        "scratch": (),
    }
    for folder, files in foreign.items():
        (tmp_path / folder).mkdir()
        for name in (*files, markers.MARKER):
            (tmp_path / folder / name).write_text("")
    assert len(names(tmp_path)) == len(foreign) + 2
    removal.remove_partial(tmp_path / "scratch")
    assert names(tmp_path) == set(foreign)
    removal.remove_partial(tmp_path / "missing" / "scratch")


def test_a_folder_without_the_marker_of_this_account_is_not_removed(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "precious").write_text("must stay")
    marker = folder / markers.MARKER
    for content in ("", "{}", "[]", json.dumps({"schema": markers.SCHEMA, "uid": 12345})):
        marker.write_text(content)
        with pytest.raises(FileExistsError, match="move it away"):
            removal.remove_marked(folder)
    marker.unlink()
    (tmp_path / "other").write_text(json.dumps({"schema": markers.SCHEMA, "uid": os.geteuid()}))
    for plant in (marker.symlink_to, marker.hardlink_to):
        plant(tmp_path / "other")
        assert not markers.is_marked(folder)
        marker.unlink()
    assert names(folder) == {"precious"}


def test_only_old_files_with_the_requested_names_are_removed(tmp_path: Path) -> None:
    for number, name in enumerate(("aa.jsa", "bb.jsa", "mine.jsa", "cc.jsa")):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (number, number))
    (tmp_path / "dd.jsa").symlink_to("mine.jsa")
    removal.remove_oldest(tmp_path, re.compile(r"[a-d]{2}\.jsa"), 1)
    assert names(tmp_path) == {"mine.jsa", "cc.jsa", "dd.jsa"}


def test_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert replaceable(tmp_path / "out") == {}
    overwrite(tmp_path / "out")
    assert names(tmp_path) == {"out"}
