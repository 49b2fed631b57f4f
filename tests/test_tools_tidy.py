"""Each rule of `tools/tidy.py` has a case that fails, and a similar case that passes."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
import tidykit
from tidyrules import SourceFile, types
from tidyrules.functions import functions_of


def rules_broken(root: Path, path: str, text: str) -> set[str]:
    """Return the names of the rules that a file with this text breaks."""
    for workload in ("kmeans", "load", "scan"):
        page = root / "spec" / "workloads" / workload / "params.toml"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.touch()
    return tidykit.rules_broken(root, path, text)


def python_function(body_lines: int) -> str:
    return "def f() -> None:\n" + "    pass\n" * body_lines


def rust_file(lines: int, test_lines: int) -> str:
    tests = "#[cfg(test)]\nmod tests {\n" + "    // t\n" * test_lines + "}\n"
    return "// a\n" * lines + (tests if test_lines else "")


NOTE = "TO" + "DO"
OVER = "x" * 101
MACHINE = "/" + "root/data"
BROKEN = [
    ("a.py", f"# {OVER}\n", "line-width"),
    ("a.md", "word " * 21 + "\n", "line-width"),
    ("a.py", python_function(70), "function-length"),
    ("a.rs", "fn f() {\n" + "    g();\n" * 69 + "}\n", "function-length"),
    ("A.java", "class A {\n  void f() {\n" + "    g();\n" * 69 + "  }\n}\n", "function-length"),
    ("a.scala", "object A {\n  def f = {\n" + "    g()\n" * 69 + "  }\n}\n", "function-length"),
    ("a.py", "def f(a, b, c, *, d, e, g): ...\n", "parameters"),
    ("a.py", "class A:\n    def f(self, a, b, c, d, e, *g): ...\n", "parameters"),
    ("a.py", "def f(a, b: tuple[A, B], c: tuple[C, D, E]): ...\n", "parameters"),
    ("a.py", "def f(a: tuple[A, tuple[B, C], tuple[D, E, F]]): ...\n", "parameters"),
    ("a.py", "def f(a, b, c, *, d, e: tuple[A, B] | None = None): ...\n", "parameters"),
    (
        "a.rs",
        "fn f<A: Fn(u8, u8)>(&self, a: A, b: (u8, u8), c: B<A, B>, d: u8, e: u8, f: u8);\n",
        "parameters",
    ),
    ("A.java", "class A { int f(int a, int b, int c, int d, int e, int f) { } }\n", "parameters"),
    ("a.scala", "def f(a: Int, b: Int, c: Int)(d: Int, e: Int, f: Int): Int = a\n", "parameters"),
    ("a.py", "# a\n" * 401, "file-length"),
    ("a.pyi", f"# Written by hand from x; change that instead.\n# {OVER}\n", "line-width"),
    ("a.rs", rust_file(401, 0), "file-length"),
    ("a.bin", "x" * 200_001, "file-bytes"),
    ("a.rs", f"// {NOTE}: later\n", "unowned-note"),
    ("a.md", f"see {MACHINE}\n", "machine-path"),
    ("a.rs", "// -----\n", "banner"),
    ("a.py", "# ==== part ====\n", "banner"),
    ("a.rs", "// let x = 1;\n", "commented-code"),
    ("a.md", "[x](gone.md)\n", "dead-link"),
    ("a.md", "# Here\n[x](#there)\n", "dead-link"),
    ("a.md", "![x](gone.svg)\n", "dead-link"),
    ("a.md", "[x]: gone.md\n", "dead-link"),
    ("crates/store/Cargo.toml", "[dependencies]\ncuesta-network.workspace = true\n", "arrow"),
    ("crates/network/Cargo.toml", '[dev-dependencies]\ncuesta-sort = "1"\n', "arrow"),
    ("crates/assembly/Cargo.toml", "[dependencies]\ncuesta-pga.workspace = true\n", "arrow"),
    ("crates/pga/Cargo.toml", "[dependencies]\ncuesta-network.workspace = true\n", "arrow"),
    ("crates/core/Cargo.toml", '[dependencies]\ncuesta-python = "1"\n', "arrow"),
    ("crates/network/src/kernel.rs", "use std::fs::File;\n", "arrow"),
    ("crates/store/src/cache/policy/a.rs", "use std::fs::File;\n", "arrow"),
    ("crates/store/src/cache/a.rs", "use crate::store::Store;\n", "arrow"),
    ("crates/store/src/peers/a.rs", "use crate::store::Store;\n", "arrow"),
    ("crates/store/src/store/a.rs", "use crate::peers::Peers;\n", "arrow"),
    ("crates/input/src/a.rs", 'is_x86_feature_detected!("avx2")\n', "arrow"),
    ("crates/network/src/kernel/a.rs", "use std::{fs, mem};\n", "arrow"),
    ("crates/network/src/kernel/a.rs", "fn f() { std::time::Instant::now(); }\n", "arrow"),
    ("crates/network/src/kernel/a.rs", 'fn f() { println!("x"); }\n', "arrow"),
    ("python/cuesta/report/a.py", "from cuesta.engines import get_engine\n", "arrow"),
    ("python/cuesta/report/a.py", "def f():\n    import cuesta.engines\n", "arrow"),
    ("python/cuesta/lab/a.py", "from ..engines.native import N\n", "arrow"),
    ("python/cuesta/lab/a.py", 'm = import_module("cuesta.engines.spark")\n', "arrow"),
    ("packages/store/cuesta_store/a.py", "import cuesta.workloads\n", "arrow"),
    ("packages/store/cuesta_store/a.py", "def f():\n    from cuesta import errors\n", "arrow"),
    ("packages/store/cuesta_store/a.py", "import cuesta_lab\n", "arrow"),
    ("python/cuesta/uris.py", "def f():\n    from cuesta_store import control\n", "arrow"),
    ("crates/input/src/a.rs", "use cuesta_store::daemon::serve;\n", "arrow"),
    ("python/cuesta/engines/a.py", "from cuesta.lab import run\n", "arrow"),
    ("python/cuesta/workloads/a.py", "from cuesta.engines import Engine\n", "arrow"),
    ("python/cuesta/lab/a.py", '"""Brings Parquet along."""\n', "arrow"),
    ("python/cuesta/a.py", "import cuesta_lab\n", "arrow"),
    ("python/cuesta/cli/a.py", "def f():\n    from cuesta_lab.cli import study\n", "arrow"),
    ("python/cuesta/cli/a.py", 'PAGES = {"study": "cuesta_lab.report.page"}\n', "arrow"),
    ("packages/lab/cuesta_lab/study/a.py", "from cuesta.engines.native import N\n", "arrow"),
    ("packages/lab/cuesta_lab/study/a.py", "if t.workload == 'scan':\n    pass\n", "arrow"),
    ("packages/lab/cuesta_lab/model/a.py", "from ..study import cells\n", "arrow"),
    ("packages/lab/cuesta_lab/report/a.py", "from cuesta.engines import get_engine\n", "arrow"),
    ("python/cuesta/lab/a.py", "x = is_at('hdfs://a')\n", "arrow"),
    ("python/cuesta/report/a.py", "if run.workload == 'kmeans':\n    pass\n", "arrow"),
    ("python/cuesta/engines/spark/a.py", "if trial.workload == 'scan':\n    pass\n", "arrow"),
    ("python/cuesta/engines/mpi/a.py", "x = {'kmeans': 1}\n", "arrow"),
    ("python/cuesta/lab/a.py", "x = isinstance(engine, str)\n", "engine"),
    ("python/cuesta/cli/a.py", "x = hasattr(trial.engine, 'close')\n", "engine"),
    ("bench/a.py", "x = getattr(first_engine, 'close', None)\n", "engine"),
    (
        "python/cuesta/cli/a.py",
        "from cuesta.engines import Engine as E\nx = isinstance(y, str | E)\n",
        "engine",
    ),
    (
        "python/cuesta/cli/a.py",
        "def f():\n    from cuesta.engines.n import NEngine\n    return issubclass(y, NEngine)\n",
        "engine",
    ),
    ("python/cuesta/report/a.py", "match w:\n    case 'scan' | 'join':\n        pass\n", "arrow"),
]
CLEAN = [
    ("a.pyi", f"# Written by `a.py` from x; change that instead.\n# {OVER}\n" + "# a\n" * 401),
    ("a.py", "x" * 100 + "\n"),
    ("a.md", "| " + "cell | " * 30 + "\n"),
    ("a.md", f"https://{OVER}\n"),
    ("a.py", python_function(69)),
    ("a.rs", "fn f() {\n" + "    g();\n" * 68 + "}\n"),
    ("a.rs", "fn f() {\n    let x = \"}\";\n    // }\n    let y = '}';\n}\n"),
    ("a.py", "class A:\n    def f(self, a, b, c, d, e): ...\n"),
    ("a.py", "def f(a, b, c, d: tuple[A, ...], e: list[tuple[A, B]]) -> tuple[C, D]: ...\n"),
    ("a.py", "def f(a: tuple[A, B], b: tuple[C, D], c: tuple[E]): ...\n"),
    ("a.rs", "fn f(&self, a: Map<A, B>, b: fn(u8, u8) -> u8, c: u8, d: u8, e: u8) {}\n"),
    ("a.rs", "impl A for B {\n    fn f(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}\n}\n"),
    ("a.scala", "def f(a: Int, b: Int)(implicit c: C, d: D, e: E, f: F): Int = a\n"),
    ("A.java", "class A { void f() { if (a) { g(1, 2, 3, 4, 5, 6); } } }\n"),
    (
        "A.java",
        "class A { @Override int f(int a, int b, int c, int d, int e, int g) { } }\n",
    ),
    ("a.rs", rust_file(390, 300)),
    ("spec/golden.bin", "x" * 200_001),
    ("a.rs", f"// {NOTE}(#12): later\n"),
    ("a.rs", "// we let it go; then\n"),
    ("a.md", "# Here\n[x](#here) [y](a.md) [z](https://example.org) `[q](gone.md)`\n"),
    ("a.md", "```\n[x](gone.md)\n```\n"),
    ("crates/network/Cargo.toml", "[dependencies]\ncuesta-input.workspace = true\n"),
    ("crates/pga/Cargo.toml", "[dependencies]\ncuesta-assembly.workspace = true\n"),
    ("crates/network/src/run/a.rs", "use std::fs::File;\n"),
    ("crates/network/src/kernel/a.rs", "// std::fs is not for us\nuse std::mem;\n"),
    ("crates/network/src/kernel/a.rs", "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n"),
    ("python/cuesta/lab/a.py", "from cuesta.engines import Engine, get_engine\n"),
    ("python/cuesta/cli/a.py", "from cuesta.engines.native import N\n"),
    ("python/cuesta/engines/a.py", "from cuesta.trial import Trial\n"),
    ("python/cuesta/engines/a.py", "if engine.capabilities.has_log:\n    x = isinstance(y, str)\n"),
    ("python/cuesta/engines/array/a.py", "if trial.workload == 'scan':\n    pass\n"),
    ("tests/a.py", "from cuesta.engines import Engine\nx = isinstance(engine, Engine)\n"),
    ("packages/lab/cuesta_lab/study/a.py", "from cuesta.engines import get_engine\n"),
    ("packages/lab/cuesta_lab/cli/a.py", "from cuesta.lab import record\n"),
    ("python/cuesta/report/a.py", "seconds = run.seconds_of('load')\n"),
    ("python/cuesta/workloads/a.py", "if run.workload == 'kmeans':\n    pass\n"),
]


@pytest.mark.parametrize(("path", "text", "rule"), BROKEN)
def test_a_broken_rule_is_reported(tmp_path: Path, path: str, text: str, rule: str) -> None:
    assert rules_broken(tmp_path, path, text) == {rule}


@pytest.mark.parametrize(("path", "text"), CLEAN)
def test_what_keeps_the_rules_passes(tmp_path: Path, path: str, text: str) -> None:
    assert rules_broken(tmp_path, path, text) == set()


def test_a_module_of_the_engines_counts_as_an_import_by_name(tmp_path: Path) -> None:
    engine = tmp_path / "python/cuesta/engines/native.py"
    engine.parent.mkdir(parents=True)
    engine.write_text("")
    text = "from cuesta.engines import native\n"
    assert rules_broken(tmp_path, "python/cuesta/lab/a.py", text) == {"arrow"}


def test_rooms_of_a_workload_that_use_each_other_are_reported(tmp_path: Path) -> None:
    source = tmp_path / "crates/sort/src"
    (source / "reads").mkdir(parents=True)
    (source / "lib.rs").write_text("//! A workload.\n")
    (source / "graph.rs").write_text("use crate::pairs::Pair;\n")
    (source / "pairs.rs").write_text("fn f() { crate::reads::open(); }\n")
    tests = "#[cfg(test)]\nmod tests {\n    use crate::graph::Graph;\n}\n"
    (source / "reads/mod.rs").write_text("// crate::graph\n" + tests)
    assert not list(tidy.findings(tmp_path, ["crates/sort/src/lib.rs"]))
    (source / "reads/share.rs").write_text("use crate::{graph::Graph, sort};\n")
    (finding,) = tidy.findings(tmp_path, ["crates/sort/src/lib.rs"])
    assert finding.rule == "rooms"
    assert finding.message.startswith("graph and pairs and reads use each other")


def test_a_finding_names_file_line_and_rule(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("\n# " + OVER + "\n")
    (finding,) = tidy.findings(tmp_path, ["a.py"])
    assert str(finding) == "a.py:2: line-width: 103 columns, at most 100"


def test_raw_strings_and_lifetimes_do_not_confuse_the_reader(tmp_path: Path) -> None:
    text = (
        "fn f<'a>(x: &'a str) {\n"
        '    let y = r#"{ "fn g(" {"#;\n'
        "    let z = b'{';\n"
        "}\n"
        "fn h() {}\n"
    )
    (tmp_path / "a.rs").write_text(text)
    functions = [
        (function.name, function.lines) for function in functions_of(SourceFile(tmp_path, "a.rs"))
    ]
    assert functions == [("f", 4), ("h", 1)]


def test_a_public_type_name_of_two_concepts_is_reported(tmp_path: Path) -> None:
    texts = {
        "a/src/x.rs": "pub struct Part;\nstruct Own;\npub enum Params {}\npub struct Only;\n",
        "a/src/y.rs": "struct Own;\n#[cfg(test)]\nmod tests {\n    pub struct Only;\n}\n",
        "b/src/z.rs": "/// Part.\npub(crate) enum Part {}\npub struct Params;\n",
    }
    for name, text in texts.items():
        path = tmp_path / "crates" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    findings = tidy.findings(tmp_path, [f"crates/{name}" for name in texts])
    places = [(finding.path, finding.line) for finding in findings if finding.rule == "type-name"]
    assert places == [("crates/a/src/x.rs", 1), ("crates/b/src/z.rs", 2)]


def test_a_shared_type_name_is_defined_by_several_files() -> None:
    root = Path(tidy.__file__).resolve().parent.parent
    files = [SourceFile(root, path) for path in tidy.repository_paths(root)]
    assert set(types.several(files)) >= set(types.SHARED)
