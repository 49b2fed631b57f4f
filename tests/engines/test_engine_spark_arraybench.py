"""ArrayBench's own Spark programs and options: different work, the same answer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from cuesta.engines import get_engine
from cuesta.engines.spark.options import options_of
from cuesta.errors import InputError
from cuesta.lab.plan import Plan
from cuesta.lab.steps.resolve import check
from cuesta.native import native_module
from cuesta.trial import Outcome, Trial
from sparkkit import run, same_as_native, scala, scala_engine, scala_session, trial

__all__ = ["scala"]

NAME = "spark-scala"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two versions of a pair matrix of 60 genes, with up to two clusters for each pair."""
    folder = tmp_path_factory.mktemp("pair")
    request = {"genes": 60, "samples": 20, "clusters": 2, "seed": 1, "threads": 1}
    for variant, name in enumerate(("a.txt", "b.txt")):
        settings = {"output": str(folder / name), "variant": variant}
        native_module().data_make("clusters", json.dumps(request | settings))
    return [str(folder / "a.txt"), str(folder / "b.txt")]


def phases(outcome: Outcome) -> list[str]:
    """Return names of the phases without the start of a session."""
    return [phase.name for phase in outcome.phases if phase.name != "start"]


def scala_trial(
    workload: str, inputs: list[str], parameters: dict[str, Any], **options: str
) -> Trial:
    """Return a trial of the engine without Python."""
    return replace(trial(workload, inputs, parameters, **options), engine=NAME)


@pytest.mark.parametrize("parameters", [{}, {"genes": 80}, {"min_cluster_samples": 1000}], ids=str)
def test_degrees_by_graphx_are_those_of_counting_with_the_conversion_timed_apart(
    parameters: dict[str, Any], pair: list[str], scala: object, tmp_path: Path
) -> None:
    job = scala_trial("degrees", pair, parameters | {"method": "graphx"})
    outcome = same_as_native(job, tmp_path, name=NAME)
    assert phases(outcome) == ["open", "convert", "degrees", "write"]
    convert = next(phase for phase in outcome.phases if phase.name == "convert")
    assert convert.bytes == sum(Path(path).stat().st_size for path in pair)
    assert convert.rows == outcome.counts["rows_read"]


def test_a_method_of_an_engine_is_refused_on_all_other_engines_before_any_work(
    pair: list[str], tmp_path: Path
) -> None:
    job = trial("degrees", pair, {"method": "graphx"})
    for name in ("native", "spark", "array"):
        engine = get_engine(name)
        with pytest.raises(InputError) as caught:
            check(engine, replace(job, engine=name), Plan(output=tmp_path / "out"))
        message = f"engine {name} has no --method graphx; take --engine spark-scala"
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("cache", "steps"),
    [
        ("auto", ["join", "write"]),
        ("none", ["join", "write"]),
        ("inputs", ["load", "join", "write"]),
        ("output", ["load", "join", "write"]),
        ("all", ["load", "join", "write"]),
    ],
)
def test_a_join_by_keys_of_text_is_that_of_the_native_engine_whatever_is_cached(
    cache: str, steps: list[str], pair: list[str], scala: object, tmp_path: Path
) -> None:
    job = scala_trial("join", pair, {"min_abs_score": 0.2}, keys="text", cache=cache)
    outcome = same_as_native(job, tmp_path, name=NAME)
    assert phases(outcome) == ["open", *steps]


@pytest.mark.parametrize("cache", ["none", "inputs", "output", "all"])
def test_a_join_by_ranges_takes_the_same_caches(
    cache: str, pair: list[str], scala: object, tmp_path: Path
) -> None:
    for level in ("memory-only", "disk-only"):
        options = {"cache": cache, "storage_level": level, "partitions": "3"}
        job = scala_trial("join", pair, {"how": "outer", "min_abs_score": 0.5}, **options)
        outcome = same_as_native(job, tmp_path, name=NAME)
        assert phases(outcome) == ["open", *(["load"] if cache != "none" else []), "join"]


@pytest.mark.parametrize(
    ("workload", "parameters", "steps"),
    [
        ("scan", {"min_abs_score": 0.2}, "scan"),
        ("degrees", {}, "count write"),
        ("degrees", {"method": "graphx"}, "degrees write"),
        ("communities", {}, "components write"),
    ],
)
@pytest.mark.usefixtures("scala")
def test_a_run_with_a_cached_input_reports_how_much_is_where(
    workload: str, parameters: dict[str, Any], steps: str, pair: list[str], tmp_path: Path
) -> None:
    for level, filled, empty in [
        ("memory-only", "cached_memory_bytes", "cached_disk_bytes"),
        ("disk-only", "cached_disk_bytes", "cached_memory_bytes"),
    ]:
        options = {"cache": "inputs", "storage_level": level}
        job = scala_trial(workload, pair[:1], parameters, **options)
        outcome = same_as_native(job, tmp_path, name=NAME)
        assert phases(outcome) == ["open", "load", *steps.split()]
        log = scala_engine().log_totals()
        assert log[filled] > 1000
        assert log[empty] == 0


