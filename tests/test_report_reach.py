"""The page of a study of commands says up to which size one machine is enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import studypagekit as kit
from cuesta.cli.app import call
from test_advise_page import plain

MEMORY_BYTES = 16e9


def study(programs: dict[str, tuple[float, float]], **changes: Any) -> dict[str, Any]:
    """Return a study whose programs take so many seconds and bytes for each of a million rows."""
    sizes = kit.factor("size", "rows", [("1 million", 1e6), ("4 million", 4e6)])
    tools = kit.factor("tool", "program", [(name, None) for name in programs])
    cells = [
        kit.cell(
            {"size": level["name"], "tool": name},
            {
                "wall": kit.samples(0.5 + seconds * level["value"] / 1e6, 7, 0.0),
                "peak": kit.samples(5e7 + memory * level["value"] / 1e6, 7, 0.0),
            },
        )
        for level in sizes["levels"]
        for name, (seconds, memory) in programs.items()
    ]
    levels = [{"name": level["name"], "inputs": ["a"]} for level in sizes["levels"]]
    described = {"settings": {"command": "x"}, "factor": [{"name": "size", "levels": levels}]}
    made = kit.result([sizes, tools], cells, file=described)
    made["machine"] = {**made["machine"], "memory_bytes": MEMORY_BYTES}
    return made | changes


def page(folder: Path, made: dict[str, Any]) -> str:
    kit.write(folder, made)
    output = folder / "page.html"
    assert call(["report", str(folder), "-o", str(output)]) == 0
    return plain(output.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("programs", "text"),
    [
        ({"fast": (9.0, 1e6), "slow": (90.0, 1e6)},
         "Not up to about 400 million rows: there fast, which goes furthest, takes an hour."),
        ({"lean": (1.0, 1e8), "hungry": (0.5, 4e8)},
         "Not up to about 140 million rows: there lean, which goes furthest, fills the memory"),
        ({"easy": (0.1, 1e3)},
         "Not up to 400 million rows, 100 times what was run: the program would take 40.5 s."),
    ],
)  # fmt: skip
def test_the_program_with_the_furthest_reach_decides(
    programs: dict[str, tuple[float, float]], text: str, tmp_path: Path
) -> None:
    words = page(tmp_path, study(programs))
    assert "Do you need a cluster for this?" in words
    assert text in words


def test_programs_end_at_time_or_memory(tmp_path: Path) -> None:
    words = page(tmp_path, study({"lean": (1.0, 1e8), "hungry": (0.5, 4e8), "slow": (99.0, 1e3)}))
    # A little less than a tenth of the memory stays free, and 50 MB are the program's own.
    assert "lean 140 million 2 min 24 s memory" in words
    assert "hungry 36 million 18.4 s memory" in words
    assert "slow 36 million 1 h 00 min an hour" in words


def test_pages_without_sizes_or_of_smoke_runs_have_no_answer(tmp_path: Path) -> None:
    programs = {"lean": (1.0, 1e8)}
    without = study(programs)
    without["file"]["factor"][0]["levels"][0].pop("inputs")
    for made in (study(programs, smoke=True), without, study(programs, file={"workload": "scan"})):
        assert "Do you need a cluster" not in page(tmp_path, made)
