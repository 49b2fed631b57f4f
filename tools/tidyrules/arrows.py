"""The arrows of the architecture that must not exist ("How data flows")."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath

from tidyrules import Finding, SourceFile, line_of
from tidyrules.imports import imported, parts_in_root

_FOUNDATIONS = frozenset(
    {"answer", "bindings", "ceiling", "core", "input", "runtime", "store", "testkit"}
)
_OUTER = frozenset({"bench", "python", "store-python"})
"""Every other crate has workloads."""
_IMPLEMENTS = {"pga": "assembly"}
"""By crate of a method, the workload crate whose seam it implements, which it may use."""

_KERNEL = re.compile(r"^crates/[^/]+/src/(?:.*/)?kernel(?:\.rs$|/)")
_KERNEL_FORBIDS = re.compile(
    r"\b(?:std|tokio)::(?:fs|io|time|net|process|env)\b"
    r"|\buse\s+std::\{[^;]*\b(?:fs|io|time|net|process|env)\b"
    r"|\b(?:println|eprintln|print|eprint|dbg)!"
    r"|\b(?:log|tracing|rustix|libc|memmap2)::"
)

_CACHE = re.compile(r"^crates/store/src/cache/")
_CACHE_FORBIDS = re.compile(
    r"\bstd::(?:fs|os|time|net|process|env|thread)\b"
    r"|\buse\s+std::\{[^;]*\b(?:fs|os|time|net|process|env|thread)\b"
    r"|\b(?:rustix|libc|fuser)::"
    r"|\bcrate::(?!(?:cache|path|under)\b)\w+"
)

_APART = (
    (re.compile(r"^crates/store/src/store/"), re.compile(r"\bcrate::peers\b")),
    (re.compile(r"^crates/store/src/peers/"), re.compile(r"\bcrate::store\b")),
)
"""A store and its peers, and how each would name the other."""

_OTHER_CRATES = re.compile(r"^crates/(?!store/|store-python/)")
_STORE_INSIDE = re.compile(r"\bcuesta_store::(?!client\b)\w+")
"""Modules of the crate of the store that other crates must not link."""

_DETECTS = re.compile(r"\bis_x86_feature_detected!")
_DETECTION = "crates/core/src/cpu.rs"
"""File that detects the processor, in which a test can reduce its features."""

_NAMELESS = frozenset({
    ("cuesta", "lab"), ("cuesta", "report"),
    ("cuesta_lab", "machines"), ("cuesta_lab", "report"), ("cuesta_lab", "study"),
})  # fmt: skip
"""Packages that name no engine's library and no workload: these contribute by hooks."""
_CARRIERS = (("cuesta", "engines", "spark"), ("cuesta", "engines", "mpi"))
"""Packages of engines that name no workload: they carry rounds."""
_LIBRARIES = re.compile(r"(?i)spark|tiledb|parquet|hadoop|hdfs|mpi4py|\bmpi\b")
_PHASES = frozenset({"load"})
"""Workloads whose name is that of a phase of any workload too."""

_MODULE_NAME = re.compile(r"cuesta(?:_lab|_store)?(?:\.\w+)+")
_OF_LAB = re.compile(r"^cuesta_lab\b")
_OF_STORE = re.compile(r"^cuesta_store\b")
_ABOVE_STORE = re.compile(r"^cuesta(?:_lab)?(?:\.(?!hadoop\b)|$)")
_MEETS_STORE = re.compile(r"^python/cuesta/(?:store/\w+|cluster/node_store|report/simulation)\.py$")
"""Modules of `cuesta` that use the package of the store, where that is installed."""
_NO_ENGINE = re.compile(r"^cuesta\.engines\b")
_NO_ENGINE_BY_NAME = re.compile(r"^cuesta\.engines\.[a-z]")
_PYTHON_FORBIDS = {
    "report": (_NO_ENGINE, "a report must not import an engine"),
    "lab": (_NO_ENGINE_BY_NAME, "the lab must not import an engine by name"),
    "engines": (
        re.compile(r"^cuesta\.(?:lab|report|assess|api|cli)\b"),
        "an engine must not know who runs it; values they share are beside the packages",
    ),
    "workloads": (
        re.compile(r"^cuesta\.(?:lab|report|engines|assess|api|cli)\b"),
        "a workload must not know who runs it or shows it",
    ),
}
_LAB_FORBIDS = {
    "report": (_NO_ENGINE, "a report must not import an engine"),
    "study": (_NO_ENGINE_BY_NAME, "a study must not import an engine by name"),
    "machines": (_NO_ENGINE_BY_NAME, "a factor of the machine must not import an engine by name"),
    "model": (
        re.compile(
            r"^cuesta\.(?:engines|workloads|store|assess|report|api|cli)\b"
            r"|^cuesta_lab\.(?:study|report|cli)\b"
        ),
        "a model reads records and tables; it knows nobody who runs or shows them",
    ),
}


