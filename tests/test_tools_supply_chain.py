"""`tools/supply_chain.py`: the parts that Cuesta is built from and installs."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import setup  # noqa: E402
import supply_chain  # noqa: E402


@pytest.mark.parametrize("name", supply_chain.LOCKS)
def test_each_pinned_package_has_a_hash(name: str) -> None:
    """`pip` installed any archive that an index had under the name and version: the locks pinned
    versions alone, so a replaced archive, or a proxy, would have run its code in `make build`. Now
    each has a hash.
    """
    text = (ROOT / "tools" / name).read_text("utf-8")
    names = re.findall(r"^([\w.-]+)==", text, re.MULTILINE)
    assert len(names) > 20
    for package in names:
        assert "--hash=sha256:" in setup.pinned(package, ROOT / "tools" / name), package


def test_a_pin_has_all_its_hashes_and_no_other_package(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(
        "a==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\na-b==2 \\\n    --hash=x\n"
    )
    expected = "a==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n"
    assert setup.pinned("a", lock) == expected
    with pytest.raises(setup.SetupError, match="does not pin b"):
        setup.pinned("b", lock)


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(Apache-2.0 AND BSD-3-Clause) OR GPL-2.0-only", True),
        ("GPL-2.0-or-later", False),
        ("none named", False),
    ],
)
def test_an_expression_of_licences_is_understood(expression: str, allowed: bool) -> None:
    assert supply_chain.is_allowed(expression) == allowed


def test_a_package_under_another_licence_is_refused() -> None:
    """igraph, which tests alone use, is under the GPL: as a dependency it is refused."""
    licences: dict[str, str] = {}
    supply_chain.collect(Requirement("igraph"), licences)
    assert not supply_chain.is_allowed(licences["igraph"])
    assert supply_chain.licence(metadata.metadata("igraph")) == licences["igraph"]


def test_what_the_wheel_installs_is_checked_with_all_that_it_requires() -> None:
    licences: dict[str, str] = {}
    supply_chain.collect(Requirement("typer"), licences)
    assert {"typer", "rich", "pygments"} <= licences.keys()
    assert supply_chain.check_packages() >= 30


def test_packages_of_this_repository_need_not_be_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`make lint` prepares packages of others alone, and would have refused `cuesta-lab`."""
    distribution = metadata.distribution

    def without_ours(name: str) -> metadata.Distribution:
        if name in supply_chain.OURS:
            raise metadata.PackageNotFoundError(name)
        return distribution(name)

    monkeypatch.setattr(metadata, "distribution", without_ours)
    assert supply_chain.check_packages() >= 30
