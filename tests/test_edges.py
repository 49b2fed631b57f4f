"""Edge lists with names, reasons for empty answers, and thresholds that inputs carry."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from labkit import ROOT


def cuesta(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "cuesta", *words], capture_output=True, text=True, check=False,
        cwd=ROOT,
    )  # fmt: skip


def rows(path: Path) -> list[list[str]]:
    """Return the rows of a table without its header."""
    return [line.split("\t") for line in path.read_text().splitlines()[1:]]


EDGES = [("TP53", "MDM2", 0.9), ("BRCA1", "TP53", 0.8), ("A", "B", 0.4)]


def write(path: Path, form: str) -> Path:
    """Write the edges in a format."""
    text = {
        "plain": "".join(f"{a}\t{b}\t{score}\n" for a, b, score in EDGES),
        "header": "gene1,gene2,score\n" + "".join(f"{a},{b},{score}\n" for a, b, score in EDGES),
        "decimal comma": "Source;Target;weight\n"
        + "".join(f"{a};{b};{score}\n".replace(".", ",") for a, b, score in EDGES),
        "both directions": "protein1 protein2 combined_score\n"
        + "".join(
            f"{a} {b} {score * 1000:.0f}\n{b} {a} {score * 1000:.0f}\n" for a, b, score in EDGES
        ),
        "tidy": "Source\tTarget\tsc\tInteraction\tCluster\tNum_Clusters\tCluster_Samples\t"
        "Missing_Samples\tCluster_Outliers\tPair_Outliers\tToo_Low\tSamples\n"
        + "".join(f"{a}\t{b}\t{score}\tco\t0\t1\t4\t0\t0\t0\t0\t1111\n" for a, b, score in EDGES),
    }[form]
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize(
    ("form", "name"),
    [("plain", "e.txt"), ("header", "e.csv"), ("decimal comma", "e.csv"),
     ("both directions", "e.txt.gz"), ("tidy", "net.txt")],
)  # fmt: skip
def test_an_edge_list_of_any_form_has_the_same_degrees(
    tmp_path: Path, form: str, name: str
) -> None:
    path = write(tmp_path / name, form)
    done = cuesta("run", "degrees", str(path), "--min-abs-score", "0.5", "-o", f"{tmp_path}/d")
    assert done.returncode == 0, done.stderr
    degrees = {row[4]: int(row[3]) for row in rows(tmp_path / "d" / "degrees.tsv")}
    assert degrees == {"A": 0, "B": 0, "BRCA1": 1, "MDM2": 1, "TP53": 2}
    assert "TP53: 2 edges" in done.stdout
    assert cuesta("verify", f"{tmp_path}/d").returncode == 0


def test_an_edge_in_two_lists_counts_once(tmp_path: Path) -> None:
    """It counted twice in degrees."""
    (tmp_path / "1.txt").write_text("a\tb\t0.9\nb\tc\t0.8\n")
    (tmp_path / "2.txt").write_text("c\tb\t0.8\nc\ta\t0.7\n")
    lists = [f"{tmp_path}/1.txt", f"{tmp_path}/2.txt"]
    done = cuesta("run", "degrees", *lists, "-o", f"{tmp_path}/d")
    assert done.returncode == 0, done.stderr
    assert {row[4]: int(row[3]) for row in rows(tmp_path / "d" / "degrees.tsv")} == dict.fromkeys(
        "abc", 2
    )
    assert "2.txt: an edge list" in done.stderr.replace("\n", " ")
    assert "1 edges, 3 genes; 1 line repeats an edge" in done.stderr.replace("\n", " ")
    assert cuesta("verify", f"{tmp_path}/d").returncode == 0
    done = cuesta("run", "join", *lists, "-o", f"{tmp_path}/j")
    assert done.returncode == 0, done.stderr
    assert len(rows(tmp_path / "j" / "pairs.tsv")) == 1
    (tmp_path / "2.txt").write_text("c\tb\t0.5\nc\ta\t0.7\n")
    done = cuesta("run", "degrees", *lists, "-o", f"{tmp_path}/e")
    assert done.returncode == 2
    assert "line 1 of" in done.stderr
    assert "than a list before it for the same edge; keep one of them" in done.stderr


def test_communities_and_scan_of_an_edge_list_have_names(tmp_path: Path) -> None:
    path = write(tmp_path / "e.txt", "plain")
    for workload in ("communities", "scan"):
        done = cuesta(
            "run", workload, str(path), "--graph", "graphml", "-o", f"{tmp_path}/{workload}"
        )
        assert done.returncode == 0, done.stderr
        assert f"{path}: an edge list without a header" in done.stderr.replace("\n", " ")
    named = {row[2]: row[1] for row in rows(tmp_path / "communities" / "communities.tsv")}
    assert named["TP53"] == named["MDM2"] == named["BRCA1"] != named["A"] == named["B"]
    assert "TP53" in (tmp_path / "scan" / "edges.tsv").read_text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TP53\tA\t0.5\nA\tTP53\t0.6\n", "line 2 of"),
        ("gene1\tgene2\tscore\nTP53\tA\tx\n", "no score"),
        ("gene1\tgene2\nTP53\tA\n", "none of scores"),
        ("a\tb\tc\td\n", "edge list"),
        (
            '"from" "to" "weight"\n"1" "a" "b" 0.5\n"2" "b" "c" 0.25\n',
            "e.txt, line 2: has a name of the row, which its header (from, to, weight) lacks",
        ),
        ("from\tto\tw\nx\ta\tb\t0.5\n", "write.table(..., row.names = FALSE)"),
        ("a\ta\t0.5\nb\tb\t0.5\n", "each line is an edge of a gene with itself, so no edge"),
    ],
)
def test_a_bad_edge_list_is_refused_in_a_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "e.txt"
    path.write_text(text)
    done = cuesta("run", "degrees", str(path), "-o", f"{tmp_path}/d")
    assert (done.returncode, expected in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("text", ["a;b;0,95\n", "a;b;0,95\nb;c;1\n", "a;b;1\nb;c;0,5\n"])
def test_semicolons_and_decimal_commas_need_no_header(tmp_path: Path, text: str) -> None:
    path = tmp_path / "e.txt"
    path.write_text(text)
    done = cuesta("run", "degrees", str(path), "-o", f"{tmp_path}/d")
    assert done.returncode == 0, done.stderr
    assert "separated by semicolons, decimal commas" in done.stderr.replace("\n", " ")


def test_a_gene_that_the_list_of_names_lacks_has_a_remedy(tmp_path: Path) -> None:
    path, names = write(tmp_path / "e.txt", "plain"), tmp_path / "names.txt"
    names.write_text("TP53\nMDM2\nA\nB\n")
    words = ["--genes", str(names), "-o", f"{tmp_path}/d"]
    done = cuesta("run", "degrees", str(path), *words)
    assert done.returncode == 2
    line = done.stderr.splitlines()[-1]
    assert 'has gene "BRCA1", which' in line
    assert line.endswith("does not name; add it to that file, or leave --genes out")


def test_pairs_are_unpacked_by_content_whatever_their_name(tmp_path: Path) -> None:
    text = "".join(f"{gene}\t1\t1\t1\t5\t0\t0\t0\t0\t0.9\t11111\n" for gene in range(2, 40))
    (tmp_path / "p.txt").write_text(text)
    (tmp_path / "plain.txt.gz").write_text(text)
    (tmp_path / "packed.txt").write_bytes(gzip.compress(text.encode()))
    for name in ("p.txt", "plain.txt.gz", "packed.txt"):
        done = cuesta("run", "scan", f"{tmp_path}/{name}", "-o", f"{tmp_path}/{name}.out")
        assert done.returncode == 0, done.stderr
        answer = (tmp_path / f"{name}.out" / "pairs.txt").read_bytes()
        assert answer == (tmp_path / "p.txt.out" / "pairs.txt").read_bytes()


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of stdout of a run that succeeded."""
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip().splitlines()[-1]


