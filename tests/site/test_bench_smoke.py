"""The benches get equal answers and store their measurements, at a size of seconds."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import check

ROOT = Path(__file__).resolve().parents[2]
THRICE = "three times the reads in 512 MiB"
ASSEMBLERS = ("spades tuned", "spades", "skesa", "shovill", "megahit")
PEERS = ("duckdb", "networkit", "polars", "scipy", "sklearn")

pytestmark = pytest.mark.skipif(
    any(find_spec(peer) is None for peer in PEERS),
    reason="the peers are not installed: pip install 'cuesta[bench]'",
)


@pytest.mark.parametrize(
    ("bench", "case_count"),
    [
        ("as_typed", 14),
        ("scan", 2),
        ("join", 2),
        ("degrees", 2),
        ("components", 3),
        ("correlate", 3),
        ("modules", 2),
        ("modules_large", 1),
        ("leiden", 1),
        ("dataflow", 2),
        ("kmeans", 1),
        ("memory", 6),
        pytest.param("least_memory", 13, marks=pytest.mark.soak),
        ("assembly_scale", 1),
        ("pair_matrix", 3),
        ("sort", 2),
        ("store", 10),
        ("store_misses", 8),
        ("store_working_sets", 14),
        ("store_model", 1),
        ("two_level", 2),
        ("store_life", 4),
        ("store_workloads", 2),
        ("store_peers", 2),
        ("store_remote", 1),
        ("store_hadoop", 3),
        pytest.param("store_spark", 1, marks=pytest.mark.soak),
        ("study_gate", 3),
        ("probe", 2),
        ("promptness", 5),
    ],
)
def test_a_bench_gets_equal_answers_and_records_all_samples(
    tmp_path: Path, bench: str, case_count: int
) -> None:
    record = smoke(tmp_path, bench)
    assert len(record["cases"]) == case_count
    for case in record["cases"]:
        assert len(digests(case)) == 1, case["name"]
        assert all(len(contestant["seconds"]) == 1 for contestant in case["contestants"])


def test_held_out_trials_are_listed_with_their_predictions(tmp_path: Path) -> None:
    (case,) = smoke(tmp_path, "predictions")["cases"]
    names = [contestant["name"] for contestant in case["contestants"]]
    assert any("twice the data" in name for name in names)
    assert any("2 nodes" in name for name in names)
    for contestant in case["contestants"]:
        prediction = contestant["prediction"]
        assert (
            prediction.get("refused")
            or prediction["low_s"] < prediction["predicted_s"] < prediction["high_s"]
        )
        assert len(contestant["seconds"]) == 1
    error, inside, refused = case["bars"]
    assert error["at_most"] == 0.15
    # Times of milliseconds may scatter too much for a model.
    assert refused["times"] == len(names) == inside.get("times", 0) + refused["counted"]


def test_advice_is_requested_before_its_choices_are_run(tmp_path: Path) -> None:
    for case in smoke(tmp_path, "advise_choices")["cases"]:
        assert len(case["contestants"]) >= 3
        assert len(digests(case)) == 1
        first, *rest = case["contestants"]
        predictions = [
            contestant["prediction"].get("predicted_s", float("inf"))
            for contestant in (first, *rest)
        ]
        assert min(predictions) == predictions[0]
        bar = case["bars"][0]
        assert bar["ours"] == first["name"]
        fastest = min(case["contestants"], key=lambda contestant: float(contestant["seconds"][0]))
        assert bar["theirs"] == fastest["name"]


def test_assemblies_are_the_same_bytes_and_their_stages_are_listed_with_a_floor(
    tmp_path: Path,
) -> None:
    record = smoke(tmp_path, "assembly")
    cases = {case["name"].rpartition(",")[0]: case for case in record["cases"]}
    # The contigs differ from those of other assemblers.
    judged = {name for name, case in cases.items() if len(digests(case)) == 1}
    assert set(cases) - judged == {"contigs, k = 31", "contigs, k chosen, single reads"}
    assert len(cases["identical files, k = 31"]["contestants"]) >= 7
    stages, floor = cases["engines, k = 31"]["notes"][:2]
    assert re.search(r"partition [0-9.]+ ns \(floor 3\), 2\.2 B; compact .* 0\.9 B", stages)
    assert "derived, not measured" in floor
    once, thrice = (cases[name]["amount"] for name in ("engines, k = 31", THRICE))
    assert thrice == 3 * once


def test_isolates_are_judged_where_a_judge_is_installed_and_never_without_their_peers(
    tmp_path: Path,
) -> None:
    cases = smoke(tmp_path, "assembly_quality", *ASSEMBLERS)["cases"]
    alone, _, together, judged, equal = cases
    ours = alone["contestants"][0]
    assert len(ours["seconds"]) == len(together["contestants"][0]["seconds"]) == 1
    assert set(alone["absent"]) == set(ASSEMBLERS)
    assert equal["bars"][0]["figure"] == 2
    assert equal["bars"][0]["met"]
    of_peers = [bar for bar in judged["bars"] if re.search("best|SPAdes|SKESA", bar["text"])]
    assert len(of_peers) == 12
    assert all(bar["figure"] is bar["met"] is None for bar in of_peers)
    circles = [bar["figure"] for bar in judged["bars"] if "plasmid" in bar["text"]]
    assert circles[0] == 1
    assert circles[1] < 0.2
    if shutil.which("quast.py"):
        assert ours["figures"]["contigs genome fraction, %"] > 90
    else:
        assert any("not judged, quast.py is not installed" in note for note in alone["notes"])


def digests(case: dict[str, Any]) -> set[str]:
    return {contestant["digest"] for contestant in case["contestants"] if "digest" in contestant}


def smoke(tmp_path: Path, bench: str, *without: str) -> dict[str, Any]:
    """Return the record of a bench of seconds, without some peers."""
    command = [sys.executable, "bench/run.py", bench, "--smoke", "--repeats", "1"]
    done = subprocess.run(
        [*command, *(f"--without={peer}" for peer in ("spark", "array", "alluxio", *without))],
        cwd=ROOT,
        # The Rust tests have compiled what some benches compile.
        env=os.environ | check.CHECKED | {"CUESTA_BENCH_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"`bench/run.py {bench}`" in done.stdout
    record: dict[str, Any] = json.loads((tmp_path / "smoke" / f"{bench}.json").read_text())
    return record
