"""The lint refuses recursive removals and renames outside the one module a language."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidykit import rules_broken

JAVA = "jvm/hadoop-store/src/main/java/cuesta/hadoop/A.java"
BROKEN = [
    ("python/cuesta/lab/a.py", "import shutil\nshutil.rmtree(folder)\n"),
    ("python/cuesta/lab/a.py", "from shutil import rmtree as clear\n"),
    ("packages/lab/cuesta_lab/study/a.py", "import shutil\nshutil.rmtree(folder)\n"),
    ("python/cuesta/lab/a.py", "clear = getattr(shutil.rmtree, '__call__')\n"),
    ("python/cuesta/lab/a.py", "os.removedirs(folder)\n"),
    ("python/cuesta/lab/a.py", "from tempfile import TemporaryDirectory\n"),
    ("python/cuesta/lab/a.py", "os.replace(a, b)\n"),
    ("python/cuesta/lab/a.py", "os.rename(a, b)\n"),
    ("python/cuesta/lab/a.py", "shutil.move(a, b)\n"),
    ("python/cuesta/lab/a.py", "partial.replace(target)\n"),
    ("python/cuesta/lab/a.py", "Path(name).rename(target)\n"),
    ("python/cuesta/lab/a.py", "subprocess.run(['rm', '-fr', name])\n"),
    ("python/cuesta/lab/a.py", "subprocess.run(('/bin/rm', '--recursive', name))\n"),
    ("python/cuesta/lab/a.py", "os.system(f'cd {a}; rm -v -rf {b}')\n"),
    ("crates/sort/src/run.rs", "fn f() { std::fs::remove_dir_all(path); }\n"),
    ("crates/sort/src/run.rs", "use std::fs::remove_dir_all;\n"),
    (JAVA, "class A { void f() { FileUtils.deleteDirectory(file); } }\n"),
    (JAVA, "class A { void f() { FileUtils.deleteQuietly(file); } }\n"),
    (JAVA, "class A { void f() { FileUtil.fullyDelete(file); } }\n"),
    (JAVA, "class A { void f() { Files.walk(path).map(Path::toFile).forEach(File::delete); } }\n"),
    (JAVA, "class A { void f() { fs.delete(path, true); } }\n"),
    ("jvm/jobs/src/main/scala/A.scala", "object A { FileUtils.deleteDirectory(file) }\n"),
]
CLEAN = [
    ("python/cuesta/removal.py", "os.replace(a, b)\n"),
    ("python/cuesta/lab/a.py", "text.replace('a', 'b')\nframe.rename(columns=names)\n"),
    ("python/cuesta/lab/a.py", "trial = replace(trial, seed=1)\nfile.unlink()\nfolder.rmdir()\n"),
    ("python/cuesta/lab/a.py", "commands = {'rm': remove}\nwords = ['rm', name]\n"),
    ("tests/a.py", "shutil.rmtree(folder)\n"),
    ("tools/a.py", "shutil.rmtree(folder)\n"),
    ("crates/runtime/src/removal.rs", "fn f() { std::fs::remove_dir_all(path); }\n"),
    ("crates/sort/src/run.rs", "#[cfg(test)]\nmod tests {\n    use std::fs::remove_dir_all;\n}\n"),
    ("crates/sort/src/tests/a.rs", "fn f() { std::fs::remove_dir_all(path); }\n"),
    ("crates/sort/examples/rate.rs", "use std::fs::remove_dir_all;\n"),
    ("crates/sort/tests/a.rs", "fn f() { std::fs::remove_dir_all(path); }\n"),
    (
        "jvm/hadoop-store/src/main/java/cuesta/hadoop/Removal.java",
        "class Removal { void f() { Files.walk(path).forEach(File::delete); } }\n",
    ),
    (JAVA, "class A { boolean delete(Path path, boolean recursive) { return true; } }\n"),
    ("jvm/hadoop-store/src/test/java/A.java", "class A { { FileUtils.deleteDirectory(f); } }\n"),
]


@pytest.mark.parametrize(("path", "text"), BROKEN)
def test_a_removal_outside_its_module_is_refused(tmp_path: Path, path: str, text: str) -> None:
    assert rules_broken(tmp_path, path, text) == {"removal"}


@pytest.mark.parametrize(("path", "text"), CLEAN)
def test_a_removal_in_its_module_and_names_alike_pass(tmp_path: Path, path: str, text: str) -> None:
    assert rules_broken(tmp_path, path, text) == set()
