"""Sampled reads on the terminal and the page."""

from __future__ import annotations

import json
from pathlib import Path

from cuesta.workloads.assembly import sampling
from cuesta.workloads.assembly.files import Files


def answer(folder: Path, counts: object) -> Files:
    level = {"k": 31} if counts is None else {"k": 31, "sampled": counts}
    (folder / "stats.json").write_text(json.dumps({"levels": [level]}))
    return Files(folder, 8)


def test_the_reads_taken_are_named_with_their_depth(tmp_path: Path) -> None:
    deep = {"reads": 20_000, "letters": 3_000_000, "genome": 6_000, "taken": 6_000}
    files = answer(tmp_path, deep)
    assert sampling.text(files) == "6,000 of 20,000 reads: 150x of 500x"
    (view,) = sampling.views(files)
    assert view["rows"] == [
        ["reads", 20_000],
        ["reads taken", 6_000],
        ["letters of all reads", 3_000_000],
        ["bases of the genome, estimated", 6_000],
    ]


def test_reads_that_are_all_taken_have_their_reason(tmp_path: Path) -> None:
    shallow = {"reads": 1_000, "letters": 150_000, "genome": 6_000, "taken": 1_000}
    assert sampling.text(answer(tmp_path, shallow)) == "all 1,000 reads, of depth 25x"
    unknown = shallow | {"genome": 0}
    text = sampling.text(answer(tmp_path, unknown))
    assert text == "all 1,000 reads: their k-mers show no depth"


def test_reads_that_were_not_to_be_sampled_are_not_mentioned(tmp_path: Path) -> None:
    assert sampling.text(answer(tmp_path, None)) == ""
    assert sampling.views(answer(tmp_path, None)) == []
