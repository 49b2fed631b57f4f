"""The files of a release: faults that are refused, and one version everywhere."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest

import distributions
import release
from releasing import checks, notices

ROOT = Path(__file__).resolve().parents[1]
MODULE = ROOT / "python" / "cuesta" / "_native.abi3.so"


def wheel(folder: Path, members: dict[str, str], stem: str = "cuesta") -> Path:
    """An archive of this content with the name of a wheel."""
    path = folder / f"{stem}-0.0.0-cp311-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_all_files_but_the_changelog_have_the_same_version() -> None:
    versions = distributions.versions()
    assert len(versions) >= 3 + len(distributions.DISTRIBUTIONS) - 1
    assert set(versions.values()) - {versions.pop("CHANGELOG.md")} == {distributions.version()}


def test_a_tag_of_another_version_is_refused() -> None:
    with pytest.raises(release.ReleaseError, match=r"v9.9.9 does not name version"):
        release.check_tag("v9.9.9")


def test_a_file_that_is_not_in_the_sums_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"a")
    release.write_sums(tmp_path)
    sums = (tmp_path / release.SUMS).read_text()
    assert re.fullmatch(r"[0-9a-f]{64}  a\.whl\n", sums)
    (tmp_path / "b.whl").write_bytes(b"b")
    with pytest.raises(release.ReleaseError, match="does not have the sums"):
        release.check(tmp_path)


def test_a_wheel_without_specification_or_jars_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"cuesta/__init__.py": ""})
    with pytest.raises(checks.CheckError, match=r"lacks .*params.toml, .*points.npy, .*jobs.jar"):
        checks.check_contents(path, checks.owner(path), checks.members(path))


def test_a_store_without_its_jar_or_notices_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"cuesta_store/__init__.py": ""}, "cuesta_store")
    with pytest.raises(checks.CheckError, match=r"store.jar, .*licenses/THIRD-PARTY.txt"):
        checks.check_contents(path, checks.owner(path), checks.members(path))
    source = tmp_path / "cuesta_store-0.0.0.tar.gz"
    with pytest.raises(checks.CheckError, match=r"store.jar, Cargo.lock, THIRD-PARTY.txt"):
        checks.check_contents(source, checks.owner(source), set())


def test_a_jar_that_belongs_to_no_distribution_is_refused(tmp_path: Path) -> None:
    names = {*checks.SPECIFICATION, *checks.JARS["cuesta"]}
    names.add(f"cuesta-0.0.0.dist-info/licenses/{notices.NAME}")
    complete = wheel(tmp_path, dict.fromkeys(names, ""))
    checks.check_contents(complete, checks.owner(complete), checks.members(complete))
    other = wheel(tmp_path, dict.fromkeys({*names, "cuesta/jars/old.jar"}, ""))
    with pytest.raises(checks.CheckError, match=r"should not: cuesta/jars/old.jar"):
        checks.check_contents(other, checks.owner(other), checks.members(other))


def test_a_module_that_needs_a_newer_glibc_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "GLIBC_MAX", (2, 2))
    with pytest.raises(checks.CheckError, match="above"):
        checks.check_module("module", MODULE)


@pytest.mark.parametrize("product", notices.NATIVE, ids=lambda product: product.name)
def test_a_bill_of_materials_without_a_crate_is_refused(
    tmp_path: Path, product: distributions.Distribution
) -> None:
    names = sorted(notices.names_of_module(product))
    assert len(names) > 50
    parts = [dict(zip(("name", "version"), name.split(), strict=True)) for name in names]
    place = f"{product.stem}-0.0.0.dist-info/sboms/a.cyclonedx.json"
    complete = wheel(tmp_path, {place: json.dumps({"components": parts})}, product.stem)
    assert checks.check_sbom(complete, product) == len(names)
    lacking = wheel(tmp_path, {place: json.dumps({"components": parts[1:]})}, product.stem)
    with pytest.raises(checks.CheckError, match=re.escape(names[0])):
        checks.check_sbom(lacking, product)


@pytest.mark.parametrize("product", notices.NATIVE, ids=lambda product: product.name)
def test_notices_of_another_lock_are_refused(product: distributions.Distribution) -> None:
    text = (product.folder / notices.NAME).read_text()
    names = notices.names_of_module(product)
    notices.check_text(text, names)
    stale = re.sub(r"^rustix \d.*\n", "", text, flags=re.MULTILINE)
    with pytest.raises(notices.StaleNotices, match=r"differ in rustix \d"):
        notices.check_text(stale, names)


def test_texts_of_libraries_in_c_are_among_the_notices() -> None:
    text = (ROOT / notices.NAME).read_text()
    assert "liblzma-sys\n" in text
    assert "Meta Platforms" in text


def test_all_distributions_are_in_the_list() -> None:
    folders = {path.parent for path in ROOT.glob("packages/*/pyproject.toml")} | {ROOT}
    assert {each.folder for each in distributions.DISTRIBUTIONS} == folders


def test_actions_of_workflows_are_pinned_by_hash() -> None:
    files = [*(ROOT / ".github" / "workflows").glob("*.yml")]
    uses = [line for file in files for line in re.findall(r"uses: (.*)", file.read_text())]
    assert len(uses) >= 5
    pinned = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [line for line in uses if not pinned.fullmatch(line)] == []
