"""The set-up names missing parts in a single line, and knows when nothing is to be done."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import setup

ROOT = setup.ROOT


def setup_with(path: Path, level: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "setup.py"), level]
    environment = os.environ | {"PATH": str(path)}
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True)


def fake_program(folder: Path, name: str, output: str = "") -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{output}'\n")
    program.chmod(0o755)


def test_a_missing_compiler_is_reported_in_a_single_line_with_the_package_to_install(
    tmp_path: Path,
) -> None:
    done = setup_with(tmp_path, "build")
    assert done.returncode == 3
    assert done.stderr == "setup: a C compiler is missing: apt-get install build-essential\n"


def test_a_missing_cargo_is_reported_in_a_single_line(tmp_path: Path) -> None:
    fake_program(tmp_path, "cc")
    done = setup_with(tmp_path, "build")
    assert done.returncode == 3
    assert done.stderr.startswith("setup: cargo is missing (Rust 1.")
    assert done.stderr.count("\n") == 1


def test_an_old_rust_is_named_with_the_version_that_is_needed(tmp_path: Path) -> None:
    for name in ("cc", "cargo"):
        fake_program(tmp_path, name)
    fake_program(tmp_path, "rustc", "rustc 1.63.0 (4b91a6ea7 2022-08-08)")
    done = setup_with(tmp_path, "build")
    assert done.returncode == 3
    assert "Rust 1.63.0 is too old" in done.stderr


def test_an_unknown_level_names_the_known_ones(tmp_path: Path) -> None:
    done = setup_with(tmp_path, "everything")
    assert done.returncode == 3
    assert "choose from build, venv, all, test, lock" in done.stderr


def test_a_failed_command_is_reported_in_a_single_line_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "venv", lambda: setup.run(["false"]))
    assert setup.main(["venv"]) == 3
    assert capsys.readouterr().err == "setup: `false ...` failed with code 1\n"


def test_a_stamp_that_is_damaged_counts_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "STAMP", tmp_path / "stamp.json")
    assert setup.stamp() == {}
    setup.write_stamp({"native": "a"})
    setup.write_stamp({"python": "b"})
    assert setup.stamp() == {"native": "a", "python": "b"}
    (tmp_path / "stamp.json").write_text('{"native"')
    assert setup.stamp() == {}


def test_the_digest_depends_on_names_and_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("x")
    second.write_text("y")
    both = setup.digest([first, second])
    assert both == setup.digest([second, first])
    assert both != setup.digest([first])
    second.write_text("z")
    assert both != setup.digest([first, second])


def test_an_archive_is_made_anew_where_what_makes_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands_run: list[list[str]] = []

    def succeeds(command: list[str]) -> bool:
        commands_run.append(command[3:])
        return len(commands_run) != 3

    monkeypatch.setattr(setup, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(setup, "succeeds", succeeds)
    for change in ("", "", "one", "one", "one"):
        monkeypatch.setattr(setup, "digest", lambda _, change=change: f"sources{change}")
        setup.make_archive()
    # After a failure it is tried again.
    assert commands_run == [[], [], ["anew"], ["anew"], []]


def test_the_laboratory_is_installed_where_it_lacks_or_its_metadata_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installs: list[list[str]] = []
    monkeypatch.setattr(setup, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(setup, "run", installs.append)
    for metadata, is_installed in (("a", True), ("a", True), ("a", False), ("b", True)):
        monkeypatch.setattr(setup, "digest", lambda _, metadata=metadata: metadata)
        monkeypatch.setattr(setup, "succeeds", lambda *_, good=is_installed, **__: good)
        setup.install_lab()
    assert len(installs) == 3
    assert all({"--no-index", "--no-build-isolation"} < set(words) for words in installs)


def test_versions_compare_as_numbers() -> None:
    assert setup.version("1.91") < setup.version("1.100.0")


def test_each_declared_dependency_is_pinned() -> None:
    """A dependency that is declared and not pinned would be missing on a fresh machine.

    The lock is a separate file, so a change of pyproject.toml can forget it; `make build` would
    then fail, or pass only where the package happens to be. Only what must be compiled is left out.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {**project["optional-dependencies"]}
    assert [re.split("[><=]", line)[0] for line in extras.pop(setup.COMPILED_EXTRA)] == [
        "mappy",
        "numpy",
    ]
    assert all(extras.pop(name) for name in setup.TOOL_EXTRAS)
    ours = {line for name in setup.OWN for line in extras.pop(name)}
    assert ours == {f"cuesta-lab=={version()}", f"cuesta-store=={version()}"}
    needed: list[str] = []
    for product in (setup.LAB, setup.STORE):
        content = tomllib.loads((product / "pyproject.toml").read_text())
        assert content["project"]["version"] == version()
        needed += content["project"]["dependencies"]
        needed += content["build-system"]["requires"]
    needed.remove(f"cuesta=={version()}")
    declared = [
        *needed,
        *project["dependencies"],
        *(name for extra in extras.values() for name in extra),
    ]
    assert names_of(declared) - pinned_in(setup.REQUIREMENTS) == set()
    assert names_of(needed) - pinned_in(setup.REQUIREMENTS_BUILD) == set()


def names_of(declared: list[str]) -> set[str]:
    return {re.split(r"[\s<>=!~\[;]", line)[0].lower().replace("_", "-") for line in declared}


def pinned_in(requirements: Path) -> set[str]:
    return set(re.findall(r"^([\w.-]+)==", requirements.read_text(), re.MULTILINE))


def test_native_modules_ask_for_the_same_features_of_what_both_use() -> None:
    """A crate whose features differ between the two modules is compiled for each of them.

    Cargo resolves features for the package that it builds, and maturin builds one at a time.
    """
    whole, store = (features(crate) for crate in ("cuesta-python", "cuesta-store-python"))
    both = whole.keys() & store.keys()
    assert "cuesta-store" in {name.split()[0] for name in both}
    assert {name: (whole[name], store[name]) for name in both if whole[name] != store[name]} == {}


def features(crate: str) -> dict[str, set[str]]:
    """The crates that a crate links, each with its features, as Cargo would build them."""
    words = ["cargo", "tree", "--locked", "--offline", "--package", crate, "--no-dedupe"]
    words += ["--edges", "normal,build", "--prefix", "none", "--format", "{p}|{f}"]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    built: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        name, _, text = line.partition("|")
        # A crate may be built for the machine that compiles too, with other features.
        built.setdefault(name.removesuffix(" (*)"), set()).add(text.removesuffix(" (*)"))
    return built


def version() -> str:
    """The version of all products."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    return str(workspace["package"]["version"])
