"""Studies of commands, for tests."""

from __future__ import annotations

from pathlib import Path

from cuesta.engines import get_engine
from cuesta_lab.study.trials import StudyEnvironment

ALLOWED = StudyEnvironment(engine=get_engine, allows_commands=True)
"""An environment in which a person has allowed the commands of a study."""

SUM = """\
import sys
rows = [int(line) for line in open(sys.argv[1])]
total = sum(rows) * (1 + float(sys.argv[3]))
with open(sys.argv[2], "w") as file:
    file.write(f"what,value\\nsum,{total!r}\\n")
"""
"""A program that writes the sum of the numbers in a file, changed by a part of it."""

NUMBERS = """\
import sys
with open(sys.argv[1], "w") as file:
    file.writelines(f"{number}\\n" for number in range(int(sys.argv[2])))
"""
"""A program that writes numbers, one a line."""

STUDY = """
question = "Which tool adds fastest?"
repeats = 2

[settings]
inputs = ["numbers"]
memory = "1GiB"
cores = 1
answer = "sum.csv"
key = ["what"]
tolerance = { value = 1e-6 }
command = "{python} sum.py {input} {answer} {tool}"

[[input]]
name = "numbers"
command = "{python} make_numbers.py {answer} 1000"

[[factor]]
name = "tool"
levels = [{ name = "first", argument = "0" }, { name = "second", argument = "1e-9" }]
"""


def write_study(folder: Path, text: str = STUDY, name: str = "tools") -> Path:
    """Write a study file with the programs that it runs beside it."""
    folder.mkdir(exist_ok=True)
    (folder / "sum.py").write_text(SUM)
    (folder / "make_numbers.py").write_text(NUMBERS)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path
