"""The gene-pair workloads on ranks write the files of the native engine, byte for byte."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from cuesta.engines import get_engine
from cuesta.engines.mpi import MpiEngine
from cuesta.errors import InputError
from cuesta.native import native_module
from cuesta.trial import Outcome, Trial
from cuesta.workloads import get_workload

pytestmark = pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")

WORKLOADS: list[tuple[str, dict[str, Any]]] = [
    ("correlate", {"min_abs_score": 0.3}),
    ("scan", {"min_abs_score": 0.3}),
    ("join", {"how": "outer", "min_abs_score": 0.3}),
    ("degrees", {"genes": 80}),
    ("load", {}),
    ("communities", {"min_abs_score": 0.5}),
    ("communities", {"method": "label-propagation", "min_abs_score": 0.3}),
]
PHASES = {
    "correlate": ["parse", "multiply", "write"],
    "scan": ["open", "scan", "write"],
    "join": ["open", "sample", "join", "write"],
    "degrees": ["open", "count", "write"],
    "load": ["open", "read", "join", "write"],
    "components": ["open", "components", "write"],
    "label-propagation": ["open", "read", "label-propagation", "write"],
}

_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two versions of some pairs: a file, and a folder with a gzipped file in it."""
    folder = tmp_path_factory.mktemp("pair")
    (folder / "b").mkdir()
    paths = [folder / "a.txt", folder / "b" / "1.txt"]
    for variant, path in enumerate(paths):
        request = {"output": str(path), "genes": 60, "samples": 20, "clusters": 2, "seed": 1}
        request |= {"threads": 1, "variant": variant}
        native_module().data_make("clusters", json.dumps(request))
    lines = paths[1].read_bytes().splitlines(keepends=True)
    paths[1].write_bytes(b"".join(lines[:800]))
    (folder / "b" / "2.txt.gz").write_bytes(gzip.compress(b"".join(lines[800:])))
    return [str(folder / "a.txt"), str(folder / "b")]


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An expression matrix of some genes, with missing values."""
    path = tmp_path_factory.mktemp("matrix") / "genes.txt"
    request = {"output": str(path), "genes": 90, "samples": 40, "seed": 1, "threads": 1}
    native_module().data_make("matrix", json.dumps(request))
    return str(path)


def trial(workload: str, inputs: list[str], parameters: dict[str, Any]) -> Trial:
    return Trial(
        workload=workload,
        engine="mpi",
        inputs=tuple(inputs),
        parameters=get_workload(workload).check(parameters),
        threads=2,
        memory_bytes=1 << 30,
        engine_options={"ranks": "2"},
    )


def run(job: Trial, folder: Path, name: str) -> tuple[Outcome, dict[str, bytes]]:
    """Run on an engine; return the outcome and the answer files."""
    place = folder / f"{name}-{next(_NUMBERS)}"
    output, scratch = place / "answer", place / "scratch"
    output.mkdir(parents=True)
    scratch.mkdir()
    outcome = get_engine(name).run(job, output, scratch)
    files = [path for path in output.rglob("*") if path.is_file()]
    return outcome, {str(path.relative_to(output)): path.read_bytes() for path in files}


@pytest.mark.parametrize("case", WORKLOADS, ids=str)
def test_files_and_counts_are_those_of_the_native_engine(
    case: tuple[str, dict[str, Any]], pair: list[str], matrix: str, tmp_path: Path
) -> None:
    workload, parameters = case
    inputs = {"join": pair, "correlate": [matrix]}.get(workload, pair[:1])
    job = trial(workload, inputs, parameters)
    expected, expected_files = run(job, tmp_path, "native")
    outcome, files = run(job, tmp_path, "mpi")
    assert files == expected_files
    assert outcome.counts == {**expected.counts, "ranks": 2}
    method = parameters.get("method", "components")
    phases = PHASES[method if workload == "communities" else workload]
    assert [phase.name for phase in outcome.phases] == phases
    read = outcome.phases[1]
    if workload not in ("join", "correlate"):
        rows = "rows" if workload == "load" else "rows_read"
        assert read.rows == expected.counts[rows]
        assert read.bytes == Path(pair[0]).stat().st_size


def test_a_damaged_line_is_the_error_line_of_the_native_engine(
    pair: list[str], tmp_path: Path
) -> None:
    lines = Path(pair[0]).read_text().splitlines()
    lines[1000] = lines[1000].replace("\t", " ", 1)
    damaged = tmp_path / "damaged.txt"
    damaged.write_text("\n".join(lines))
    for workload in ("scan", "degrees"):
        job = trial(workload, [str(damaged)], {})
        messages = []
        for name in ("native", "mpi"):
            with pytest.raises(InputError, match="line 1001 of") as caught:
                run(job, tmp_path, name)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