def test_what_a_run_has_cached_it_forgets(pair: list[str], scala: object, tmp_path: Path) -> None:
    for workload, parameters, options in [
        ("join", {}, {"cache": "all"}),
        ("degrees", {"method": "graphx"}, {}),
        ("communities", {}, {}),
        ("communities", {"method": "label-propagation"}, {}),
    ]:
        inputs = pair if workload == "join" else pair[:1]
        run(scala_trial(workload, inputs, parameters, **options), tmp_path, NAME)
        session = scala_session()
        context: Any = session.spark.sparkContext._jsc
        assert context.getPersistentRDDs().size() == 0, workload


def test_a_row_of_both_versions_is_refused_if_it_is_duplicate_in_either(
    pair: list[str], scala: object, tmp_path: Path
) -> None:
    row = Path(pair[0]).read_text().splitlines(keepends=True)[5]
    doubled = tmp_path / "doubled.txt"
    fields = row.split("\t")
    other = "\t".join([*fields[:9], "0.123456", fields[10]])
    doubled.write_text(Path(pair[0]).read_text() + other)
    job = scala_trial("join", [str(doubled), pair[0]], {}, keys="text")
    key = "gene pair {} {} cluster {} twice".format(*fields[:3])
    for number, inputs in enumerate([[str(doubled), pair[0]], [pair[0], str(doubled)]]):
        with pytest.raises(InputError, match=f"version {'ab'[number]} has {key}"):
            run(replace(job, inputs=tuple(inputs)), tmp_path, NAME)


@pytest.mark.parametrize(
    ("serializer", "codec", "level"),
    [
        ("java", "lzf", "memory-only"),
        ("java", "lzf", "memory-and-disk-ser"),
        ("kryo", "none", "disk-only"),
        ("kryo", "none", "memory-only-ser"),
    ],
)
@pytest.mark.usefixtures("scala")
def test_storage_levels_serializers_and_codecs_do_not_change_the_answer(
    serializer: str, codec: str, level: str, pair: list[str], tmp_path: Path
) -> None:
    """Each serializer is tried with its own codec: two sessions instead of four."""
    session_wide = {"serializer": serializer, "codec": codec}
    options = session_wide | {"storage_level": level}
    by_ranges = session_wide | {"storage_level": "memory-only-ser", "cache": "inputs"}
    for job in (
        scala_trial("join", pair, {}, cache="all", keys="text", **options),
        scala_trial("degrees", pair, {"method": "graphx"}, **options),
        scala_trial("join", pair, {}, **by_ranges),
    ):
        same_as_native(job, tmp_path, name=NAME)
    session = scala_session()
    conf = session.spark.sparkContext.getConf()
    assert conf.get("spark.rdd.compress") == str(codec != "none").lower()
    assert codec == "none" or conf.get("spark.io.compression.codec") == codec


@pytest.mark.parametrize(
    ("workload", "options", "text"),
    [
        ("join", {"keys": "words"}, "--engine-option keys is words, choose from number, text"),
        ("join", {"cache": "some"}, "choose from auto, none, inputs, output, all"),
        ("join", {"storage-level": "MEMORY"}, "storage-level is MEMORY, choose from memory-only"),
        ("scan", {"codec": "gzip"}, "codec is gzip, choose from lz4, lzf, snappy, zstd, none"),
        ("scan", {"serializer": "avro"}, "serializer is avro, choose from java, kryo"),
        ("scan", {"cache": "all"}, "--engine-option cache is all, which is for join; give none"),
        ("kmeans", {"cache": "inputs"}, "is for communities, degrees, join, scan, not for kmeans"),
        ("sort", {"storage-level": "disk-only"}, "is for communities, degrees, join, scan, not"),
        ("scan", {"codecs": "lz4"}, "codecs is not known to engine spark-scala; it knows cache, "),
        (
            "scan",
            {"codec": "lz4", "spark.rdd.compress": "false"},
            "--engine-option spark.rdd.compress is given, and codec or serializer set it, too",
        ),
    ],
    ids=str,
)
def test_an_option_that_is_wrong_is_refused_in_a_single_line_before_spark_starts(
    workload: str, options: dict[str, str], text: str, tmp_path: Path
) -> None:
    inputs = ["a", "b"] if workload == "join" else ["a"]
    job = replace(trial(workload, inputs, {}), engine=NAME, engine_options=options)
    with pytest.raises(InputError) as caught:
        get_engine(NAME).run(job, tmp_path, tmp_path)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_keys_of_text_are_refused_where_the_join_is_not_inner(tmp_path: Path) -> None:
    job = scala_trial("join", ["a", "b"], {"how": "left"}, keys="text")
    with pytest.raises(InputError, match="which is inner; leave it out for --how left"):
        get_engine(NAME).run(job, tmp_path, tmp_path)


def test_the_options_of_the_scala_programs_are_not_those_of_engine_spark() -> None:
    with pytest.raises(InputError, match="cache is not known to engine spark; it knows kernels"):
        options_of(trial("join", ["a", "b"], {}, cache="inputs"))
