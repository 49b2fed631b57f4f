"""Sentences of advice that conclude are derived from rows that stand; requests agree."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cuesta.cli import tables
from cuesta.cli.app import call
from cuesta.lab import record as records
from cuesta_lab.model import fit, measured, table
from cuesta_lab.model.demands import demands
from cuesta_lab.model.predict import predict
from cuesta_lab.model.records import observed
from cuesta_lab.model.repetition import MONTH_S
from cuesta_lab.study.refusals import refusal_of
from modelkit import runs
from modelkit import write as write_csv
from test_advise import to_advice
from test_advise_runs import among, record, write


@pytest.mark.parametrize("size", ["1MB", "48MB", "2GB", "100GB"])
@pytest.mark.parametrize("machine", ["ec2-i4i", "ceres2", "cooley"])
def test_no_slower_choice_is_called_the_fastest(
    size: str, machine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of one machine, the cheapest choice for 48 MB was the fastest too, 163 ms; the second of the
    list had the title instead, with 1.01 s on 64 nodes. Now one choice has both titles.
    """
    advice = to_advice(capsys, "sort", "--input-size", size, "--machines", machine)
    least = min(row["seconds"]["value"] for row in advice["choices"] if row["seconds"])
    fastest = [best for best in advice["best"] if "fastest" in best["title"]]
    assert len(fastest) == 1
    assert fastest[0]["choice"]["seconds"]["value"] <= 1.1 * least


