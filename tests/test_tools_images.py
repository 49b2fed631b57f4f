"""Container images: what is written is what the format asks for, with equal bytes each time."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
from pathlib import Path
from typing import Any

import distributions
import images
from releasing import oci

ROOT = Path(__file__).resolve().parents[1]
EPOCH = 1_700_000_000


def make_root(folder: Path) -> Path:
    """A small root: a program, a link to it, another name of it, and an empty folder."""
    (folder / "bin").mkdir(parents=True)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    program = folder / "bin" / "program"
    program.write_bytes(b"#!/bin/sh\n")
    program.chmod(0o755)
    (folder / "bin" / "link").symlink_to("program")
    os.link(program, folder / "bin" / "second")
    return folder


def write(root: Path, folder: Path) -> Path:
    """A layout with an image of a root."""
    layout = oci.Layout(folder, EPOCH)
    layers = [layout.layer(root, ("bin",), "made"), layout.layer(root, ("tmp",), "made too")]
    layout.write(layers, images.config(), "amd64", "1.0")
    return folder


def blob(folder: Path, described: dict[str, Any]) -> bytes:
    """The bytes that a description names, which are those of its digest and size."""
    kind, _, digest = str(described["digest"]).partition(":")
    content = (folder / "blobs" / kind / digest).read_bytes()
    assert (hashlib.sha256(content).hexdigest(), len(content)) == (digest, described["size"])
    return content


def test_an_image_has_its_files_by_their_digests(tmp_path: Path) -> None:
    folder = write(make_root(tmp_path / "root"), tmp_path / "layout")
    index = json.loads((folder / "index.json").read_text())
    manifest = json.loads(blob(folder, index["manifests"][0]))
    configuration = json.loads(blob(folder, manifest["config"]))
    archives = [gzip.decompress(blob(folder, layer)) for layer in manifest["layers"]]
    digests = [f"sha256:{hashlib.sha256(archive).hexdigest()}" for archive in archives]
    assert configuration["rootfs"]["diff_ids"] == digests
    with tarfile.open(fileobj=io.BytesIO(archives[0])) as archive:
        members = {member.name: member for member in archive.getmembers()}
    assert list(members) == ["bin", "bin/link", "bin/program", "bin/second"]
    assert (members["bin/link"].linkname, members["bin/second"].linkname) == (
        "program",
        "bin/program",
    )
    assert members["bin/program"].mode == 0o755
    assert max(member.mtime for member in members.values()) <= EPOCH


def test_two_images_of_equal_roots_have_the_same_bytes(tmp_path: Path) -> None:
    archives = []
    for name in ("first", "second"):
        folder = write(make_root(tmp_path / name), tmp_path / f"{name}-layout")
        oci.Layout(folder, EPOCH).pack(tmp_path / f"{name}.tar")
        archives.append((tmp_path / f"{name}.tar").read_bytes())
    assert archives[0] == archives[1]


def test_an_image_runs_each_command_as_it_is_typed() -> None:
    configuration = images.config()
    assert "Entrypoint" not in configuration
    assert "User" not in configuration
    assert images.labels()["software.version"] == distributions.version()


def test_definitions_have_the_packages_and_the_version_of_the_image() -> None:
    container = (ROOT / "recipes" / "container" / "Containerfile").read_text()
    assert "COPY recipes/container/packages.txt" in container
    assert "procps" in images.packages()
    definition = (ROOT / "recipes" / "apptainer" / "cuesta.def").read_text()
    version = distributions.version()
    assert f"From: cuesta-{version}.oci.tar" in definition
    for text in (container, definition):
        assert set(re.findall(r"software\.version\W+([\d.]+)", text)) == {version}
    labels = images.labels()
    for name, value in re.findall(r'([\w.]+)="([^"]*)"', "".join(re.findall("LABEL.*", container))):
        assert labels[name] == value
