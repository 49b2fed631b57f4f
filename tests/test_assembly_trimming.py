"""Trimmed reads on the terminal and the page, and the remark on adapters that remain."""

from __future__ import annotations

import json
from pathlib import Path

from cuesta import numerals
from cuesta.workloads.assembly import remarks, trimming
from cuesta.workloads.assembly.files import Files

COUNTS = {
    "reads": 2000,
    "letters": 200_000,
    "adapters": {"reads": 190, "letters": 5900},
    "kits": [150, 0, 30],
    "poly_g": {"reads": 0, "letters": 0},
    "quality": {"reads": 4, "letters": 100},
    "emptied": 1,
}


def answer(folder: Path, counts: object) -> Files:
    level = {"k": 31} if counts is None else {"k": 31, "trimmed": counts}
    (folder / "stats.json").write_text(json.dumps({"levels": [level]}))
    return Files(folder, 8)


def test_trimmed_reads_are_counted_by_the_reason(tmp_path: Path) -> None:
    files = answer(tmp_path, COUNTS)
    assert trimming.text(files) == (
        "adapters off 190 (TruSeq and MGI), tails of low quality off 4 of 2,000 reads, "
        "3% of their bases"
    ).replace("3%", numerals.percent(0.03))
    (view,) = trimming.views(files)
    assert view["rows"] == [
        ["adapters", 190, 5900],
        ["tails of G", 0, 0],
        ["tails of low quality", 4, 100],
    ]
    assert "150 begin as those of TruSeq and 30 begin as those of MGI" in str(view["note"])
    assert "Nothing remains of 1" in str(view["note"])


def test_a_kit_of_less_than_a_hundredth_of_the_cut_reads_is_not_named(tmp_path: Path) -> None:
    for reads, kits in [(1, "TruSeq"), (2, "TruSeq and MGI")]:
        counts = {**COUNTS, "kits": [150, 0, reads]}
        assert f"adapters off 190 ({kits})," in trimming.text(answer(tmp_path, counts))
        (view,) = trimming.views(answer(tmp_path, counts))
        assert (f"{reads} begin as those of MGI" in str(view["note"])) is (reads == 2)


def test_trimming_is_the_reason_where_most_bases_were_cut_off(
    tmp_path: Path,
) -> None:
    for letters, reason in [(99_000, "all paths look like errors"), (100_000, "--trim none takes")]:
        counts = {**COUNTS, "adapters": {"reads": 1900, "letters": letters - 100}}
        level = {"k": 15, "min_count": 2, "distinct": 9, "solid": 9, "trimmed": counts}
        (tmp_path / "stats.json").write_text(json.dumps({"contigs": 0, "levels": [level]}))
        (tmp_path / "graph.gfa").write_text("H\tVN:Z:1.2\n")
        assert reason in remarks.reason(tmp_path)


def test_untouched_reads_are_counted_and_untrimmed_reads_are_not_mentioned(tmp_path: Path) -> None:
    none = {"reads": 0, "letters": 0}
    clean = {**COUNTS, "adapters": none, "quality": none, "kits": [0, 0, 0], "emptied": 0}
    assert trimming.text(answer(tmp_path, clean)) == "nothing off 2,000 reads"
    assert trimming.text(answer(tmp_path, None)) == ""
    assert trimming.views(answer(tmp_path, None)) == []


def test_adapters_that_remain_are_a_remark_from_0_1_percent_on() -> None:
    def remark(count: int, reads: int = 6000) -> list[str]:
        counts = {"first_reads": reads, "first_reads_with_adapters": count}
        return list(trimming.uncut(counts, "default"))

    assert remark(5) == []
    assert remark(2, 10) == []
    assert list(trimming.uncut({}, "default")) == []
    (text,) = remark(600)
    assert text.startswith("600 of the first 6,000 reads run into an adapter, ")
    assert text.endswith("leave --trim none out")
    (text,) = trimming.uncut({"first_reads": 2000, "first_reads_with_adapters": 190}, "paper")
    assert text.endswith("trim the reads before")
