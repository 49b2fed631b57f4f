"""Make a container image with Cuesta in `dist/images`, without a registry, and try it.

    python tools/images.py [build|check] [--release DIR] [--out DIR]

`build` needs the wheels of `make release`. It makes a root of Debian 12 with the packages of
`recipes/container/packages.txt`, installs `cuesta` there, and writes `cuesta-VERSION.oci.tar`,
which podman, docker and Apptainer read, `cuesta.def` for Apptainer, and `SHA256SUMS`. `check`
unpacks the image by umoci, and runs it by bubblewrap under an arbitrary user, without a network or
a home folder, where it can write to two folders: the science of the demo and the golden cases.
Needs root, which `check` gives up for what it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import debian
import distributions
import release
import setup
from releasing import archives, oci, roots

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "dist" / "images"
RECIPES = ROOT / "recipes"
SUITE, BASE_IMAGE = "bookworm", "debian:12"
MACHINE, ARCHITECTURE = "x86_64", "amd64"
CUESTA = distributions.DISTRIBUTIONS[0]
SIZE_BYTES_MAX = 200_000_000
"""Bound for all files of the image, unpacked."""
LEFT_OUT = ("usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/doc")
EMPTY = (
    *("boot", "data", "dev", "home", "media", "mnt", "proc", "root", "run", "srv", "sys", "tmp"),
    *("var/cache", "var/lib/apt", "var/log"),
)
"""Folders that an image has without their content."""
PREFIX = "opt/cuesta"
INSTALL = f"""\
python3 -m venv --without-pip /{PREFIX}
set -- /srv/wheels/pip-*.whl
/{PREFIX}/bin/python "$1/pip" install --quiet --no-index --no-compile \\
    --find-links /srv/wheels cuesta
/{PREFIX}/bin/python -m compileall -q --invalidation-mode unchecked-hash /{PREFIX}/lib
"""
USER = 12345
PROGRAMS = ("golden.py", "science.py")


class ImageError(Exception):
    """A fault of an image, in one line."""


def main(arguments: Sequence[str]) -> int:
    """Do what the first word says; without one, build and check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("step", nargs="?", default="", choices=("", "build", "check"))
    parser.add_argument("--release", type=Path, default=release.OUT)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    try:
        if options.step in ("", "build"):
            build(options.release, options.out)
        if options.step in ("", "check"):
            check(options.out)
    except (ImageError, debian.DebianError) as error:
        print(f"images: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        words = " ".join(map(str, error.cmd[:4]))
        text = f"`{words} ...` ended with code {error.returncode}\n{error.stderr or ''}"
        print(f"images: {text}", file=sys.stderr)
        return 1
    return 0


def build(wheels: Path, out: Path) -> None:
    """Write the image, its definition for Apptainer and their sums. Errors: `ImageError`."""
    if not list(wheels.glob(f"{CUESTA.stem}-*{MACHINE}.whl")):
        raise ImageError(f"{wheels} has no wheel of {CUESTA.name} for {MACHINE}; run make release")
    epoch = archives.commit_time()
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    root = make_root()
    install(root, wheels)
    size_bytes = apparent_size(root)
    if size_bytes > SIZE_BYTES_MAX:
        excess = f"{size_bytes:,} bytes, at most {SIZE_BYTES_MAX:,} are allowed"
        raise ImageError(f"the image has {excess}")
    archives.empty(out)
    with tempfile.TemporaryDirectory(dir=out) as folder:
        layout = oci.Layout(Path(folder), epoch)
        base = sorted(path.name for path in root.iterdir() if path.name != "opt")
        layers = [
            layout.layer(root, base, f"mmdebstrap {SUITE} {','.join(packages())}"),
            layout.layer(root, ("opt",), f"pip install cuesta=={distributions.version()}"),
        ]
        layout.write(layers, config(), ARCHITECTURE, distributions.version())
        archive = out / f"cuesta-{distributions.version()}.oci.tar"
        layout.pack(archive)
    definition = (RECIPES / "apptainer" / "cuesta.def").read_text(encoding="utf-8")
    (out / "cuesta.def").write_text(definition, encoding="utf-8")
    release.write_sums(out)
    packed, unpacked = archive.stat().st_size / 1e6, size_bytes / 1e6
    print(f"images: {archive.name}: {packed:.0f} MB, {unpacked:.0f} MB unpacked")


def make_root() -> Path:
    """The root of Debian that the image starts from; `build` empties it of what is not needed."""
    name = f"image-{SUITE}-{MACHINE}"
    options = ["--variant=essential", f"--include={','.join(packages())}"]
    options += [f"--dpkgopt=path-exclude=/{folder}/*" for folder in LEFT_OUT]
    options += ["--dpkgopt=path-include=/usr/share/doc/*/copyright"]
    root = roots.make(name, SUITE, MACHINE, options)
    for folder in (*EMPTY, PREFIX):
        place = root / folder
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    return root


def packages() -> list[str]:
    """Packages of Debian in the image, besides those that each system has."""
    return (RECIPES / "container" / "packages.txt").read_text(encoding="utf-8").split()


def install(root: Path, wheels: Path) -> None:
    """Install the wheel of Cuesta in a root, without a network."""
    work = root / "srv"
    python = roots.PYTHONS[SUITE]
    roots.collect_wheels(work / "wheels", wheels, [CUESTA], MACHINE, python)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "pip"]
    roots.run([*pip, "--dest", str(work / "wheels")])
    roots.run(["unshare", "--net", "chroot", str(root), "sh", "-ec", INSTALL])
    shutil.rmtree(work)
    work.mkdir()