def test_a_machine_that_is_best_twice_has_both_titles(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["advise", "sort", "--input-size", "48MB", "--machines", "ec2-i4i"]
    assert call(words) == 0
    output = capsys.readouterr().out
    assert "1. most for a dollar and fastest: 1 node of EC2 i4i" in output
    assert "2. next: " in output
    assert "mpi beats one node on none of up to 64 nodes" in output


def test_demands_are_of_a_setting_which_the_answer_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An assembly with `-k auto` of gzipped reads took 11 times what was predicted from runs with
    `-k 31` of plain ones. Now the setting is said, and others can be asked for.
    """
    words = ["assemble", "--input-size", "1GB", "--machines", "ec2-i4i"]
    assert call(["advise", *words]) == 0
    plain = capsys.readouterr().out
    assert "This is for -k 31 of plain FASTQ; --setting has k31-gzip, auto, auto-gzip too." in plain
    advice = to_advice(capsys, *words, "--setting", "auto-gzip")
    assert {row["engine"] for row in advice["choices"]} == {"native"}
    assert advice["left_out"][0].startswith("mpi, spark, not measured with -k auto of gzipped")
    assert call(["advise", *words, "--setting", "k99"]) == 2
    assert "--setting is 'k99', which was not measured (there is k31, " in capsys.readouterr().err
    assert call(["advise", *words[:3], "--runs", "x", "--setting", "k31"]) == 2
    cpu = {name: demands("assemble", name)[0].cpu_s for name in ("k31", "auto-gzip")}
    assert cpu["auto-gzip"] > 10 * cpu["k31"]


def sampled(engine: str, starts: list[float], work: list[float]) -> dict[str, Any]:
    """Return a record of repeats in one session, which the first of them starts."""
    samples = [
        {"wall_seconds": start + seconds, "phases": [{"name": "start", "seconds": start}]}
        for start, seconds in zip(starts, work, strict=True)
    ]
    return {
        **record(engine, 10**9, sorted(work)[1]),
        "samples": samples,
        "phases": [{"name": "sort", "seconds": work[1]}],
    }


def test_repeats_in_a_session_do_not_hide_its_start(tmp_path: Path) -> None:
    """Three repeats shared a session of Spark that took 15 s to start; the median repeat had no
    start, so that choices among runs had none. Now a run by itself has it.
    """
    spark = sampled("spark", [15.0, 0.0, 0.0], [4.0, 4.0, 5.0])
    assert (records.engine_seconds(spark), records.start_seconds(spark)) == (19.0, 15.0)
    (choice,) = among(tmp_path, [spark], 1e10)
    assert choice.seconds
    assert choice.seconds.value == pytest.approx(15.0 + 40.0)
    (run,) = observed([tmp_path])
    assert run.seconds == 19.0


def test_a_single_size_does_not_show_which_part_of_a_time_grows(tmp_path: Path) -> None:
    (large,) = among(tmp_path, [record("mpi", 10**8, 1.0)], 1e9)
    assert large.seconds
    assert large.seconds.low < 1.0 < 10.0 <= large.seconds.high
    (small,) = measured.choices("sort", 1e7, [tmp_path])
    assert small.seconds
    assert small.seconds.low < 0.1 < 1.0 <= small.seconds.high


def test_a_run_without_evidence_does_not_refuse_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record without an input refused the whole answer. Now it is left out, with the reason."""
    empty = {**record("spark", 10**9, 3.0), "inputs": []}
    wrong = {**record("mpi", 10**9, 3.0), "verified": False}
    folder = tmp_path / "runs"
    folder.mkdir()
    write(folder, [record("native", 10**9, 3.0), empty, wrong])
    words = ["advise", "sort", "--input-size", "1GB", "--runs", str(folder)]
    assert call(words) == 0
    output = capsys.readouterr().out
    assert "1. fastest: native" in output
    assert "its run has no input, so that bytes say nothing of it." in output
    assert "its answer is wrong, so that its time says nothing." in output
    (folder / "2" / "run.json").unlink()
    model = tmp_path / "model.json"
    assert call(["model", "fit", str(folder), "-o", str(model)]) == 0
    assert capsys.readouterr().err.count("left out: ") == 1
    (folder / "0" / "run.json").unlink()
    assert call(words) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_parameters_are_words_not_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parameters = {"seed": 3, "kmer_sizes": "31", "pairs": False, "resume": None, "rate": 0.5}
    folder = tmp_path / "runs"
    folder.mkdir()
    write(folder, [{**record("native", 10**9, 3.0), "parameters": parameters}])
    assert call(["advise", "sort", "--input-size", "1GB", "--runs", str(folder)]) == 0
    assert call(["model", "fit", str(folder), "-o", str(tmp_path / "model.json")]) == 0
    output = capsys.readouterr().out
    assert "native with 2 cores, 1 GiB, kmer sizes 31, pairs no, rate 0.5:" in output
    assert "parameters=kmer sizes 31, pairs no, rate 0.5" in output
    assert "{" not in output


def test_the_fastest_number_of_nodes_is_of_the_answered_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "1 node is the fastest here" stood below a row of one node and refused ones. Now nothing is
    concluded from one row, and of several the sentence says how many there are.
    """
    file = write_csv(tmp_path / "runs.csv", runs(lambda nodes, blocks: 4 + blocks / nodes))
    model = tmp_path / "model.json"
    assert call(["model", "fit", str(file), "-o", str(model)]) == 0
    capsys.readouterr()
    assert call(["model", "nodes", str(model), "--nodes", "1,1000"]) == 0
    output = capsys.readouterr().out
    assert "Only 1 node could be answered, so nothing says which number is the fastest." in output
    assert call(["model", "nodes", str(model), "--nodes", "1,8,1000"]) == 0
    assert "8 nodes are the fastest of the 2 answered." in capsys.readouterr().out


def test_throughput_in_a_comparison_agrees_with_its_time() -> None:
    """48 MB in 536 ms were shown at 129 MiB/s, the rate of one of three phases."""
    row = {
        "inputs": [{"bytes": 48 * 10**6}],
        "phases": [{"name": "read", "seconds": 0.354, "bytes": 48 * 10**6}],
        "statistics": {"wall_seconds": {"median": 0.5}},
    }
    assert tables.throughput_text(row) == "91.6 MiB/s"
    assert tables.throughput_text({**row, "inputs": []}) == "91.6 MiB/s"
    counted = {"name": "generate", "seconds": 0.1, "rows": 10**6}
    assert tables.throughput_text({**row, "inputs": [], "phases": [counted]}) == "2 M rows/s"
    assert tables.throughput_text({**row, "inputs": [], "phases": []}) == "\u2013"


def test_several_inputs_are_worked_on_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["assemble", "--input-size", "10GB", "--machines", "ec2-i4i"]
    single = to_advice(capsys, *words)
    many = to_advice(capsys, *words, "--inputs", "6")

    def seconds(advice: dict[str, Any], nodes: int, engine: str = "native") -> float:
        (row,) = [
            row for row in advice["choices"] if (row["nodes"], row["engine"]) == (nodes, engine)
        ]
        return float(row["seconds"]["value"])

    alone = seconds(single, 1)
    assert [seconds(many, nodes) / alone for nodes in (1, 2, 4)] == pytest.approx([6, 3, 2])
    assert seconds(many, 4, "mpi") == pytest.approx(6 * seconds(single, 4, "mpi"))


def test_jobs_of_a_month_keep_nodes_busy_or_are_too_many(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["assemble", "--input-size", "10GB", "--machines", "ceres2"]
    row = to_advice(capsys, *words, "--jobs-per-month", "10")["choices"][0]
    assert row["busy"] == pytest.approx(10 * row["seconds"]["value"] / MONTH_S)
    assert row["dollars"]["value"] == pytest.approx(879 / 48 / 10)
    (crowded, *_) = to_advice(capsys, *words, "--jobs-per-month", "50000")["choices"]
    assert "50000 jobs a month would take" in crowded["refused"]
    assert crowded["seconds"] is None
    assert call(["advise", *words, "--jobs-per-month", "1e6"]) == 2
    assert "no machine is enough for 10 GB (" in capsys.readouterr().err
    assert call(["advise", *words, "--jobs-per-month", "10"]) == 0
    output = capsys.readouterr().out
    assert "10 times a month" in output
    assert "of a month busy" in output
    assert "for 10 jobs a month, which pay all of it" in output


@pytest.mark.parametrize(
    ("options", "machine", "reason"),
    [
        ({"ranks": "1024"}, {}, "ranks needs 1024 cores, there are "),
        ({"master": "local[1024]"}, {}, "master needs 1024 cores, there are "),
        ({}, {"cpu-quota": "1024"}, "cpu-quota needs 1024 cores, there are "),
    ],
)
def test_a_study_of_more_cores_than_the_machine_has_is_remarked_beforehand(
    options: dict[str, str], machine: dict[str, str], reason: str
) -> None:
    engine = "mpi" if "ranks" in options else "spark"
    settings = SimpleNamespace(
        cores=1,
        nodes=1,
        engine_options=options,
        machine=machine,
        memory_bytes=0,
        engine=engine,
        command=None,
    )
    combination: Any = SimpleNamespace(left_out=None, settings=settings)
    assert str(refusal_of(combination)).startswith(reason)


@pytest.mark.parametrize("size", [3e9, 2e10])
def test_advice_among_runs_and_a_model_of_them_agree(tmp_path: Path, size: float) -> None:
    """Two ways to ask the same: each answer is in the interval of the other, and the truth too."""
    folder = tmp_path / "runs"
    folder.mkdir()
    sizes = (10**9, 2 * 10**9, 4 * 10**9, 8 * 10**9)
    runs_of = [record("native", each, 2.0 + 3.0 * each / 1e9) for each in sizes]
    write(folder, [{**each, "memory_bytes": None} for each in runs_of])
    (choice,) = measured.choices("sort", size, [folder])
    model = fit.fit(observed([folder]), ["runs"], 0)
    (group,) = model["groups"]
    row = {**group["group"], "nodes": "1", "cores_per_node": "2", "input_bytes": repr(size)}
    prediction = predict(model, table.question("question", row))
    assert choice.seconds
    assert prediction.predicted_s
    truth = 2.0 + 3.0 * size / 1e9
    for seconds in (truth, prediction.predicted_s):
        assert choice.seconds.low <= seconds <= choice.seconds.high
    for seconds in (truth, choice.seconds.value):
        assert (prediction.low_s or 0) <= seconds <= (prediction.high_s or 0)


def test_runs_of_two_sizes_agree_with_themselves(tmp_path: Path) -> None:
    write(tmp_path, [record("native", 10**9, 3.0), record("native", 4 * 10**9, 11.0)])
    for size, seconds in ((1e9, 3.0), (4e9, 11.0)):
        (choice,) = measured.choices("sort", size, [tmp_path])
        assert choice.seconds
        assert choice.seconds.low <= seconds <= choice.seconds.high
