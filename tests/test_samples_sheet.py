"""Sheets of samples: four forms, lanes, places of files, and one line for every fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuesta.errors import InputError
from cuesta.samples import sheet
from cuesta.samples.sheet import Sample, Sheet


def written(folder: Path, text: str, files: str = "a_1.fq a_2.fq b_1.fq b_2.fq c.fq") -> Sheet:
    for name in files.split():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"@{name}\n")
    path = folder / "sheet.csv"
    path.write_bytes(text.encode())
    return sheet.read(path)


def paths(sample: Sample) -> tuple[list[tuple[str, str]], list[str]]:
    pairs = [(Path(one.path).name, Path(two.path).name) for one, two in sample.pairs]
    return pairs, [Path(file.path).name for file in sample.singles]


A_PAIR: tuple[list[tuple[str, str]], list[str]] = ([("a_1.fq", "a_2.fq")], [])


@pytest.mark.parametrize(
    "text",
    [
        "sample,fastq_1,fastq_2\na,a_1.fq,a_2.fq\nc,c.fq,\n",
        '\ufeffsample,fastq_1,fastq_2,strandedness\r\na,"a_1.fq",a_2.fq,auto\r\nc,c.fq\r\n',
        "sample,run,group,short_reads_1,short_reads_2,long_reads\n"
        "a,1,0,a_1.fq,a_2.fq,\nc,1,0,c.fq,,",
        "ID\tR1\tR2\tLongFastQ\tFast5\tGenomeSize\n"
        "a\ta_1.fq\ta_2.fq\tNA\tNA\t2.8m\nc\tc.fq\tNA\tNA\tNA\tNA\n",
        "# ours\nsample\truntype\tgenome_size\tspecies\tr1\tr2\tse\tont\n\n"
        "a\tpaired-end\t0\tE\ta_1.fq\ta_2.fq\t\t\nc\tsingle-end\t0\tE\t\t\tc.fq\t\n",
    ],
    ids=["nf-core", "nf-core as Excel has it", "mag", "bacass", "bactopia"],
)
def test_the_four_forms_are_recognised_by_their_headers(tmp_path: Path, text: str) -> None:
    read = written(tmp_path, text)
    first, second = read.samples
    assert (first.name, *paths(first)) == ("a", *A_PAIR)
    assert (second.name, *paths(second)) == ("c", [], ["c.fq"])


def test_rows_of_the_same_name_are_lanes_in_their_order(tmp_path: Path) -> None:
    text = "sample,fastq_1,fastq_2\na,a_1.fq,a_2.fq\nb,c.fq,\na,b_1.fq,b_2.fq\n"
    read = written(tmp_path, text)
    assert [sample.name for sample in read.samples] == ["a", "b"]
    assert paths(read.samples[0]) == ([("a_1.fq", "a_2.fq"), ("b_1.fq", "b_2.fq")], [])
    assert read.notes == ("sample a: its rows are lanes, whose reads are joined",)


def test_merged_lanes_of_bactopia_are_in_a_single_cell(tmp_path: Path) -> None:
    text = "sample\truntype\tr1\tr2\nx\tmerge-pe\ta_1.fq,b_1.fq\ta_2.fq,b_2.fq\n"
    (sample,) = written(tmp_path, text).samples
    assert paths(sample) == ([("a_1.fq", "a_2.fq"), ("b_1.fq", "b_2.fq")], [])


def test_pairs_and_single_reads_are_of_the_same_sample(tmp_path: Path) -> None:
    (sample,) = written(tmp_path, "sample,r1,r2,se\na,a_1.fq,a_2.fq,c.fq\n").samples
    assert paths(sample) == (A_PAIR[0], ["c.fq"])


def test_other_columns_are_passed_on(tmp_path: Path) -> None:
    read = written(tmp_path, "sample,fastq_1,fastq_2,Ward\na,a_1.fq,a_2.fq,7 B\n")
    assert read.columns == ("ward",)
    assert read.samples[0].more == {"ward": "7 B"}


def test_a_path_is_of_the_sheets_folder_then_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "c.fq").write_text("@c\n")
    monkeypatch.chdir(here)
    read = written(tmp_path / "there", "sample,fastq_1\na,a_1.fq\nc,c.fq\n", "a_1.fq")
    places = [sample.singles[0].path for sample in read.samples]
    assert places == [str(tmp_path / "there" / "a_1.fq"), str(here / "c.fq")]
    (here / "a_1.fq").write_text("@other\n")
    with pytest.raises(InputError, match=r"line 2: a_1.fq is in the folder of the sheet and anoth"):
        sheet.read(tmp_path / "there" / "sheet.csv")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the sheet is empty; give a header"),
        ("# only\n\n", "the sheet is empty"),
        ("sample,fastq_1,fastq_2\n", "the sheet has no sample"),
        ("a,a_1.fq,a_2.fq\n", "line 1: the header has no column of names"),
        ("sample;fastq_1\na;c.fq\n", "line 1: its columns are separated by semicolons; save the"),
        ("sample,reads\na,c.fq\n", "line 1: the header has no column of reads"),
        ("sample,fastq_1,fastq_1\n", "line 1: column 'fastq_1' is there twice"),
        ("sample,fastq_1\na,c.fq,x\n", "line 2: 3 cells, the header has 2"),
        ("sample,fastq_1,fastq_2\na,,a_2.fq\n", "line 2: sample a: 0 first and 1 second files"),
        ("sample,fastq_1,fastq_2\na,,\n", "line 2: sample a has no short reads"),
        ("sample,fastq_1\n,c.fq\n", "line 2: the sample has no name"),
        ("sample,fastq_1\na b,c.fq\n", "line 2: 'a b' is no name for a sample"),
        ("sample,fastq_1\na/b,c.fq\n", "line 2: 'a/b' is no name for a sample"),
        ("sample,fastq_1\n..,c.fq\n", "line 2: '..' is no name for a sample"),
        ("sample,fastq_1\n-o,c.fq\n", "line 2: '-o' is no name for a sample"),
        ("sample,fastq_1\nisolates.tsv,c.fq\n", "files of the command have such names"),
        ("sample,fastq_1\na.partial-7,c.fq\n", "files of the command have such names"),
        (f"sample,fastq_1\n{'x' * 101},c.fq\n", "is no name for a sample"),
        ("sample\tr1\na\tc.fq\na\tb_1.fq\n", "line 3: sample a is there twice, first in line 2"),
        ("sample,fastq_1\na,none.fq\n", "none.fq: no such file or directory"),
        ("sample,fastq_1\na,sub\n", "is no file; give a file of reads"),
        ("sample,fastq_1\na,empty.fq\n", "empty.fq: is empty"),
        ("sample,fastq_1\na,s3://x/c.fq\n", "sheets name files of this machine"),
        ('sample,fastq_1\na,"c.fq\n', "line 2: a quotation mark is not closed"),
        (
            "sample,fastq_1\na,c.fq\nb,c.fq\n",
            "c.fq is of samples a and b; give each sample its own",
        ),
        ("sample,fastq_1\na,c.fq\nb,link.fq\n", "the same file, is of samples a and b"),
        ("sample,fastq_1,fastq_2\na,c.fq,c.fq\n", "c.fq is of sample a, twice"),
    ],
)
def test_a_fault_of_a_sheet_is_a_single_line(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "c.fq").write_text("@c\n")
    (tmp_path / "link.fq").symlink_to("c.fq")
    (tmp_path / "empty.fq").touch()
    (tmp_path / "sub").mkdir()
    with pytest.raises(InputError) as caught:
        written(tmp_path, text)
    assert fault in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "sheet.csv") in str(caught.value)


def test_rows_of_fewer_or_more_cells_are_remarked(tmp_path: Path) -> None:
    """A short row was a sample of single reads without a word."""
    header = "sample,fastq_1,fastq_2\n"
    read = written(tmp_path, f"{header}a,a_1.fq,a_2.fq\nb,b_1.fq,b_2.fq,,\nc,c.fq\n")
    (note,) = read.notes
    assert "sheet.csv, lines 3, 4: not as many cells as the header has, 3; cells that" in note
    assert written(tmp_path, f"{header}a,a_1.fq,a_2.fq\nc,c.fq,\n").notes == ()


def test_a_file_that_is_no_sheet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or directory; give a CSV or TSV file"):
        sheet.read(tmp_path / "none.csv")
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(InputError, match="is no text in UTF-8; save the sheet as CSV or TSV"):
        sheet.read(tmp_path / "book.xlsx")
