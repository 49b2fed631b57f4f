"""Words of `cuesta compare --command`: placeholders, relative paths, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cuesta.errors import InputError
from cuesta.programs.commands import Values, check, environment, parse, uses, words_of
from cuesta.programs.plan import parse_duration
from programskit import Caller, cases, compare, writes

__all__ = ["compare"]

GOOD = writes("k\n1\n")


def words(text: str, here: Path, answer: str = "out.csv") -> tuple[str, ...]:
    """The words of a command, called from a folder."""
    values = Values(
        here=here, input="/data/in.csv", answer=f"/run/{answer}", threads=2, memory_bytes=64
    )
    (program,) = parse([f"a={text}"])
    return words_of(program, values, answer).words


def test_placeholders_stand_for_paths_and_numbers(tmp_path: Path) -> None:
    assert words("p {input} --to={answer} {threads} {memory}", tmp_path) == (
        "p", "/data/in.csv", "--to=/run/out.csv", "2", "64",
    )  # fmt: skip
    assert words("awk '{print $1}' {{input}} {}", tmp_path) == (
        "awk", "{print $1}", "{input}", "{}",
    )  # fmt: skip


def test_relative_paths_that_exist_are_those_of_the_caller(tmp_path: Path) -> None:
    for name in ("a.py", "data", "out.csv", "test"):
        (tmp_path / name).write_text("")
    assert words("./a.py a.py data ./data --x=a.py none.py out.csv ./out.csv . test", tmp_path) == (
        f"{tmp_path}/a.py", f"{tmp_path}/a.py", "data", f"{tmp_path}/data", f"--x={tmp_path}/a.py",
        "none.py", "out.csv", "./out.csv", ".", "test",
    )  # fmt: skip


def test_variables_have_the_values_of_placeholders(tmp_path: Path) -> None:
    values = Values(here=tmp_path, input="", answer="/run/a", threads=2, memory_bytes=64)
    assert environment(values) == {
        "CUESTA_ANSWER": "/run/a",
        "CUESTA_HERE": str(tmp_path),
        "CUESTA_THREADS": "2",
        "CUESTA_MEMORY": "64",
        "CUESTA_PYTHON": sys.executable,
    }


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("cat x", "give NAME='COMMAND'"),
        ("a=", "give NAME='COMMAND'"),
        ("=cat", "'' is no name of a program"),
        ("a/b=cat", "'a/b' is no name of a program"),
        ("..=cat", "'..' is no name of a program"),
        ("run.json=cat", "'run.json' is no name of a program"),
        ("a=cat 'x", "--command a: no closing quotation in .*; close the quote"),
        ("a=cat x | sort", r"--command a: '\|' is for a shell.*sh -c"),
        ("a=cat x > y", "'>' is for a shell"),
        ("a=cat $HOME", r"'\$' is for a shell"),
        ("a=x && y", "'&' is for a shell"),
        ("a=cat \0", "it has a zero byte"),
        ("a='' x", "it has no word"),
    ],
)
def test_a_bad_command_is_refused_with_its_remedy(argument: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse([argument])


def test_quoted_signs_of_a_shell_are_words() -> None:
    (program,) = parse(["a=awk '{ print $1 > 2; }' \"a|b\" \\| c\\;d"])
    assert program.words == ("awk", "{ print $1 > 2; }", "a|b", "|", "c;d")
    assert uses(program) == []


def test_two_programs_of_a_name_are_refused() -> None:
    with pytest.raises(InputError, match="two programs are called 'A'"):
        parse(["a=true", "A=true"])


def test_a_placeholder_needs_a_value() -> None:
    (program,) = parse(["a=cat {inptu} {input} {answer}"])
    with pytest.raises(InputError, match=r"\{inptu\} is none of .*; write \{\{inptu\}\}"):
        check(program, has_input=True, has_answer=True)
    (program,) = parse(["a=cat {input} {answer}"])
    with pytest.raises(InputError, match="no --input was given"):
        check(program, has_input=False, has_answer=True)
    with pytest.raises(InputError, match="is what the program prints"):
        check(program, has_input=True, has_answer=False)


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("1.5min", 90), ("2h", 7200), ("9", 9), ("2m", 120)]
)
def test_a_time_has_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-1s", "nan", "1d", "inf", "s"])
def test_a_bad_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--time-limit is"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--answer is missing; add --answer out.csv"),
        (("--answer", "/tmp/x"), "--answer is '/tmp/x', give a path in the folder of each run"),
        (("--answer", "../x"), "give a path in the folder of each run"),
        (("--answer", "x.csv", "--tolerance", "k"), "--tolerance is 'k', give COLUMN=1e-9"),
        (("--answer", "x.csv", "--tolerance", "k=-1"), "give a number of at least 0"),
        (("--answer", "x.csv", "--tolerance", "k=1", "--tolerance", "k=2"), "has two; give one"),
        (("--answer", "x.csv", "--key", "k,,v"), "--key is 'k,,v', give different columns"),
        (("--answer", "x.bin", "--key", "k"), "is read as bytes; add --format csv"),
        (("--answer", "x.csv", "--format", "xml"), "--format is 'xml', give one of csv"),
        (("--answer", "x.csv", "--rows", "sorted"), "--rows is 'sorted', give one of any"),
        (("--answer", "x.csv", "--input", "none"), "--input none: no such file or folder"),
        (("--answer", "x.csv", "--expected", "none"), "--expected none: no such file"),
        (("--answer", "x.csv", "--sizes", "1,2"), "has no {input}"),
        (("--answer", "x.csv", "--sizes", "0,2"), "--sizes is '0,2', give up to 20 different"),
        (("--answer", "x.csv"), "--repeats is 0, give 1 to 1,000"),
        (("--answer", "x.csv", "--cold=never"), "--cold is 'never'"),
        (("--answer", "x.csv", "--memory", "1"), "--memory is 1, give at least"),
    ],
)
def test_bad_arguments_end_with_two_before_anything_runs(
    compare: Caller, options: tuple[str, ...], message: str
) -> None:
    ran = f"touch {compare.folder}/ran"
    repeats = 0 if "--repeats" in message else 1
    compare({"a": ran, "b": ran}, *options, repeats=repeats)
    assert compare.code == 2
    assert message in compare.error
    assert not (compare.folder / "ran").exists()
    assert not (compare.folder / "out").exists()


def test_a_single_program_is_not_a_comparison(compare: Caller) -> None:
    compare({"a": GOOD}, "--answer", "out.csv")
    assert compare.code == 2
    assert "give at least two --command" in compare.error


def test_options_in_front_of_a_workload_are_refused(compare: Caller) -> None:
    from cuesta.cli.app import call

    assert call(["compare", "--command", "a=true", "sort", "x", "-o", "out"]) == 2


def test_an_expected_answer_that_cannot_be_read_is_an_argument(compare: Caller) -> None:
    compare.write("right.csv", "")
    compare({"a": GOOD}, "--answer", "out.csv", "--expected", "right.csv")
    assert compare.code == 2
    assert "--expected" in compare.error


def test_the_output_must_not_contain_the_input(compare: Caller) -> None:
    (compare.folder / "out").mkdir()
    compare.write("out/in.csv", "k\n1\n")
    options = ("--input", "out/in.csv", "--answer", "out.csv", "--overwrite")
    compare({"a": "cp {input} {answer}", "b": "cp {input} {answer}"}, *options)
    assert compare.code == 2
    assert (compare.folder / "out/in.csv").read_text() == "k\n1\n"


def test_a_relative_script_runs_from_the_folder_of_the_caller(compare: Caller) -> None:
    compare.write("a.sh", 'cp "$1" "$2"; pwd > where.txt')
    compare.write("in.csv", "k\n1\n")
    text = "sh a.sh {input} {answer}"
    record = compare({"a": text, "b": text}, "--input", "in.csv", "--answer", "x/out.csv")
    assert compare.code == 0
    assert cases(record)["a"]["remarks"] == []
    assert record["programs"][0]["resolved"] == {"a.sh": str(compare.folder / "a.sh")}
    assert not (compare.folder / "where.txt").exists()
