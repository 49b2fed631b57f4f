"""`dataflow`: each engine and each kernel produces the table of the spec."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuesta.cli.app import call
from cuesta.engines.dataflow import (
    ANSWER_FILE,
    PIECE_BYTES,
    PIECE_VECTORS,
    VECTOR_BYTES,
    NumpyKernels,
    add,
    make_room,
    plan,
    sums_of,
    write_table,
)
from cuesta.engines.mpi import MpiEngine, c_program
from cuesta.engines.mpi.dataflow import _reduce, blocks_of_rank
from cuesta.engines.mpi.launch import launcher
from cuesta.engines.shares import share_of
from cuesta.errors import Defect, InputError
from cuesta.trial import Trial
from labkit import ROOT, below, record_of, vector_files
from waitkit import HANG_SECONDS, wait_for

GOLDEN = (ROOT / "spec/workloads/dataflow/cases/averages.tsv").read_text()
SMALL = ["--blocks", "2", "--block-vectors", "1000", "--shift", "1,0,-0.5", "--seed", "7"]
needs_mpi = pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")


@given(
    seed=st.integers(0, 2**64 - 1),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 100)),
    shift=st.tuples(*[st.integers(-65_536_000, 65_536_000)] * 3).map(
        lambda units: ",".join(repr(unit / 65_536) for unit in units)
    ),
)
@settings(max_examples=30, deadline=None)
def test_numpy_and_rust_kernels_agree(seed: int, shape: tuple[int, int], shift: str) -> None:
    blocks, vectors = shape
    with TemporaryDirectory() as folder:
        words = ["run", "dataflow", "--blocks", str(blocks), "--block-vectors", str(vectors)]
        words += ["--seed", str(seed), f"--shift={shift}", "-o", f"{folder}/a"]
        assert call(words) == 0
        parameters = trial(blocks=blocks, block_vectors=vectors, shift=shift).parameters
        planned, kernels = plan(parameters, seed, ()), NumpyKernels()
        sums = [sums_of(kernels, planned, block, make_room(planned)) for block in range(blocks)]
        table = Path(folder, "numpy.tsv")
        write_table(table, sums, reduce(add, sums), planned)
        assert table.read_bytes() == Path(folder, "a", ANSWER_FILE).read_bytes()


@pytest.mark.parametrize("stages", ["fused", "separate"])
@pytest.mark.parametrize("lengths", [(), (3, 1, 9)], ids=["generated", "of files"])
def test_numpy_holds_a_piece_and_of_separate_stages_a_block(
    lengths: tuple[int, ...], stages: str, tmp_path: Path
) -> None:
    """A fused block was stored twice, whatever `--memory` was. Now NumPy works in pieces."""
    files = [str(tmp_path / f"{length}.npy") for length in lengths]
    for length, file in zip(lengths, files, strict=True):
        draw = np.random.default_rng(length)
        np.save(file, draw.normal(scale=100, size=(length * PIECE_VECTORS - 5, 3)))
    each = 6 * PIECE_VECTORS + 7
    parameters = trial(blocks=2, block_vectors=each, stages=stages, shift="1,2,3").parameters
    planned, kernels = plan(parameters, 3, files), NumpyKernels()
    tracemalloc.start()
    room = make_room(planned)
    sums = [sums_of(kernels, planned, block, room) for block in range(planned.blocks)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < PIECE_BYTES + (each * VECTOR_BYTES if stages == "separate" else 0)
    write_table(tmp_path / "numpy.tsv", sums, reduce(add, sums), planned)
    words = ["run", "dataflow", *files, "--blocks", "2", "--block-vectors", str(each)]
    assert call([*words, "--seed", "3", "--shift", "1,2,3", "-o", str(tmp_path / "a")]) == 0
    assert (tmp_path / "numpy.tsv").read_text() == (tmp_path / "a" / ANSWER_FILE).read_text()


def test_the_native_engine_writes_the_golden_table(tmp_path: Path) -> None:
    assert call(["run", "dataflow", *SMALL, "-o", str(tmp_path / "a")]) == 0
    assert (tmp_path / "a" / ANSWER_FILE).read_text() == GOLDEN
    assert record_of(tmp_path / "a")


LAZY = ["pipeline", "reduce", "write"]
CACHED_PHASES = ["generate", "shift", "average", "reduce", "write"]
VARIANTS = [
    ([], LAZY),
    (["--stages", "separate"], LAZY),
    (["--stages", "separate", "--keep", "memory"], CACHED_PHASES),
    (["--stages", "separate", "--keep", "disk"], CACHED_PHASES),
]


def phases_of(folder: Path) -> list[str]:
    """Return the phases in the record of a verified run, without the start of an engine."""
    names = [phase["name"] for phase in record_of(folder)["phases"]]
    return [name for name in names if name != "start"]


@pytest.mark.parametrize(("more", "phases"), VARIANTS)
def test_the_reduction_is_a_separate_phase(
    tmp_path: Path, more: list[str], phases: list[str]
) -> None:
    assert call(["run", "dataflow", *SMALL, *more, "-o", str(tmp_path / "a")]) == 0
    assert phases_of(tmp_path / "a") == phases
    assert call(["run", "dataflow", *vector_files(tmp_path), *more, "-o", str(tmp_path / "b")]) == 0
    assert phases_of(tmp_path / "b") == [name.replace("generate", "load") for name in phases]


@needs_mpi
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(("more", "phases"), VARIANTS)
@pytest.mark.parametrize("kernels", ["native", "numpy", "c"])
def test_ranks_write_the_golden_table(
    tmp_path: Path, ranks: int, more: list[str], phases: list[str], kernels: str
) -> None:
    if kernels == "c" and ("disk" in more or c_program.missing()):
        pytest.skip("the C program does not do that, or there is no mpicc")
    words = ["run", "dataflow", *SMALL, "--engine", "mpi", "--ranks", str(ranks), *more]
    assert call([*words, "--kernels", kernels, "-o", str(tmp_path / "a")]) == 0
    assert (tmp_path / "a" / ANSWER_FILE).read_text() == GOLDEN
    assert phases_of(tmp_path / "a") == phases


@needs_mpi
def test_ranks_reduce_sums_that_do_not_fit_in_64_bits() -> None:
    class Alone:
        def Reduce(self, sent: Any, received: Any, op: object, root: int) -> None:  # noqa: N802
            received[:] = sent

    rows = [(2**62 + 5, -(2**62) - 3, -1)] * 7
    totals = _reduce(Alone(), np.array(rows, dtype=np.int64))
    assert totals == (7 * (2**62 + 5), 7 * (-(2**62) - 3), -7)


@needs_mpi
@pytest.mark.skipif(c_program.missing() is not None, reason="there is no mpicc")
def test_the_c_program_is_compiled_once_and_its_seed_and_shift_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["run", "dataflow", "--blocks", "7", "--block-vectors", "333", "--shift=-999.9,3e-5,0"]
    words += ["--seed", str(2**64 - 1)]
    assert call([*words, "-o", str(tmp_path / "native")]) == 0
    names = []
    for name in ("first", "second"):
        more = ["--engine", "mpi", "--ranks", "4", "--kernels", "c", "-o", str(tmp_path / name)]
        assert call([*words, *more]) == 0
        record = record_of(tmp_path / name)
        names.append(record["phases"][0]["name"])
        assert record["engine_options"]["kernels"] == "c"
        for other in ("native", name):
            table = (tmp_path / other / ANSWER_FILE).read_bytes()
            assert table == (tmp_path / "native" / ANSWER_FILE).read_bytes()
    assert names == ["start", "pipeline"]


@needs_mpi
def test_unsupported_options_of_the_c_program_are_reported_in_a_single_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = ["--stages", "separate", "--keep", "disk"]
    for words, code, message in [
        (["dataflow", *SMALL, *disk], 2, "--kernels c keeps blocks in memory or not at all"),
        (["dataflow", *vector_files(tmp_path)], 2, "--kernels c generates its vectors"),
        (["sort", __file__], 2, "--kernels c is for dataflow; sort runs the native kernels"),
        (["dataflow", "--kernels", "d"], 2, "--kernels is d, choose from native, numpy, c"),
    ]:
        more = ["--engine", "mpi", "-o", str(tmp_path / "out")]
        kernels = [] if "--kernels" in words else ["--kernels", "c"]
        assert call(["run", words[0], *kernels, *words[1:], *more]) == code
        assert message in capsys.readouterr().err
    (tmp_path / "mpiexec").touch()
    monkeypatch.setattr("cuesta.engines.mpi.launch.launcher", lambda: str(tmp_path / "mpiexec"))
    words = ["run", "dataflow", *SMALL, "--engine", "mpi", "--kernels", "c"]
    assert call([*words, "-o", str(tmp_path / "out")]) == 3
    assert "--kernels c needs mpicc beside" in capsys.readouterr().err.splitlines()[-1]
    (tmp_path / "mpicc").write_text("#!/bin/sh\necho cc: not found >&2; exit 1\n")
    (tmp_path / "mpicc").chmod(0o755)
    assert call([*words, "-o", str(tmp_path / "out")]) == 3
    assert "(cc: not found); install a C compiler" in capsys.readouterr().err.splitlines()[-1]


@needs_mpi
@pytest.mark.parametrize(
    "more",
    [[], ["--stages", "separate"], ["--stages", "separate", "--keep", "disk"]],
)
def test_ranks_read_vectors_of_files(tmp_path: Path, more: list[str]) -> None:
    words = ["run", "dataflow", *vector_files(tmp_path), "--block-vectors", "50", *more]
    assert call([*words, "-o", str(tmp_path / "a")]) == 0
    assert call([*words, "--engine", "mpi", "--ranks", "3", "-o", str(tmp_path / "b")]) == 0
    tables = [(tmp_path / name / ANSWER_FILE).read_text() for name in "ab"]
    assert tables[0] == tables[1]
    rows = tables[0].splitlines()
    assert [row.split("\t")[1] for row in rows[1:]] == ["50", "50", "50", "50", "38", "238"]


def test_a_file_without_an_array_of_vectors_is_reported_in_a_single_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "flat.npy", np.ones((4, 2)))
    np.save(tmp_path / "whole.npy", np.ones((4, 3), dtype=np.int64))
    np.save(tmp_path / "large.npy", np.full((4, 3), 1e9))
    (tmp_path / "text.npy").write_text("1 2 3\n" * 9)
    for name, message in [
        ("flat", "have 2 dimensions; dataflow takes arrays of n x 3 numbers"),
        ("whole", "save it as little-endian float32 or float64"),
        ("large", "coordinate 1 of point 1 of"),
        ("text", "is not a .npy file"),
        ("nowhere", "no such file"),
    ]:
        words = ["run", "dataflow", str(tmp_path / f"{name}.npy"), "-o", str(tmp_path / "out")]
        assert call(words) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert message in error
        assert f"{name}.npy" in error


@needs_mpi
def test_the_command_itself_may_be_the_ranks(tmp_path: Path) -> None:
    words = [str(launcher()), "-n", "2", sys.executable, "-m", "cuesta", "run", "dataflow", *SMALL]
    words += ["--engine", "mpi", "--repeat", "2", "-o", str(tmp_path / "a")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a" / ANSWER_FILE).read_text() == GOLDEN


def trial(**parameters: object) -> Trial:
    values = {"blocks": 2, "block_vectors": 10, "shift": "0,0,0", "stages": "fused", "keep": "none"}
    return Trial(
        workload="dataflow",
        engine="mpi",
        inputs=(),
        parameters=values | parameters,
        threads=2,
        memory_bytes=1 << 30,
    )


@needs_mpi
def test_a_rank_that_fails_is_reported_in_a_single_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"answer: writing .*nowhere.* failed: No such file"):
        MpiEngine().run(trial(), tmp_path / "nowhere", tmp_path)
    defective = replace(trial(), engine_options={"kernels": "numpy"})
    with pytest.raises(Defect, match=r"report it: FileNotFoundError"):
        MpiEngine().run(defective, tmp_path / "nowhere", tmp_path)


@needs_mpi
def test_a_rank_that_is_killed_ends_the_run(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "cuesta", "run", "dataflow", "--blocks", "1000000"]
    words += ["--engine", "mpi", "--ranks", "2", "-o", str(tmp_path / "a")]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len(below(process.pid, "cuesta.engines.mpi.rank", "mpiexec")) == 2)
    ranks = below(process.pid, "cuesta.engines.mpi.rank", "mpiexec")
    os.kill(ranks[-1], signal.SIGKILL)
    # A million blocks would take hours.
    _, errors = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 3
    # Launchers do not know the signal of a rank that dies before it has joined the others.
    causes = ("was killed (signal 9)", "failed (code 255): nothing was said")
    assert errors.splitlines()[-1].startswith(tuple(f"cuesta: mpi: a rank {c}" for c in causes))
    assert not any(tmp_path.iterdir())


@needs_mpi
def test_too_little_memory_is_reported_before_ranks_start(tmp_path: Path) -> None:
    much = trial(stages="separate", keep="memory", blocks=1 << 20, block_vectors=1 << 20)
    with pytest.raises(InputError, match="--keep disk"):
        MpiEngine().run(much, tmp_path, tmp_path)


@needs_mpi
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"block_vectors": 1 << 26}, "engine mpi needs at least 68 MiB for 2 ranks"),
        ({"blocks": 1 << 24}, "for 2 ranks and the sums of 16777216 blocks"),
    ],
    ids=str,
)
def test_ranks_of_numpy_are_refused_what_they_have_no_memory_for(
    parameters: dict[str, int], message: str, tmp_path: Path
) -> None:
    job = replace(trial(**parameters), memory_bytes=64 << 20)
    with pytest.raises(InputError, match=message):
        MpiEngine().run(replace(job, engine_options={"kernels": "numpy"}), tmp_path, tmp_path)


def test_ranks_that_do_not_divide_the_blocks_share_all_of_them() -> None:
    for blocks, ranks in [(7, 3), (2, 5), (96, 2)]:
        shares = [blocks_of_rank(blocks, rank, ranks) for rank in range(ranks)]
        assert [block for share in shares for block in share] == list(range(blocks))
        assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("shift", ["1,2", "1,2,x", "nan,0,0", "1,2,1001", ""])
def test_a_bad_shift_is_named(shift: str) -> None:
    with pytest.raises(InputError, match="--shift is"):
        plan(dict(trial(shift=shift).parameters), 0, ())


def test_an_option_out_of_range_is_reported_in_a_single_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, message in [
        (["--blocks", "0"], "--blocks is 0"),
        (["--keep", "disk"], "--stages separate"),
        (["--shift", "a"], "--shift is"),
        (["--engine", "array"], "engine array does not run dataflow"),
    ]:
        assert call(["run", "dataflow", *words, "-o", str(tmp_path / "a")]) == 2
        assert message in capsys.readouterr().err


def test_shares_are_even_and_leave_nothing_out() -> None:
    for count, ranks in [(7, 3), (2, 5), (10**12, 7)]:
        shares = [share_of(count, rank, ranks) for rank in range(ranks)]
        ends = [first + size for first, size in shares]
        assert [first for first, _ in shares] == [0, *ends[:-1]]
        assert ends[-1] == count
        assert max(size for _, size in shares) - min(size for _, size in shares) <= 1
