"""Container images in the layout of the Open Container Initiative, written without a registry.

Equal roots make equal bytes: files are in the order of their names, and no time is later than that
of the release. Format: the image specification of the initiative, version 1.0.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TYPE = "application/vnd.oci.image"
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Files of an image: a compressed archive in the layout."""

    digest: str
    """SHA-256 of the compressed bytes, in hex."""
    content_digest: str
    """SHA-256 of the archive before it was compressed, in hex."""
    size_bytes: int
    what: str
    """Command that made it, for the history of the image."""


@dataclass(frozen=True)
class Layout:
    """A folder with an image, which `write` completes."""

    folder: Path
    epoch: int
    """Latest time of any file, in seconds since 1970."""

    def layer(self, root: Path, names: Sequence[str], what: str) -> Layer:
        """Add an archive of these folders and files of a root, with all that is below them."""
        blobs = self._blobs()
        plain, packed = blobs / "layer.tar", blobs / "layer.tar.gz"
        with tarfile.open(plain, "w", format=tarfile.PAX_FORMAT) as archive:
            for name in _below(root, names):
                self._add(archive, root, name)
        with (
            plain.open("rb") as source,
            packed.open("wb") as target,
            # Neither the name of the file nor the time of packing is in its head.
            gzip.GzipFile("", "wb", 6, target, mtime=0) as compressed,
        ):
            shutil.copyfileobj(source, compressed, CHUNK_BYTES)
        digest, content_digest = _digest(packed), _digest(plain)
        plain.unlink()
        packed.rename(blobs / digest)
        size_bytes = (blobs / digest).stat().st_size
        return Layer(digest=digest, content_digest=content_digest, size_bytes=size_bytes, what=what)

    def write(
        self, layers: Sequence[Layer], config: Mapping[str, Any], architecture: str, tag: str
    ) -> None:
        """Write the configuration, the manifest and the index of an image of these layers."""
        created = datetime.fromtimestamp(self.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        image = {
            "created": created,
            "architecture": architecture,
            "os": "linux",
            "config": dict(config),
            "rootfs": {
                "type": "layers",
                "diff_ids": [f"sha256:{layer.content_digest}" for layer in layers],
            },
            "history": [{"created": created, "created_by": layer.what} for layer in layers],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{TYPE}.manifest.v1+json",
            "config": self._blob(image, f"{TYPE}.config.v1+json"),
            "layers": [
                {
                    "mediaType": f"{TYPE}.layer.v1.tar+gzip",
                    "digest": f"sha256:{layer.digest}",
                    "size": layer.size_bytes,
                }
                for layer in layers
            ],
            "annotations": config.get("Labels", {}),
        }
        described = self._blob(manifest, f"{TYPE}.manifest.v1+json") | {
            "platform": {"architecture": architecture, "os": "linux"},
            "annotations": {"org.opencontainers.image.ref.name": tag},
        }
        index = {
            "schemaVersion": 2,
            "mediaType": f"{TYPE}.index.v1+json",
            "manifests": [described],
        }
        (self.folder / "index.json").write_bytes(_json(index))
        (self.folder / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))

    def pack(self, archive: Path) -> None:
        """Write the layout as one file, which `podman load` and others read."""
        with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as target:
            for name in _below(self.folder, ("oci-layout", "index.json", "blobs")):
                self._add(target, self.folder, name)

    def _add(self, archive: tarfile.TarFile, root: Path, name: str) -> None:
        member = archive.gettarinfo(str(root / name), name)
        member.uname = member.gname = ""
        member.mtime = min(int(member.mtime), self.epoch)
        if member.isreg():
            with (root / name).open("rb") as content:
                archive.addfile(member, content)
        else:
            archive.addfile(member)

    def _blob(self, document: Mapping[str, Any], media_type: str) -> dict[str, Any]:
        content = _json(document)
        digest = hashlib.sha256(content).hexdigest()
        (self._blobs() / digest).write_bytes(content)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    def _blobs(self) -> Path:
        folder = self.folder / "blobs" / "sha256"
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _below(root: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield names and all below them, each before its content, in order."""
    for name in names:
        yield name
        path = root / name
        if path.is_dir() and not path.is_symlink():
            inner = sorted(entry.name for entry in os.scandir(path))
            yield from _below(root, [f"{name}/{entry}" for entry in inner])


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"
