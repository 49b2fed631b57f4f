"""Settings: order of their sources, names that are refused, and what a project file may not do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import cuesta
from configkit import Home, make_home
from cuesta.api.declared import ONE_ENGINE, SEVERAL_ENGINES, common_options
from cuesta.cli.app import call
from cuesta.cli.cluster_options import PlanOptions, complete, setting_name
from cuesta.config import known, layers, places
from cuesta.engines import ENGINE_NAMES
from cuesta.errors import InputError
from labkit import SCHEMA

LINE = "3\t1\t1\t1\t4\t0\t0\t0\t0\t0.900000\t1111\n"
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return make_home(tmp_path, monkeypatch)


@pytest.fixture
def pairs(home: Home) -> Path:
    path = home.work / "one.txt"
    path.write_text(LINE)
    return path


def run(pairs: Path, *words: str) -> dict[str, Any]:
    """Run a scan; return its record."""
    output = pairs.parent / "out"
    assert call(["run", "scan", str(pairs), "-o", str(output), "--overwrite", *words]) == 0
    record: dict[str, Any] = json.loads((output / "run.json").read_text())
    jsonschema.validate(record, SCHEMA)
    return record


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the line of a run that settings have refused."""
    capsys.readouterr()
    assert call(["run", "scan", "one.txt", "-o", "out", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_the_order_of_the_sources(home: Home, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [(home.site, 21), (home.user, 22), (home.project, 23)]
    assert "settings" not in run(pairs)
    for file, threads in sources:
        file.write_text(f"[run]\nthreads = {threads}\n")
        record = run(pairs)
        assert record["threads"] == threads
        assert record["settings"][0]["source"] == str(file)
    monkeypatch.setenv("CUESTA_RUN_THREADS", "24")
    record = run(pairs)
    assert record["threads"] == 24
    expected = {"name": "run.threads", "value": 24, "kind": "environment"}
    assert record["settings"] == [expected | {"source": "CUESTA_RUN_THREADS"}]
    record = run(pairs, "--threads", "25")
    assert record["threads"] == 25
    assert "settings" not in record


def test_all_kinds_of_values(home: Home, pairs: Path, tmp_path: Path) -> None:
    (home.user.parent / "scratch").mkdir()
    home.user.write_text(
        'run.memory = "100MB"\nrun.scratch = "scratch"\nrun.repeat = 2\nrun.verify = "sample"\n'
        'engine.native."a.secret" = "hush"\nengine.spark."spark.executor.memory" = "1g"\n'
    )
    record = run(pairs)
    assert record["memory_bytes"] == 100_000_000
    assert record["repeats"] == 2
    assert record["verification"]["level"] == "sample"
    assert record["engine_options"] == {"a.secret": layers.HIDDEN}
    values = {setting["name"]: setting["value"] for setting in record["settings"]}
    assert values["run.scratch"] == str(home.user.parent / "scratch")
    assert "hush" not in json.dumps(record)
    assert "engine.spark.spark.executor.memory" not in values


def test_settings_reach_typer_and_python_and_an_option_overrides_them(
    home: Home, pairs: Path
) -> None:
    home.user.write_text("[run]\nthreads = 3\n")
    answer = cuesta.run("scan", pairs, progress=False)
    assert answer.record["threads"] == 3
    assert cuesta.run("scan", pairs, threads=2, progress=False).record["threads"] == 2
    words = ["run", "scan", str(pairs), "-oout-typer"]  # Typer alone reads `-oDIR`.
    assert call(words) == 0
    assert json.loads(Path("out-typer/run.json").read_text())["threads"] == 3


def test_an_engine_of_a_comparison_has_separate_options(home: Home, pairs: Path) -> None:
    home.user.write_text(
        '[compare]\nengines = ["native"]\n[engine.native]\n"x" = 1\n[engine.mpi]\n"y" = 2\n'
    )
    assert call(["compare", "scan", str(pairs), "-o", "compared"]) == 0
    record = json.loads(Path("compared/native/run.json").read_text())
    assert record["engine_options"] == {"x": "1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nthread = 1", "run.thread is no setting; did you mean run.threads?"),
        ("[runs]\nthreads = 1", "runs is no setting; did you mean run?"),
        ("run = 1", "run is a value; write a table [run]"),
        ("[engine.sparc]\nx = 1", "engine.sparc is no setting; did you mean engine.spark?"),
        ("[engine]\nspark = 1", "engine.spark is a value; write a table [engine.spark]"),
        ("[engine.spark]\nx = [1]", "engine.spark.x is no text and no number; give one of them"),
        ("[run]\nthreads = 'many'", "run.threads is 'many', give a whole number"),
        ("[run]\nthreads = true", "run.threads is true, give a whole number"),
        ("[run]\nthreads = 1979-05-27", "run.threads is 1979-05-27, give a whole number"),
        ("[run]\nmemory = 1.5", "run.memory is 1.5, give text in quotes"),
        ("[run", "is no TOML"),
        ("[run]\nthreads = 0", "--threads is 0, give at least 1 (run.threads is set by"),
        (
            "[run]\nscratch = '/no/such'",
            "--scratch /no/such: no such folder; make it, or choose another (run.scratch is set",
        ),
    ],
)
def test_a_wrong_file_is_named_in_a_single_line(
    text: str, message: str, home: Home, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del pairs
    home.user.write_text(text)
    line = refused(capsys)
    assert message in line
    assert str(home.user) in line


def test_a_wrong_variable_is_named(
    home: Home, pairs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del home, pairs
    monkeypatch.setenv("CUESTA_RUN_TREADS", "1")
    assert "did you mean CUESTA_RUN_THREADS? unset CUESTA_RUN_TREADS" in refused(capsys)


HOSTILE = (
    '[engine.spark]\n"spark.jars" = "evil.jar"',
    '[engine.spark]\n"spark.driver.extraJavaOptions" = "-javaagent:evil.jar"',
    '[engine.spark]\nmaster = "spark://stranger:7077"',
    '[engine.spark]\n"spark.local.dir" = "/home"',
    '[engine.mpi]\nlauncher = "evil"',
    '[cluster]\nstart = "sh -c evil"',
    '[cluster]\nscheduler = "hosts"',
    '[cluster]\nhosts = "stranger"',
    '[cluster]\naccount = "rich"',
    '[cluster]\nqueue = "dear"',
    '[cluster.set]\n"spark.jars" = "evil.jar"',
    "[cluster.set]\nyarn-strangers = 1",
    '[cluster]\nscratch = "/dev/shm"',
    '[run]\nscratch = "/tmp"',
    '[run]\nscratch = "../.."',
    '[run]\nverify = "none"',
    '[run]\nverify = "sample"',
    '[run]\nengine = "evil.module:Engine"',
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_project_file_sets_nothing_that_could_name_code_a_host_or_a_place(
    text: str, home: Home, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del pairs
    home.project.write_text(text)
    line = refused(capsys)
    assert str(home.project) in line
    assert "a project file may come from a stranger" in line
    assert str(home.user) in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nthreads = 9999999999", "run.threads is 9999999999, give a whole number"),
        ("[run]\nrepeat = -1", "run.repeat is -1, give a whole number from 1 to 999,999,999"),
        ("[run]\nmemory = ''", "run.memory is '', give a size such as 8GiB"),
        ("[run]\nmemory = '1GiB; evil'", "run.memory is '1GiB; evil', give a size"),
        ("[run]\nengine = ''", "run.engine is '', give a value"),
        ("[compare]\nengines = []", "compare.engines is '', give names separated by commas"),
        ("[cluster]\ntime = 'soon'", "cluster.time is 'soon', give a time such as"),
    ],
)
def test_a_mistake_in_a_project_file_is_called_a_mistake(
    text: str, message: str, home: Home, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A number that was too large was refused as a stranger's attempt to name code or a host."""
    del pairs
    home.project.write_text(text)
    line = refused(capsys)
    assert f"{home.project}: {message}" in line
    assert "stranger" not in line


def test_a_project_file_sets_what_is_harmless(home: Home, pairs: Path) -> None:
    (home.project.parent / "scratch").mkdir()
    home.project.write_text(
        '[run]\nscratch = "scratch"\nmemory = "200MB"\n[engine.native]\ncodec = "zstd"\n'
        '[cluster]\nnodes = 3\ntime = "1:30:00"\nwith = ["spark", "mpi"]\n'
    )
    assert run(pairs)["engine_options"] == {"codec": "zstd"}
    options = complete({})
    assert (options.nodes, options.time, options.services) == (3, "1:30:00", "spark,mpi")


def test_a_file_of_the_user_that_anyone_can_write_is_not_trusted(
    home: Home, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del pairs
    home.user.write_text('[engine.native]\nanything = "x"')
    home.user.chmod(0o666)
    assert "another account can write this file" in refused(capsys)
    home.user.chmod(0o600)
    assert call(["run", "scan", "one.txt", "-o", "out"]) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another account")
def test_a_stranger_in_a_folder_that_all_may_write_is_passed_over(
    home: Home, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.project.write_text("[run]\nthreads = 9\n")
    os.chown(home.project, 12345, 12345)
    home.project.parent.chmod(0o1777)
    assert "settings" not in run(pairs)
    capsys.readouterr()
    assert call(["config", "show"]) == 0
    assert "another account put it into a folder that all may write" in capsys.readouterr().out


def test_a_pipe_as_a_file_of_settings_is_refused_without_waiting(
    home: Home, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del pairs
    os.mkfifo(home.user)
    line = refused(capsys)
    assert f"{home.user}: not a regular file, so its settings cannot be read; move it away" in line
    assert "CUESTA_CONFIG=none" in line
    home.project.mkdir()
    home.user.unlink()
    line = refused(capsys)
    assert f"{home.project}: is a directory, so its settings cannot be read; move it away" in line


def test_options_of_a_cluster_win_over_settings(home: Home) -> None:
    home.site.write_text(
        '[cluster]\nscheduler = "slurm"\nqueue = "normal"\nstart = "rsh {host}"\n'
        '[cluster.set]\nlost = 9\n"spark.executor.cores" = 2\n'
    )
    plan = complete({"queue": "debug", "sets": ["lost=5"]}).plan()
    assert plan.allocation.scheduler == "slurm"
    assert plan.allocation.queue == "debug"
    assert plan.allocation.starter == "rsh {host}"
    assert plan.sets == {"lost": "5", "spark.executor.cores": "2"}


def test_the_engine_of_settings_is_typed_for_a_command_of_a_cluster(home: Home) -> None:
    """The cluster starts what the engine needs; it looked for the engine among the words alone."""
    home.user.write_text('[run]\nengine = "spark"\n')
    command = ("run", "sort", "rows.dat", "-o", "out")
    assert complete({"command": list(command)}).plan().command == (*command, "--engine", "spark")
    typed = [*command, "--engine=mpi"]
    assert complete({"command": typed}).plan().command == tuple(typed)


def test_each_option_has_a_setting_or_is_left_out_on_purpose() -> None:
    shared = [ONE_ENGINE, SEVERAL_ENGINES, *common_options()]
    left_out = {
        "master", "ranks", "kernels", "engine_option", "seed", "cold", "output", "overwrite",
        "json", "quiet", "verbose", "log_file", "timestamps",
    }  # fmt: skip
    assert {option.name for option in shared if not option.setting} == left_out
    of_run = {option.setting for option in shared if option.setting}
    names = {field.name for field in fields(PlanOptions)} - {"command", "output", "wait", "sets"}
    assert {*of_run, *map(setting_name, names)} == set(known.SETTINGS)
    assert known.ENGINES == ENGINE_NAMES
    others = {"CUESTA_CLUSTER_TIMES", "CUESTA_NODES", "CUESTA_SCRATCH", "CUESTA_STORE"}
    assert not others & set(known.by_variable())


def test_the_winner_and_what_it_overrides_are_shown(
    home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home.site.write_text('[run]\nmemory = "1GiB"\n[engine.spark]\npassword = "hush"\n')
    home.project.write_text('[run]\nmemory = "2GiB"\n')
    monkeypatch.setenv("CUESTA_RUN_REPEAT", "5")
    assert call(["config", "show"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    at = lines.index(f"run.memory 2GiB project {home.project}")
    assert lines[at + 1] == f"over site {home.site}: 1GiB"
    assert "run.repeat 5 environment CUESTA_RUN_REPEAT" in lines
    assert "run.engine native default" in lines
    assert f"user file {home.user}: is not there" in lines
    assert not any("hush" in line for line in lines)
    assert call(["config", "show", "run.memory", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [row["value"] for row in shown["settings"]] == ["2GiB"]
    assert call(["config", "show", "run.memry"]) == 2
    assert "did you mean run.memory?" in capsys.readouterr().err


def test_the_site_file_may_be_named_and_all_files_be_ignored(
    home: Home, pairs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = tmp_path / "module.toml"
    module.write_text("[run]\nthreads = 11\n")
    home.site.write_text("[run]\nthreads = 12\nrepeat = 2\n")
    monkeypatch.setenv("CUESTA_SITE_CONFIG", str(module))
    record = run(pairs)
    assert (record["threads"], record["repeats"]) == (11, 2)
    monkeypatch.setenv("CUESTA_CONFIG", "none")
    assert "settings" not in run(pairs)


@pytest.mark.usefixtures("pairs")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("CUESTA_SITE_CONFIG", "/nope", "CUESTA_SITE_CONFIG names /nope, which does not exist"),
        ("CUESTA_CONFIG", "foo", "CUESTA_CONFIG is 'foo'; set it to none"),
    ],
)
def test_a_variable_that_names_no_file_is_refused(
    name: str,
    value: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A misspelled name of the site's file was ignored, and with it all settings of the site."""
    monkeypatch.setenv(name, value)
    assert message in refused(capsys)


def test_the_file_of_the_user_is_no_project_file_in_its_folder(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.user.write_text('[engine.spark]\nmaster = "spark://head:7077"\n')
    monkeypatch.chdir(home.user.parent)
    assert [place.kind for place in places.existing()] == [places.USER]


def test_without_a_file_nothing_of_settings_is_loaded(home: Home, pairs: Path) -> None:
    code = (
        "import sys; from cuesta.cli.app import call; code = call(sys.argv[1:]); "
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    words = ["run", "scan", str(pairs), "-o", str(home.work / "out"), "--overwrite"]
    command = [sys.executable, "-I", "-c", code, *words]
    slow = {"logging", "difflib", "cuesta.config.known"}  # `tomllib` reads the specification
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not slow & set(done.stderr.split())
    home.project.write_text("[run]\nthreads = 1\n")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert slow & set(done.stderr.split()) == {"cuesta.config.known"}


def test_a_broken_file_stops_only_what_reads_it(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    home.user.write_text("[")
    assert call(["--version"]) == 0
    assert call(["--help"]) == 0
    with pytest.raises(InputError):
        layers.layers()
    capsys.readouterr()
    assert call(["config", "show"]) == 2
    assert str(home.user) in capsys.readouterr().err
