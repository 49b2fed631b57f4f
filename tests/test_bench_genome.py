"""The bench of assembly compares its unitigs with those of an independent definition."""

from __future__ import annotations

from pathlib import Path

from assemblykit import drawn, turned
from benches.assembly_genome import cut_set
from harness.answers import digest


def comparison_of(folder: Path, *sequences: str) -> str:
    path = folder / "unitigs.fa"
    path.write_text("".join(f">{index}\n{sequence}\n" for index, sequence in enumerate(sequences)))
    return cut_set(path).digest


def test_unitigs_are_cut_where_branches_start(tmp_path: Path) -> None:
    shared = drawn(30, 1)
    left, right = drawn(40, 2), drawn(50, 3)
    passing, ending = left + shared + right, drawn(20, 4) + shared
    pieces = [left + shared, shared + right, ending]
    least = digest(min(piece, turned(piece)).encode() for piece in pieces).digest
    assert comparison_of(tmp_path, passing, ending) == least
    assert comparison_of(tmp_path, turned(passing), ending) == least
    assert comparison_of(tmp_path, *pieces) == least
    assert comparison_of(tmp_path, passing) != least


def test_palindromic_bases_cut(tmp_path: Path) -> None:
    half = drawn(15, 5)
    left, right = drawn(20, 6), drawn(20, 7)
    palindrome = half + turned(half)
    pieces = [left + palindrome, palindrome + right]
    assert comparison_of(tmp_path, left + palindrome + right) == comparison_of(tmp_path, *pieces)