def test_an_empty_answer_ends_with_the_reason(tmp_path: Path) -> None:
    matrix, points, out = tmp_path / "m.tsv", tmp_path / "p.txt", f"{tmp_path}/out"
    matrix.write_text("gene\ta\tb\tc\n" + "".join(f"g{g}\t{g}\t2.5\t{g * g}\n" for g in range(9)))
    points.write_text("1 1\n2 2\n" * 30)
    for words, expected in (
        (("correlate", str(matrix)), "0 pairs: 3 samples, fewer than --min-samples 4"),
        (("correlate", str(matrix), "--min-samples", "3", "--top", "99"), "36 pairs: that are all"),
        (("kmeans", str(points), "--clusters", "5"), "3 of 5 clusters are empty"),
    ):
        done = cuesta("run", *words, "-o", out, "--overwrite")
        assert expected in last_line(done)


def test_a_question_below_the_threshold_of_its_input_is_remarked(tmp_path: Path) -> None:
    matrix, out = tmp_path / "m.tsv", f"{tmp_path}/out"
    matrix.write_text(
        "gene\t" + "\t".join(f"s{s}" for s in range(8)) + "\n"
        + "".join(f"g{g}\t" + "\t".join(str((g * s * s) % 17 + 0.5) for s in range(8)) + "\n"
                  for g in range(20))
    )  # fmt: skip
    words = ["--min-samples", "5", "--min-abs-score", "0.7", "-o", f"{tmp_path}/pairs"]
    assert cuesta("run", "correlate", str(matrix), *words).returncode == 0
    below = cuesta("run", "communities", f"{tmp_path}/pairs", "--min-abs-score", "0.5", "-o", out)
    assert "at least 0.7, by its record" in last_line(below)
    above = cuesta("run", "communities", f"{tmp_path}/pairs", "--min-abs-score", "0.8", "-o", out,
                   "--overwrite")  # fmt: skip
    assert "by its record" not in above.stdout
    top = ["--min-samples", "5", "--top", "20", "-o", f"{tmp_path}/top"]
    assert cuesta("run", "correlate", str(matrix), *top).returncode == 0
    lines = (tmp_path / "top" / "pairs.txt").read_text().splitlines()
    least = min(abs(float(line.split("\t")[9])) for line in lines)
    below = cuesta("run", "degrees", f"{tmp_path}/top", "--min-abs-score", "0.1", "-o", out,
                   "--overwrite")  # fmt: skip
    assert f"at least {least:g}, by its record" in last_line(below)
