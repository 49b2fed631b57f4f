"""The lint refuses modules of the Python package that import each other, wherever they do it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy

BACK = {
    "top": "from cuesta.lab import low\n",
    "member": "from cuesta.lab.low import read\n",
    "module": "import cuesta.lab.low\n",
    "relative": "from .low import read\n",
    "lazy": "def f() -> None:\n    from cuesta.lab.low import read\n",
    "for types": "if TYPE_CHECKING:\n    from cuesta.lab.low import Reader\n",
    "by string": 'low = import_module("cuesta.lab.low")\n',
}


def circles(root: Path, texts: dict[str, str], package: str = "python/cuesta") -> list[str]:
    for name, text in texts.items():
        path = root / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    findings = tidy.findings(root, [f"{package}/{name}" for name in texts])
    return [str(finding) for finding in findings if finding.rule == "circle"]


@pytest.mark.parametrize("back", BACK.values(), ids=BACK)
def test_a_circle_of_two_is_reported_however_it_imports(tmp_path: Path, back: str) -> None:
    texts = {"lab/low.py": "\nfrom cuesta.lab import high\n", "lab/high.py": back}
    (finding,) = circles(tmp_path, texts)
    assert finding.startswith("python/cuesta/lab/high.py:")
    assert "cuesta.lab.high and cuesta.lab.low import each other" in finding


def test_a_circle_of_the_laboratory_is_reported(tmp_path: Path) -> None:
    texts = {"a.py": "from cuesta_lab import b\n", "b.py": "from . import a\n"}
    assert len(circles(tmp_path, texts, "packages/lab/cuesta_lab")) == 1


def test_a_circle_is_reported_once_with_all_its_modules(tmp_path: Path) -> None:
    texts = {
        "a.py": "from cuesta import b\n",
        "b.py": "from cuesta.lab import c\n",
        "lab/c.py": "from cuesta.a import f\nfrom cuesta.lab import d\n",
        "lab/d.py": "from cuesta.lab.c import f\n",
        "e.py": "from cuesta import a\n",
    }
    (finding,) = circles(tmp_path, texts)
    assert "cuesta.a and cuesta.b and cuesta.lab.c and cuesta.lab.d import" in finding


def test_a_package_is_in_a_circle_with_a_module_that_takes_a_name_of_it(tmp_path: Path) -> None:
    package = {"lab/__init__.py": "def f() -> None:\n    from cuesta.lab import low\n"}
    assert circles(tmp_path, package | {"lab/low.py": "from cuesta.lab import f\n"})
    assert not circles(tmp_path, package | {"lab/low.py": "from cuesta.lab import high\n"} | HIGH)


HIGH = {"lab/high.py": ""}
TABLE = 'ENGINES = {"native": "cuesta.engines.native"}\n'


def test_a_table_of_names_of_modules_is_no_import(tmp_path: Path) -> None:
    back = "from cuesta.engines import ENGINES\n"
    assert not circles(tmp_path, {"engines/__init__.py": TABLE, "engines/native.py": back})


def test_a_chain_of_imports_passes(tmp_path: Path) -> None:
    texts = {"a.py": "from cuesta import b, c\n", "b.py": "from cuesta import c\n", "c.py": ""}
    assert not circles(tmp_path, texts)
