"""Commands and pages of other products are found by entry points, and named where they lack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from cuesta import errors, plugins, store
from cuesta.cli import commands, products
from cuesta.cli.app import call
from cuesta.report import extensions
from cuesta_lab.report.studies import FILE_NAME, SCHEMA
from cuesta_store import control
from cuesta_store import errors as store_errors
from cuesta_store.cli.app import call as store_call
from cuesta_store.client import Refusal
from cuesta_store.control import StoreSettings

PACKAGES = Path(__file__).resolve().parent.parent / "packages"
LAB, STORE = (PACKAGES / name / "pyproject.toml" for name in ("lab", "store"))
LINE = "is a command of cuesta-{extra}, which is not installed; "
LINE += "pip install 'cuesta[{extra}]' --find-links RELEASE"
OF_LAB = {name for name, each in products.COMMANDS.items() if each.extra == "lab"}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuesta without any other product."""
    monkeypatch.setattr(metadata, "entry_points", lambda **_: ())


def study(folder: Path) -> Path:
    folder.mkdir()
    (folder / "study.json").write_text(json.dumps({"schema": SCHEMA}))
    return folder


def test_the_table_has_the_entry_points_of_the_package() -> None:
    declared = tomllib.loads(LAB.read_text())["project"]["entry-points"]
    assert set(declared[products.GROUP]) == OF_LAB < set(commands.COMMANDS)
    assert list(declared[extensions.GROUP]) == ["study"]
    of_store = tomllib.loads(STORE.read_text())["project"]["entry-points"]
    assert set(of_store[products.GROUP]) == products.COMMANDS.keys() - OF_LAB == {"store"}
    assert (extensions.STUDY_FILE, extensions.STUDY_SCHEMA) == (FILE_NAME, SCHEMA)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "words",
    [
        "study",
        "store start --under .",
        "study run none -o out",
        "explain --help",
        "model fit a",
        "advise -x 1",
    ],
)
def test_a_missing_product_is_named_with_its_remedy(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(words.split()) == 3
    name = words.split()[0]
    line = LINE.format(extra=products.COMMANDS[name].extra)
    assert capsys.readouterr().err == f"cuesta: `cuesta {name}` {line}\n"


@pytest.mark.usefixtures("alone")
def test_help_lists_the_commands_of_a_missing_product(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"│ {name} " in text for name in commands.COMMANDS)
    words = " ".join(text.replace("│", "").split())
    assert words.count("(cuesta-lab).") == len(OF_LAB)
    assert words.count("(cuesta-store).") == 1


@pytest.mark.usefixtures("alone")
def test_a_page_of_a_study_without_its_product_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, page = study(tmp_path / "of a study"), tmp_path / "page.html"
    assert call(["report", str(folder), "-o", str(page)]) == 3
    line = f"cuesta: report: {folder} is a study, which needs pip install 'cuesta[lab]'"
    assert capsys.readouterr().err == f"{line} --find-links RELEASE\n"
    assert not page.exists()


def test_the_page_of_a_study_is_written_by_its_product(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert call(["report", str(study(tmp_path / "of a study")), "-o", str(page)]) == 0
    assert 'id="study-title"' in page.read_text()


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed distribution whose entry point is in a package of the folder."""
    about = tmp_path / "gone-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: gone\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[cuesta.tests]\nit = gone.module:thing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("gone", None)


def test_metadata_without_its_package_count_as_not_installed(broken: Path) -> None:
    assert plugins.plugin("cuesta.tests", "it") is None


def test_a_package_that_lacks_another_names_it(broken: Path) -> None:
    (broken / "gone").mkdir()
    (broken / "gone/__init__.py").write_text("")
    (broken / "gone/module.py").write_text("import no_such_package\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        plugins.plugin("cuesta.tests", "it")


def test_a_command_of_cuesta_reads_no_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: str) -> None:
        raise AssertionError("entry points were read")

    monkeypatch.setattr(metadata, "entry_points", refuse)
    assert call(["data", "list"]) == 0
    assert call(["study", "list"]) == 70


STORELESS = """
import sys
from importlib.machinery import PathFinder

class Without:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Without)
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {names!r} else find_spec(name)
"""
"""A process in which packages are not installed."""


def without(names: set[str], program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program where these packages are not installed."""
    return subprocess.run(
        [sys.executable, "-c", STORELESS.format(names=names) + program],
        capture_output=True, text=True, check=False, env=os.environ | variables,
    )  # fmt: skip


def test_the_store_works_where_nothing_else_is(tmp_path: Path) -> None:
    under = tmp_path / "under"
    under.mkdir()
    (under / "a").write_text("content")
    program = f"""
from cuesta_store.cli.app import call
start = ["start", "--under", {str(under)!r}, "--memory", "1MiB", "--block", "64KiB"]
codes = [call(start), call(["cat", "/a"]), call(["ls", "/none"]), call(["stop"])]
sys.exit(codes != [0, 0, 2, 0])
"""
    done = without({"cuesta", "cuesta_lab"}, program, CUESTA_STORE=str(tmp_path / "store"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "content"


def test_inputs_in_a_running_store_need_no_package_of_it(tmp_path: Path) -> None:
    under = tmp_path / "under"
    under.mkdir()
    (under / "a").write_text("content")
    folder = tmp_path / "store"
    control.start(StoreSettings(under=under, memory_bytes=1 << 20, block_bytes=1 << 16), folder)
    program = f"""
from pathlib import Path
from cuesta import outputs, uris
assert uris.missing("cuesta:///a") is None
assert uris.sizes("cuesta:///a") == [7]
assert outputs._local("cuesta:///a") == Path({str(under)!r}, "a")
"""
    try:
        done = without({"cuesta_store"}, program, CUESTA_STORE=str(folder))
    finally:
        control.stop(folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "call",
    [
        'uris.sizes("cuesta:///a"); print(uris.missing("cuesta:///a"))',
        'store.require("--store")',
        'cli.call("cluster up --nodes 1 --store 1GiB --under /tmp -o none".split())',
    ],
)
def test_what_needs_a_store_names_its_package(call: str, tmp_path: Path) -> None:
    program = f"""
from cuesta import errors, store, uris
from cuesta.cli import app as cli
try:
    {call}
except errors.CuestaError as error:
    print(error, uris.missing("cuesta:///a"))
"""
    done = without({"cuesta_store"}, program, CUESTA_STORE=str(tmp_path / "none"))
    assert done.returncode == 0, done.stderr
    assert "pip install 'cuesta[store]' --find-links RELEASE" in done.stdout + done.stderr


def test_errors_of_the_store_are_those_of_cuesta_where_it_is_used() -> None:
    with pytest.raises(errors.InputError, match=r"^refused$"), store.translated():
        raise Refusal("refused")
    with pytest.raises(errors.EngineMissing, match=r"^none runs$"), store.translated():
        raise store_errors.EngineMissing("none runs")


def test_both_sides_agree_on_where_the_store_is() -> None:
    assert (store.VARIABLE, store.MEMORY_ROOT) == (control.VARIABLE, control.MEMORY_ROOT)


def test_an_error_of_another_product_ends_the_command_with_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "none"))
    assert call(["store", "status"]) == 3
    line = capsys.readouterr().err
    assert line.startswith(f"cuesta: no store runs in {tmp_path / 'none'}")
    assert store_call(["status"]) == 3
    alone = line.replace("cuesta: ", "cuesta-store: ", 1)
    assert capsys.readouterr().err == alone.replace("`cuesta store start`", "`cuesta-store start`")
