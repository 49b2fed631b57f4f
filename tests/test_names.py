"""Names of genes in answers: passed as a file, found next to the input, verified."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import cuesta
from cuesta.cli.app import call
from cuesta.lab import record as records
from labkit import SCHEMA, rewrite_checksums
from nameskit import (
    ALL,
    GENES,
    NAMED,
    check_columns,
    inputs_of,
    make_inputs,
    rows,
    run,
    write_list,
    write_table,
)


@pytest.fixture(scope="module")
def made_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_inputs(tmp_path_factory.mktemp("made"))


@pytest.fixture
def pairs(made_files: Path, tmp_path: Path) -> Path:
    """Copy of the files in a folder of the test."""
    folder = tmp_path / "in"
    shutil.copytree(made_files, folder)
    return folder


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command that must be refused with a single line and leave nothing; return that line."""
    capsys.readouterr()
    assert call([str(word) for word in words]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert not any("Traceback" in line for line in lines)
    return lines[-1]


@pytest.mark.parametrize("workload", NAMED)
def test_a_list_of_names_names_the_genes_and_changes_no_digest(
    workload: str, pairs: Path, tmp_path: Path
) -> None:
    inputs = inputs_of(workload, pairs)
    plain = run(workload, tmp_path / "plain", *inputs)
    record = run(workload, tmp_path / "named", *inputs, "--genes", pairs / "names.txt")
    check_columns(workload, tmp_path / "named")
    assert plain["names"] is None
    assert plain["time"]["naming_seconds"] == 0.0
    assert record["time"]["naming_seconds"] > 0.0
    text = "".join(f"{name}\n" for name in ALL)
    assert record["names"] == {
        "path": str(pairs / "names.txt"),
        "genes": GENES,
        "sha256": sha256(text.encode()).hexdigest(),
    }
    jsonschema.validate(record, SCHEMA)
    assert record["answer"]["digest"] == plain["answer"]["digest"]
    if workload in ("degrees", "communities"):
        assert record["parameters"]["genes"] == GENES
        assert plain["parameters"]["genes"] is None


@pytest.mark.parametrize("workload", NAMED)
def test_names_next_to_the_input_are_used_and_change_nothing_else(
    workload: str, pairs: Path, tmp_path: Path
) -> None:
    inputs = inputs_of(workload, pairs)
    plain = run(workload, tmp_path / "plain", *inputs)
    table = write_table(pairs, (*ALL, "one", "more"))
    record = run(workload, tmp_path / "named", *inputs)
    check_columns(workload, tmp_path / "named")
    assert record["names"]["path"] == str(table)
    assert record["parameters"] == plain["parameters"]
    assert record["answer"]["digest"] == plain["answer"]["digest"]


def test_a_table_of_another_program_is_left_alone(pairs: Path, tmp_path: Path) -> None:
    (pairs / "genes.tsv").write_text("ENSG00000243485\tMIR1302-10\n")
    assert run("scan", tmp_path / "answer", pairs / "a.txt")["names"] is None


def test_correlate_keeps_names_and_all_later_steps_have_them(tmp_path: Path) -> None:
    matrix = tmp_path / "matrix.txt"
    assert call(["data", "make", "matrix", "--genes", "30", "--samples", "40", "--seed", "1",
                 "-o", str(matrix)]) == 0  # fmt: skip
    text = matrix.read_text().replace("gene1\t", "first & only\t", 1)
    matrix.write_text(text)
    run("correlate", tmp_path / "text", matrix)
    run("correlate", tmp_path / "matrix", matrix, "--format", "pairs")
    names = [row["name"] for row in rows(tmp_path / "text" / "genes.tsv")]
    assert names == ["first & only", *(f"gene{number}" for number in range(2, 31))]
    for place in ("text/pairs.txt", "text", "matrix/pairs.zarr", "matrix"):
        answer = tmp_path / f"of-{place.replace('/', '-')}"
        record = run("degrees", answer, tmp_path / place, "--min-abs-score", "0.2")
        assert [row["name"] for row in rows(answer / "degrees.tsv")] == names
        expected = "text/genes.tsv" if place.startswith("text") else "matrix/pairs.zarr"
        assert record["names"]["path"] == str(tmp_path / expected)
    run("scan", tmp_path / "scan", tmp_path / "text", "--min-abs-score", "0.2")
    assert [row["name"] for row in rows(tmp_path / "scan" / "genes.tsv")] == names
    run("scan", tmp_path / "again", tmp_path / "scan", "--min-abs-score", "0.3")
    assert [row["name"] for row in rows(tmp_path / "again" / "genes.tsv")] == names


def test_load_stores_names_from_an_option_or_next_to_the_input(pairs: Path, tmp_path: Path) -> None:
    run("load", tmp_path / "given", pairs / "a.txt", "--genes", pairs / "names.txt")
    write_table(pairs)
    run("load", tmp_path / "found", pairs / "a.txt")
    for name in ("given", "found"):
        matrix = tmp_path / name / "pairs.zarr"
        record = run("communities", tmp_path / f"of-{name}", matrix)
        assert record["names"]["path"] == str(matrix)
        check_columns("communities", tmp_path / f"of-{name}")


def test_any_file_with_names_is_accepted(pairs: Path, tmp_path: Path) -> None:
    matrix = tmp_path / "matrix.txt"
    matrix.write_text("".join(f"{name}\t0.5\tNA\n" for name in ALL))
    header = tmp_path / "header.csv"
    quoted = (name.replace('"', '""') for name in ALL)
    header.write_text("s1,s2\n" + "".join(f'"{name}",1,2\n' for name in quoted))
    run("load", tmp_path / "loaded", pairs / "a.txt", "--genes", pairs / "names.txt")
    for place in (write_table(tmp_path), header, tmp_path / "loaded" / "pairs.zarr"):
        answer = tmp_path / f"by-{place.name}"
        run("degrees", answer, pairs / "a.txt", "--genes", place)
        check_columns("degrees", answer)


def test_a_number_is_still_a_number(pairs: Path, tmp_path: Path) -> None:
    write_table(pairs, (*ALL, *(f"more{number}" for number in range(20))))
    record = run("degrees", tmp_path / "answer", pairs / "a.txt", "--genes", GENES + 20)
    assert record["parameters"]["genes"] == GENES + 20
    assert rows(tmp_path / "answer" / "degrees.tsv")[-1]["name"] == "more19"


def test_the_versions_of_a_join_must_not_name_genes_differently(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.move(pairs / "b.txt", other / "b.txt")
    inputs = (pairs / "a.txt", other / "b.txt")
    write_table(pairs)
    run("join", tmp_path / "one", *inputs)
    check_columns("join", tmp_path / "one")
    write_table(other)
    run("join", tmp_path / "both", *inputs)
    write_table(other, ("BRCA1", "TP53", "MDM2", *ALL[3:]))
    text = refused(capsys, "run", "join", *inputs, "-o", tmp_path / "answer")
    assert "name genes differently (gene 3 is HLA-DRB1*15:01 and MDM2); make both" in text
    # The names were taken for both lists, and pairs of different genes were matched.
    line = ("run", "join", *inputs, "--genes", pairs / "genes.tsv", "-o", tmp_path / "answer")
    text = refused(capsys, *line)
    assert "same number is another gene and --genes cannot help; make both inputs" in text
    write_table(other, (*ALL, "more"))
    text = refused(capsys, "run", "join", *inputs, "-o", tmp_path / "answer")
    assert "name genes differently (60 and 61 genes); give the longer list" in text
    run("join", tmp_path / "given", *inputs, "--genes", other / "genes.tsv")
    check_columns("join", tmp_path / "given")


def test_edge_lists_and_numbered_genes_are_matched_by_names_alone(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The order of the names of an edge list was taken for the numbers of KINC text."""
    edges, other = tmp_path / "edges.tsv", tmp_path / "other.tsv"
    names = tuple(f"g{gene}" for gene in range(1, GENES + 1))
    listed = write_list(tmp_path / "names.txt", names)
    edges.write_text("gene1\tgene2\tscore\ng6\tg3\t0.9\n", encoding="utf-8")
    other.write_text("gene1\tgene2\tscore\nBRCA1\tstranger\t0.9\n", encoding="utf-8")
    words = ("run", "join", edges, pairs / "a.txt", "-o", tmp_path / "answer")
    text = refused(capsys, *words)
    assert f"{edges} has names of genes, {pairs / 'a.txt'} numbers without names; give" in text
    run("join", tmp_path / "given", edges, pairs / "a.txt", "--genes", listed, "--how", "left")
    (left,) = rows(tmp_path / "given" / "pairs.tsv")
    assert (left["gene1"], left["gene2"], left["name1"]) == ("6", "3", "g6")
    table = write_table(pairs, names)
    assert f"give --genes {table}, if it names all genes" in refused(capsys, *words)
    run("join", tmp_path / "named", edges, pairs / "a.txt", "--genes", table)
    wrong = write_list(tmp_path / "wrong.txt", names[::-1])
    text = refused(capsys, *words, "--genes", wrong)
    assert text.endswith(f"the edge list is matched by name; give --genes {table}")
    text = refused(capsys, "run", "join", edges, other, "-o", tmp_path / "answer")
    assert text.endswith("give --genes FILE, a list of all genes of both, one a line")


@pytest.mark.parametrize("workload", [*NAMED, "load"])
def test_a_list_that_is_too_short_is_refused_by_the_gene_that_lacks_a_name(
    workload: str, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write_table(pairs, ALL[:30])
    words = ("run", workload, *inputs_of(workload, pairs), "-o", tmp_path / "answer")
    text = refused(capsys, *words)
    assert f"{table} names 30 genes; give a list with --genes that names all" in text
    assert "has no name" in text
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


def test_what_is_no_list_of_names_is_refused_before_any_work(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("BRCA1\n\nTP53\n")
    for workload, words, expected in (
        ("degrees", "12k", "12k: no such file; give one that names genes, or how many there are"),
        ("scan", "100", "100: no such file; give one that names genes"),
        ("scan", bad, "line 2 of"),
        ("degrees", "1", "--genes is 1, give a whole number from 2 to 16777215"),
        ("degrees", "2.5", "--genes is 2.5, give a whole number from 2 to 16777215"),
        ("degrees", "hdfs://host/names", "hdfs://host/names: no such file"),
    ):
        line = ("run", workload, pairs / "a.txt", "--genes", words, "-o", tmp_path / "answer")
        assert expected in refused(capsys, *line)


@pytest.mark.parametrize("workload", NAMED)
def test_a_wrong_name_and_other_names_are_detected(
    workload: str, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = tmp_path / "answer"
    names = write_table(pairs)
    run(workload, answer, *inputs_of(workload, pairs))
    assert call(["verify", str(answer)]) == 0
    table = answer / NAMED[workload][0]
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace("GENE21\n", "GENE12\n").replace("\tGENE21\t", "\tGENE12\t"),
                     encoding="utf-8")  # fmt: skip
    assert table.read_text(encoding="utf-8") != text
    rewrite_checksums(answer)
    assert call(["verify", str(answer)]) == 1
    table.write_text(text, encoding="utf-8")
    rewrite_checksums(answer)
    assert call(["verify", str(answer)]) == 0
    write_table(pairs, (*ALL[:20], "other", *ALL[21:]))
    assert f"{names}: its names of genes are not those" in refused(capsys, "verify", answer)
    names.unlink()
    assert str(names) in refused(capsys, "verify", answer)


def test_unverified_answers_have_names_too(pairs: Path, tmp_path: Path) -> None:
    write_table(pairs)
    answer = tmp_path / "answer"
    assert (
        call(["run", "degrees", str(pairs / "a.txt"), "--verify", "none", "-o", str(answer)]) == 0
    )
    check_columns("degrees", answer)
    assert records.read(answer)["verified"] is None
    assert call(["verify", str(answer)]) == 0


def test_repeats_name_the_final_answer(pairs: Path, tmp_path: Path) -> None:
    write_table(pairs)
    record = run("communities", tmp_path / "answer", pairs / "a.txt", "--repeat", 3)
    check_columns("communities", tmp_path / "answer")
    assert record["repeats"] == 3


def test_from_python_a_file_or_a_number_is_accepted(pairs: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(pairs)
    named = cuesta.run("communities", "a.txt", genes="names.txt", progress=False)
    assert named.record["names"]["path"] == str(pairs / "names.txt")
    assert "--genes names.txt" in " ".join(named.record["command"])
    numbered = cuesta.run("degrees", "a.txt", genes=80, progress=False)
    assert numbered.record["parameters"]["genes"] == 80
    assert numbered.record["names"] is None
    with pytest.raises(cuesta.InputError, match=r"genes /.*/no\.txt: no such file; give one that"):
        cuesta.run("scan", "a.txt", genes="no.txt", progress=False)


def test_tables_have_names_in_all_forms(pairs: Path) -> None:
    answer = cuesta.run("scan", pairs / "a.txt", genes=pairs / "names.txt", progress=False)
    assert answer.tables == ("pairs", "genes", "edges")
    for form in ("arrow", "pandas", "polars", "numpy", "python"):
        table: Any = answer.table(as_=form, columns=["name2", "gene1", "gene2", "name1"])
        for name, gene in (("name1", "gene1"), ("name2", "gene2")):
            assert [ALL[number - 1] for number in table[gene]] == list(map(str, table[name]))
    frame = answer.table(as_="pandas")
    assert list(frame.columns)[:5] == ["gene1", "gene2", "name1", "name2", "cluster"]
    edges = answer.table("edges", as_="pandas")
    assert (edges["score"] == frame["score"]).all()
    assert list(edges["name1"]) == list(frame["name1"])
    assert list(answer.table("genes", as_="python")["name"]) == list(ALL)
    none = cuesta.run("scan", answer, min_cluster_samples=99, progress=False)
    assert none.table(as_="python", columns=["name1", "score"]) == {"name1": [], "score": []}


def test_a_study_takes_names(pairs: Path, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        'question = "How fast?"\nworkload = "degrees"\nrepeats = 1\n[settings]\ncores = 1\n'
        f'inputs = ["pairs"]\nparameters = {{ genes = "{pairs / "names.txt"}" }}\n'
        '[[input]]\nname = "pairs"\nmake = "clusters"\ngenes = 60\nsamples = 20\npairs = 300\n'
    )
    place = tmp_path / "study"
    record_file = place / "runs" / "all" / "1" / "run.json"
    assert call(["study", "run", str(file), "-o", str(place)]) == 0
    first = record_file.read_text()
    assert json.loads(first)["parameters"]["genes"] == GENES
    assert call(["study", "run", str(file), "-o", str(place)]) == 0
    assert record_file.read_text() == first, "it ran again"


def test_a_header_that_may_be_among_the_names_has_a_remark(tmp_path: Path) -> None:
    """A header that no reader knows moved all names by one in silence. A remark names it, where
    the list has one name more than the pairs have genes.
    """
    mask = "1" * 30
    lines = [f"{a}\t{b}\t1\t1\t30\t0\t0\t0\t0\t0.9\t{mask}" for a, b in ((2, 1), (3, 1), (3, 2))]
    pairs, names = tmp_path / "pairs.txt", tmp_path / "names.txt"
    pairs.write_text("\n".join(lines) + "\n")
    for text, count in (("Hugo_Symbol\nA\nB\nC\n", 1), ("A\nB\nC\n", 0), ("A\nB\nC\nD\nE\n", 0)):
        names.write_text(text)
        answer = cuesta.run(
            "degrees", pairs, genes=str(names), output=tmp_path / "a", overwrite=True
        )
        remarks = json.dumps(answer.record["preview"])
        assert remarks.count("if the first name, Hugo_Symbol, is the header") == count
