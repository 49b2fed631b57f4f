"""A pair matrix opens in xarray, by its specification, with the rows of the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("xarray")
pytest.importorskip("zarr")

from cuesta.cli.app import call
from labkit import ROOT

TEXT = ROOT / "spec" / "cases" / "clusters-a.txt"
SPEC = ROOT / "spec" / "formats" / "pair-matrix.md"


def test_the_lines_of_the_specification_find_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call(["run", "load", str(TEXT), "-o", str(tmp_path / "loaded")]) == 0
    monkeypatch.chdir(tmp_path / "loaded")
    namespace: dict[str, Any] = {}
    exec(SPEC.read_text("utf-8").split("```python\n")[1].split("```")[0], namespace)
    rows = [line.split("\t") for line in TEXT.read_text().splitlines() if not line.startswith("#")]
    strong = {
        (int(row[0]), int(row[1])): (float(row[9]), row[10])
        for row in rows
        if row[2] == "1" and abs(float(row[9])) >= 0.9
    }
    genes = zip(namespace["x"] + 1, namespace["y"] + 1, strict=True)
    scores = namespace["pairs"].score.values[namespace["strong"]]
    samples = len(rows[0][10])
    masks = ["".join(map(str, row[:samples])) for row in np.asarray(namespace["symbols"])]
    assert len(strong) > 3
    assert dict(zip(genes, zip(scores, masks, strict=True), strict=True)) == {
        place: (pytest.approx(score, abs=1e-9), mask) for place, (score, mask) in strong.items()
    }
