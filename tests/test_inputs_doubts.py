"""Inputs that would count twice, lose something or be misread in silence are refused, or said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit import ROOT

EDGES = [("TP53", "MDM2", "0.9"), ("BRCA1", "TP53", "0.8"), ("A", "B", "0.4")]


def cuesta(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "cuesta", *map(str, words)],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip


def refused(*words: str | Path) -> str:
    """Return the line of a refusal."""
    done = cuesta(*words)
    assert done.returncode == 2, done.stderr
    return done.stderr.strip().splitlines()[-1]


def remarks(folder: Path) -> list[str]:
    """Return the remarks in the record of an answer."""
    record = json.loads((folder / "run.json").read_bytes())
    views: list[dict[str, Any]] = [v for v in record["preview"] if v["title"] == "Remarks"]
    return [item[0] for view in views for item in view["items"]]


def edges(path: Path, *rows: tuple[str, str, str]) -> Path:
    """Write an edge list with a header."""
    lines = ["gene1\tgene2\tscore", *("\t".join(row) for row in rows or EDGES)]
    path.write_text("\n".join(lines) + "\n")
    return path


def counts(path: Path, *above: str, first: str = "gene", genes: int = 4) -> Path:
    """Write a matrix of 12 samples."""
    draw = np.random.default_rng(1)
    lines = ["\t".join([first, *(f"s{sample}" for sample in range(12))]), *above]
    rows = draw.integers(0, 99, (genes, 12))
    lines += ["\t".join([f"g{gene}", *map(str, row)]) for gene, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("workload", ["degrees", "communities", "scan"])
@pytest.mark.parametrize("form", ["name", "link", "hard link", "copy", "folder"])
def test_pairs_that_are_listed_twice_are_refused(tmp_path: Path, workload: str, form: str) -> None:
    """Each edge of a file that was given twice counted twice, and the answer was verified."""
    (folder := tmp_path / "in").mkdir()
    first, second = edges(folder / "e.txt"), tmp_path / "again.txt"
    match form:
        case "name":
            second = first
        case "link":
            second.symlink_to(first)
        case "hard link":
            os.link(first, second)
        case "copy":
            second.write_bytes(first.read_bytes())
        case "folder":
            second = folder
    line = refused("run", workload, first, second, "-o", tmp_path / "out")
    assert "given twice; give each input once" in line
    assert str(first) in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("workload", ["kmeans", "sort", "images", "dataflow", "ioread"])
def test_no_workload_takes_the_same_file_twice(tmp_path: Path, workload: str) -> None:
    file = tmp_path / "in.npy"
    shape = (4, 3) if workload == "dataflow" else (4, 25)
    np.save(file, np.arange(np.prod(shape), dtype=np.float64).reshape(shape))
    (tmp_path / "again.npy").symlink_to(file)
    line = refused("run", workload, file, tmp_path / "again.npy", "-o", tmp_path / "out")
    assert "are the same file, given twice; give each input once" in line


def test_a_version_that_is_compared_with_itself_is_remarked(tmp_path: Path) -> None:
    file = edges(tmp_path / "e.txt")
    done = cuesta("run", "join", file, file, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "are the same file" in remarks(tmp_path / "out")[0]


def test_scores_beyond_millionths_are_remarked_once(tmp_path: Path) -> None:
    file = edges(tmp_path / "e.txt", ("A", "B", "0.1234567"), ("A", "C", "0.25"))
    done = cuesta("run", "degrees", file, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    expected = f"{file}: 1 score has more than six decimals, rounded to millionths"
    assert remarks(tmp_path / "out") == [expected]
    assert (done.stdout + done.stderr).replace("\n", " ").count("rounded to millionths") == 1


def test_a_gene_that_is_named_twice_is_refused_or_remarked(tmp_path: Path) -> None:
    file, names = edges(tmp_path / "e.txt"), tmp_path / "names.txt"
    names.write_text("TP53\nMDM2\nBRCA1\nA\nB\nMDM2\n")
    line = refused("run", "degrees", file, "--genes", names, "-o", tmp_path / "out")
    assert 'names gene "MDM2" twice, as gene 2 and as gene 6' in line
    assert cuesta("run", "scan", file, "-o", tmp_path / "scan").returncode == 0
    pairs = tmp_path / "scan" / "pairs.txt"
    done = cuesta("run", "degrees", pairs, "--genes", names, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "names gene 2 and gene 6 MDM2" in remarks(tmp_path / "out")[0]


def test_a_list_of_a_single_gene_is_refused_by_its_file(tmp_path: Path) -> None:
    file, names = edges(tmp_path / "e.txt"), tmp_path / "names.txt"
    names.write_text("TP53\n")
    line = refused("run", "degrees", file, "--genes", names, "-o", tmp_path / "out")
    assert f"--genes {names}: names 1 gene; give a list of a whole number from 2" in line


def test_options_for_other_inputs_are_refused_by_the_name_of_the_list(tmp_path: Path) -> None:
    file = edges(tmp_path / "e.txt")
    line = refused("run", "scan", file, "--score-index", "3", "-o", tmp_path / "out")
    assert f"{file} is an edge list (gene1, gene2, score)" in line
    assert "--score-index is 3, leave it out" in line
    line = refused("run", "degrees", file, "--genes", "3", "-o", tmp_path / "out")
    assert f"{file} names 5 genes, --genes is 3; leave it out" in line


def test_load_of_an_edge_list_names_a_remedy_that_works(tmp_path: Path) -> None:
    file = edges(tmp_path / "e.txt")
    line = refused("run", "load", file, "-o", tmp_path / "out")
    assert f"load: {file} is an edge list (gene1, gene2, score), separated by tabs" in line
    assert f"run `cuesta run scan {file} -o DIR` and give DIR/pairs.txt to load" in line
    assert cuesta("run", "scan", file, "-o", tmp_path / "scan").returncode == 0
    done = cuesta("run", "load", tmp_path / "scan" / "pairs.txt", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr


def test_a_matrix_in_place_of_pairs_is_sent_to_correlate(tmp_path: Path) -> None:
    line = refused("run", "load", counts(tmp_path / "m.txt"), "-o", tmp_path / "out")
    assert "an expression matrix becomes pairs by `cuesta run correlate`" in line


def test_points_are_named_by_the_file_that_the_user_gave(tmp_path: Path) -> None:
    two, three, word = (tmp_path / f"{name}.txt" for name in ("two", "three", "word"))
    two.write_text("1.5\t2.5\n2.5\t3.5\n4.5\t1.5\n")
    three.write_text("1.5\t2.5\t1.5\n2.5\t3.5\t2.5\n")
    word.write_text("1.5\t2.5\n2.5\tnan\n4.5\t1.5\n")
    line = refused("run", "kmeans", two, three, "--clusters", "2", "-o", tmp_path / "out")
    assert f"{three} has 3 dimensions, {two} has 2" in line
    line = refused("run", "kmeans", word, "--clusters", "2", "-o", tmp_path / "out")
    assert f"coordinate 2 of point 2 of {word} is NaN" in line


def test_counts_of_reads_in_no_gene_are_remarked(tmp_path: Path) -> None:
    summary = "\t".join(["__no_feature", *["7"] * 12])
    plain, with_summary = counts(tmp_path / "a.txt"), counts(tmp_path / "b.txt", summary)
    digests = []
    for file in (plain, with_summary):
        done = cuesta("run", "correlate", file, "-o", tmp_path / file.stem, "--min-samples", "2")
        assert done.returncode == 0, done.stderr
        digests.append(json.loads((tmp_path / file.stem / "run.json").read_bytes())["answer"])
    assert digests[0]["digest"] == digests[1]["digest"]
    assert remarks(tmp_path / "a") == []
    assert "1 row that counts reads of no gene" in remarks(tmp_path / "b")[0]


def test_samples_with_the_same_name_are_warned_of_and_remarked(tmp_path: Path) -> None:
    file = counts(tmp_path / "m.txt")
    file.write_text(file.read_text().replace("s3", "s1", 1))
    done = cuesta("run", "correlate", file, "-o", tmp_path / "out", "--min-samples", "2")
    assert done.returncode == 0, done.stderr
    assert "warning: " in done.stderr
    assert 'samples 2 and 4 are both named "s1"' in done.stderr
    assert "1 sample has the name of another" in remarks(tmp_path / "out")[0]


def test_counts_of_feature_counts_are_recognised(tmp_path: Path) -> None:
    file = counts(tmp_path / "m.txt", first="Geneid\tChr\tStart\tEnd\tStrand\tLength")
    header, *rows = file.read_text().splitlines()
    annotation = ["chr1\t1\t9\t+\t8", "chr1;chr1\t1;5\t3;9\t+;+\t7"]
    lines = [row.replace("\t", f"\t{annotation[gene % 2]}\t", 1) for gene, row in enumerate(rows)]
    comment = '# Program:featureCounts v2.0.6; Command:"featureCounts" "-a" "x.gtf"'
    file.write_text("\n".join([comment, header, *lines]) + "\n")
    done = cuesta("run", "correlate", file, "-o", tmp_path / "out", "--min-samples", "2")
    assert done.returncode == 0, done.stderr
    said = done.stderr.replace("\n", " ")
    assert "4 genes in rows (g0, g1, ...), 12 samples (s0, s1, ...), featureCounts" in said


def test_images_are_recognised_before_the_work(tmp_path: Path) -> None:
    import tifffile

    (folder := tmp_path / "in").mkdir()
    grey = np.arange(64, dtype=np.uint16).reshape(8, 8)
    tifffile.imwrite(folder / "a.tif", grey, photometric="minisblack")
    tifffile.imwrite(folder / "b.tif", grey + 1, photometric="minisblack")
    tifffile.imwrite(folder / "c.tif", np.zeros((8, 8, 3), np.uint8), photometric="rgb")
    np.save(folder / "d.npy", grey.astype(np.float32))
    done = cuesta("run", "images", folder, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    said = done.stderr
    assert f"{folder}/a.tif and 1 more file: TIFF, grey with black as zero, 16 bits" in said
    assert f"{folder}/c.tif: TIFF, RGB, 8 bits" in said
    assert f"{folder}/d.npy: NumPy, grey, floats of 32 bits" in said


@pytest.mark.parametrize(
    ("words", "remark"),
    [
        ("--threshold 1e9", "0 objects: no pixel is above --threshold 1e9"),
        ("--threshold -5 --objects dark", "0 objects: no pixel is at or below --threshold -5"),
        ("--threshold -5", "an object that is the complete image: all pixels are above --thr"),
        ("--threshold 9 --min-pixels 37", "1 of 2 images has 0 objects: all objects have fewer"),
        ("", "1 of 2 images has 0 objects: all pixels have the same intensity, which otsu can"),
        (
            "--objects dark",
            "1 of 2 images has an object that is the complete image: all pixels have",
        ),
        ("--threshold 9", "1 of 2 images has 0 objects: no pixel is above --threshold 9"),
    ],
)
def test_images_without_a_meaningful_object_have_a_reason(
    tmp_path: Path, words: str, remark: str
) -> None:
    """A threshold above all pixels gave 0 objects without a word."""
    images = np.ones((2, 12, 12), np.uint8)
    images[1, 2:8, 2:8] = 200
    np.save(tmp_path / "in.npy", images)
    done = cuesta("run", "images", tmp_path / "in.npy", *words.split(), "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert any(remark in sentence for sentence in remarks(tmp_path / "out"))
    assert "remark" in done.stdout


def test_images_with_objects_have_no_remark(tmp_path: Path) -> None:
    image = np.zeros((12, 12), np.uint8)
    image[2:8, 2:8] = 200
    np.save(tmp_path / "in.npy", image)
    done = cuesta("run", "images", tmp_path / "in.npy", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert remarks(tmp_path / "out") == []


def test_traits_without_a_correlation_have_a_reason(tmp_path: Path) -> None:
    """A trait with the same value in all samples had NA for each module without a word."""
    draw = np.random.default_rng(1)
    profile, rows = draw.normal(size=(2, 16)), range(40)
    lines = ["\t".join(["gene", *(f"s{sample}" for sample in range(16))])]
    for gene in rows:
        values = profile[gene % 2] + 0.1 * draw.normal(size=16)
        lines.append("\t".join([f"g{gene}", *(f"{value:.5f}" for value in values)]))
    (tmp_path / "m.tsv").write_text("\n".join(lines) + "\n")
    traits = [f"s{sample}\t{sample}\t7\t0.5\t{'' if sample else 3}" for sample in range(16)]
    (tmp_path / "t.tsv").write_text("\n".join(["sample\tage\tward\tdose\tbmi", *traits]) + "\n")
    words = ["--traits", str(tmp_path / "t.tsv"), "--power", "6", "--min-module-size", "8"]
    done = cuesta("run", "modules", tmp_path / "m.tsv", *words, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    text = " | ".join(remarks(tmp_path / "out"))
    assert "2 traits have the same value in all samples, so without correlation: ward, dose" in text
    assert "age" not in text


def test_a_remedy_with_a_path_may_be_typed_as_it_is(tmp_path: Path) -> None:
    """The path of a folder with a space was two words in the command of the remedy."""
    (folder := tmp_path / "of us").mkdir()
    file = edges(folder / "e.txt")
    line = refused("run", "load", file, "-o", tmp_path / "out")
    assert f"run `cuesta run scan '{file}' -o DIR` and give DIR/pairs.txt to load" in line
