"""A stored array is reused while its source is unchanged, and is never half loaded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("tiledb")

from arraykit import Row, random_rows, run, trial, write
from cuesta import removal
from cuesta.engines.array import keep
from cuesta.engines.array.load import load
from cuesta.engines.array.loaders import Loaders
from cuesta.engines.array.store import Facts
from cuesta.engines.array.writer import LoadRequest
from cuesta.errors import InputError
from cuesta.trial import Outcome


def scan(path: str, folder: Path, score_index: int = 0) -> Outcome:
    shutil.rmtree(folder / "array", ignore_errors=True)
    options = {"array": str(folder / "kept"), "master": "local[2]"}
    job = trial("scan", [path], {"score_index": score_index}, engine_options=options)
    return run(job, folder)


def arrays(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "kept").iterdir() if path.name[0] != ".")


def test_a_second_run_uses_the_array_of_the_first(tmp_path: Path) -> None:
    path = write(tmp_path / "a.b.txt", random_rows(1))
    first, second = scan(path, tmp_path), scan(path, tmp_path)
    assert [phase.name for phase in first.phases] == ["load", "scan"]
    assert [phase.name for phase in second.phases] == ["open", "scan"]
    assert (first.counts["arrays_reused"], second.counts["arrays_reused"]) == (0, 1)
    assert first.counts["rows_kept"] == second.counts["rows_kept"]
    (name,) = arrays(tmp_path)
    assert name.startswith("a-b-txt-")


def test_the_same_file_by_another_path_is_the_same_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan(write(tmp_path / "a.txt", random_rows(1)), tmp_path)
    monkeypatch.chdir(tmp_path)
    assert scan("a.txt", tmp_path).counts["arrays_reused"] == 1


def test_each_version_of_a_join_has_a_separate_array(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.txt", random_rows(1)) for name in "ab"]
    options = {"array": str(tmp_path / "kept")}
    run(trial("join", paths, {}, engine_options=options), tmp_path)
    assert len(arrays(tmp_path)) == 2
    outcome = scan(paths[1], tmp_path)
    assert outcome.counts["arrays_reused"] == 1


def test_a_stored_array_is_refused_once_its_source_has_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", random_rows(1))
    scan(path, tmp_path)
    status = Path(path).stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(InputError, match=r"was loaded before .*a\.txt changed; delete it"):
        scan(path, tmp_path)


def test_a_stored_array_is_refused_for_another_score(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", [Row(gene1=3, gene2=1, score="nan,0.5")])
    scan(path, tmp_path, score_index=1)
    with pytest.raises(InputError, match="was loaded for --score-index 1, this run asks for 0"):
        scan(path, tmp_path, score_index=0)


def test_a_folder_that_is_no_array_of_ours_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", random_rows(1))
    scan(path, tmp_path)
    (place,) = (tmp_path / "kept").glob("a-txt-*")
    shutil.rmtree(place)
    place.mkdir()
    with pytest.raises(InputError, match="is not an array that this version"):
        scan(path, tmp_path)


def test_a_load_that_fails_leaves_no_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.txt", random_rows(1))

    def stop(order: LoadRequest, place: Path, loaders: Loaders | None) -> Facts:
        load(order, place, loaders)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(keep, "load", stop)
        with pytest.raises(KeyboardInterrupt):
            scan(path, tmp_path)
    assert arrays(tmp_path) == []
    assert scan(path, tmp_path).counts["arrays_reused"] == 0


def test_what_a_killed_load_left_is_replaced(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", random_rows(1))
    scan(path, tmp_path)
    (place,) = (tmp_path / "kept").glob("a-txt-*")
    unfinished = place.with_name(f".{place.name}.loading")
    removal.make_marked(unfinished)
    place.rename(unfinished / "array")
    assert scan(path, tmp_path).counts["arrays_reused"] == 0
    assert not unfinished.exists()