_FORBIDS = {"cuesta": _PYTHON_FORBIDS, "cuesta_lab": _LAB_FORBIDS}


def check(file: SourceFile) -> Iterator[Finding]:
    """Crates, kernels and packages that reach where they must not."""
    path = PurePosixPath(file.path)
    if path.name == "Cargo.toml" and path.parts[0] == "crates":
        yield from _crate(file, path.parts[1])
    if file.suffix == ".rs" and _KERNEL.match(file.path):
        rule = "a kernel does no I/O, reads no clock, logs nothing"
        yield from _pure(file, _KERNEL_FORBIDS, rule)
    if file.suffix == ".rs" and _CACHE.match(file.path):
        yield from _pure(file, _CACHE_FORBIDS, "the cache decides; the rest of the store does I/O")
    if file.suffix == ".rs":
        yield from _rust(file)
        for place, forbids in _APART:
            if place.match(file.path):
                yield from _pure(file, forbids, "a store and its peers meet in crate::sharing")
    parts = parts_in_root(file.path)
    if file.suffix == ".py" and parts:
        yield from _package(file, *parts[:2])
        if parts[:2] in _NAMELESS:
            yield from _libraries(file)
        if parts[:2] in _NAMELESS or parts[:3] in _CARRIERS:
            yield from _workloads(file)


def _rust(file: SourceFile) -> Iterator[Finding]:
    """Detection of the processor, and parts of the store, outside their places."""
    if file.path != _DETECTION:
        for match in _DETECTS.finditer(file.code):
            message = "ask cuesta_core::cpu, so that tests can force each level"
            yield file.finding(line_of(file.code, match.start()), "arrow", message)
    if _OTHER_CRATES.match(file.path):
        for match in _STORE_INSIDE.finditer(file.code):
            message = f"{match[0]}: other crates link the client of the store alone"
            yield file.finding(line_of(file.code, match.start()), "arrow", message)


def _libraries(file: SourceFile) -> Iterator[Finding]:
    """Names of libraries of engines."""
    for match in _LIBRARIES.finditer(file.text):
        number = line_of(file.text, match.start())
        yield file.finding(number, "arrow", f"{match[0]}: an engine itself says what it has")


def _workloads(file: SourceFile) -> Iterator[Finding]:
    """Names of workloads as words of their own."""
    folders = file.root.glob("spec/workloads/*/params.toml")
    workloads = {folder.parent.name for folder in folders} - _PHASES
    for number, word in _constants(file):
        if word in workloads:
            yield file.finding(number, "arrow", f"{word}: a workload says itself what it has")


def _constants(file: SourceFile) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(file.text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _crate(file: SourceFile, crate: str) -> Iterator[Finding]:
    manifest = tomllib.loads(file.text)
    tables = [manifest, *manifest.get("target", {}).values()]
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    names = {name for table in tables for kind in kinds for name in table.get(kind, {})}
    for name in sorted(names):
        other = name.removeprefix("cuesta-")
        if name != other and _forbidden(crate, other):
            number = line_of(file.text, max(0, file.text.find(name, file.text.find("depend"))))
            yield file.finding(number, "arrow", f"crate {crate} must not depend on {other}")


def is_workload(crate: str) -> bool:
    """Whether a crate is that of a workload family."""
    return crate not in _FOUNDATIONS | _OUTER


def _forbidden(crate: str, other: str) -> bool:
    return not (crate in _OUTER or other in _FOUNDATIONS or other == _IMPLEMENTS.get(crate))


def _pure(file: SourceFile, forbids: re.Pattern[str], rule: str) -> Iterator[Finding]:
    for match in forbids.finditer(file.code_without_tests):
        number = line_of(file.code, match.start())
        yield file.finding(number, "arrow", f"{match[0].split()[-1]}: {rule}")


def _package(file: SourceFile, product: str, package: str = "") -> Iterator[Finding]:
    """Imports that a package of a product must not have."""
    rules = []
    if product == "cuesta":
        rules.append((_OF_LAB, "the laboratory is above; entry points find what it adds"))
        if not _MEETS_STORE.match(file.path):
            rules.append((_OF_STORE, "it may be missing; use cuesta.store, which says so"))
    if product == "cuesta_store":
        rules.append((_ABOVE_STORE, "the store is below; entry points find what it uses"))
    rule = _FORBIDS.get(product, {}).get(package)
    if rule is not None:
        rules.append(rule)
    for number, module in _imports(file):
        for forbidden, message in rules:
            if forbidden.match(module):
                yield file.finding(number, "arrow", f"{module}: {message}")


def _imports(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Every module that a Python file imports or names in a string."""
    yield from imported(file)
    for number, text in _constants(file):
        if _MODULE_NAME.fullmatch(text):
            yield number, text