def apparent_size(root: Path) -> int:
    """Bytes of all files of a root, each once."""
    files = {}
    for folder, _, names in os.walk(root):
        for name in names:
            status = Path(folder, name).lstat()
            files[status.st_ino] = status.st_size
    return sum(files.values())


def config() -> dict[str, object]:
    """Settings of a container: no entry point, so that each command works as it is typed."""
    return {
        "Env": [f"PATH=/{PREFIX}/bin:/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"],
        "Cmd": ["/bin/bash"],
        "Labels": labels(),
    }


def labels() -> dict[str, str]:
    """Labels of the image: those of the Open Container Initiative and those of BioContainers."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    version = distributions.version()
    return {
        "org.opencontainers.image.title": CUESTA.name,
        "org.opencontainers.image.description": project["description"],
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": project["license"],
        "base_image": BASE_IMAGE,
        "version": "1",
        "software": CUESTA.name,
        "software.version": version,
        "about.summary": project["description"],
        "about.license": f"SPDX:{project['license']}",
        "about.license_file": "/usr/share/common-licenses/Apache-2.0",
        "about.tags": ",".join(project["keywords"]),
    }


def check(out: Path) -> None:
    """Run the image as a stranger's cluster would. Errors: `ImageError`, `CalledProcessError`."""
    archive = out / f"cuesta-{distributions.version()}.oci.tar"
    if not archive.is_file():
        raise ImageError(f"there is no {archive}; run tools/images.py build")
    if (out / release.SUMS).read_text(encoding="utf-8") != release.sums_of(out):
        raise ImageError(f"{out / release.SUMS} does not have the sums of its files")
    umoci = debian.unpacked("umoci", ["umoci"]) / "usr" / "bin" / "umoci"
    bwrap = debian.unpacked("bubblewrap", ["bubblewrap"]) / "usr" / "bin" / "bwrap"
    with tempfile.TemporaryDirectory(prefix="cuesta-image-") as name:
        folder = Path(name)
        # The user of the image reaches its root by this path.
        folder.chmod(0o755)
        shutil.unpack_archive(archive, folder / "layout", "tar", filter="data")
        image = f"{folder / 'layout'}:{distributions.version()}"
        bundle = folder / "bundle"
        roots.run([str(umoci), "unpack", "--image", image, str(bundle)])
        bundle.chmod(0o755)
        listed = json.loads(roots.run([str(umoci), "stat", "--image", image, "--json"]))
        process = json.loads((bundle / "config.json").read_text(encoding="utf-8"))["process"]
        share = make_share(folder / "share")
        words = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", str(bwrap)]
        words += confinement(bundle / "rootfs", share, process["env"])
        began = time.monotonic()
        print(f"images: {roots.run([*words, 'cuesta', '--version']).strip()}, user {USER}")
        python = f"/{PREFIX}/bin/python"
        science = [python, "/data/science.py", "/data/in", "/data/out/answers"]
        print(f"images: {roots.run([*words, *science]).splitlines()[-1]}")
        print(f"images: {roots.run([*words, python, '/data/golden.py']).strip()}")
        # Nextflow runs a task by a shell of the image, and asks `ps` for what it uses.
        roots.run([*words, "bash", "-c", "ps -o pid= -p $$ && sh -c 'cuesta --help' > /dev/null"])
    seconds = time.monotonic() - began
    layers = len(listed["history"])
    print(f"images: {archive.name}: {layers} layers, all as it should be in {seconds:.0f} s")


def make_share(share: Path) -> Path:
    """A folder that the image sees as `/data`: programs, inputs, and a place for answers."""
    (share / "out").mkdir(parents=True)
    os.chown(share / "out", USER, USER)
    for program in PROGRAMS:
        shutil.copyfile(ROOT / "tools" / "releasing" / program, share / program)
    command = str(setup.VENV / "bin" / "cuesta")
    for name in ("nci60", "ecoli"):
        roots.run([command, "data", "get", name, "-o", str(share / "in")])
    return share


def confinement(root: Path, share: Path, environment: Sequence[str]) -> list[str]:
    """Options of bubblewrap: a root without write access, and no network."""
    words = ["--ro-bind", str(root), "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    words += ["--ro-bind", str(share), "/data", "--bind", str(share / "out"), "/data/out"]
    words += ["--unshare-all", "--die-with-parent", "--chdir", "/data/out", "--clearenv"]
    for variable in environment:
        words += ["--setenv", *variable.partition("=")[::2]]
    return words


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
