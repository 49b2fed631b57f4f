use std::io::Write;

use cuesta_core::budget::Budget;
use cuesta_core::progress::Progress;
use proptest::prelude::*;

use super::*;
use crate::pair_matrix::{Writer, WriterOptions};

fn read(content: &[u8]) -> Result<GeneNames> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.txt");
    std::fs::write(&path, content).unwrap();
    GeneNames::read(&path, 1 << 20)
}

fn names(content: &[u8]) -> Vec<String> {
    read(content).unwrap().iter().map(str::to_owned).collect()
}

fn message(content: &[u8]) -> String {
    read(content).unwrap_err().message()
}

#[test]
fn a_table_a_list_and_a_matrix_give_the_same_names() {
    for text in [
        "gene\tname\n1\tBRCA1\n2\tTP53\n",
        "gene\tname\r\n1\tBRCA1\r\n2\tTP53",
        "BRCA1\nTP53\n",
        "\u{FEFF}BRCA1\r\nTP53",
        "s1\ts2\nBRCA1\t1\t2\nTP53\t3\t4\n",
        "gene\ts1\ts2\n\nBRCA1\t1\t2\n\nTP53\t3\tNA\n",
        ",s1,s2\n\"BRCA1\",1,2\n\"TP53\",3,4\n",
        "x,y\nBRCA1,NA\nTP53,0\n",
    ] {
        assert_eq!(names(text.as_bytes()), ["BRCA1", "TP53"], "{text:?}");
    }
}

#[test]
fn lists_may_hold_commas_quotes_and_a_name_twice() {
    assert_eq!(names(b"a, b\nc, d\n"), ["a, b", "c, d"]);
    assert_eq!(names(b"\"a\"\n\"a\"\n"), ["a", "a"]);
    assert_eq!(names(b"alpha\nbeta, x\n"), ["alpha", "beta, x"]);
    assert_eq!(names("\u{3b1}-actinin <1>\n".as_bytes()), ["\u{3b1}-actinin <1>"]);
    assert!(message(b"gene name\n1 a b\n").contains("\"gene name\": a header, or the name of"));
}

/// The header of a list was the name of gene 1, and all others moved by one; lines of a CSV were
/// names as a whole.
#[test]
fn a_header_and_a_table_are_no_list() {
    for content in [&b"gene\nBRCA1\n"[..], b"\"Symbol\"\nTP53\n", b"gene_id\na\n"] {
        assert!(message(content).contains("a header, or the name of gene 1?"));
    }
    let text = message(b"BRCA1,breast cancer,x\nTP53,tumour protein,y\n");
    assert!(text.contains("has fields separated by commas; give one name a line"), "{text}");
    assert_eq!(names(b"a, b, c\nd\n"), ["a, b, c", "d"]);
}

/// The header of pandas' and R's lists, and a comment, was the name of gene 1; all others moved by
/// one, and had the numbers of rows and quotes in them.
#[test]
fn lists_of_pandas_and_r_are_read_without_what_is_around_the_names() {
    for text in [
        ",name\n0,A\n1,B\n2,C\n",
        "\"\",\"x\"\n\"1\",\"A\"\n\"2\",\"B\"\n\"3\",\"C\"\n",
        "\"x\"\n\"1\" \"A\"\n\"2\" \"B\"\n\"3\" \"C\"\n",
        "x\n1\tA\n2\tB\n3\tC\n",
        "0\tA\n1\tB\n2\tC\n",
        "number;symbol\n1;A\n2;B\n3;C\n",
        "\"A\"\n\"B\"\n\"C\"\n",
        "# genes\nA\nB\nC\n",
        "## made today\n# genes\nA\nB\nC\n",
    ] {
        assert_eq!(names(text.as_bytes()), ["A", "B", "C"], "{text:?}");
    }
    for text in [
        "\"x\"\n\"A\"\n\"B\"\n",
        "0\nA\nB\n",
        "x\nTP53\n",
        "gene_id,symbol\na,b\n",
        "gene;entrez\nA;7157\n",
        "gene,about\na,b\n",
        ",about\na,b\n",
    ] {
        let text = message(text.as_bytes());
        assert!(text.contains("line 1 of") && text.contains("a header, or the name"), "{text}");
    }
    for (text, line) in [("#A\nB\n", 1), ("A\n# B\nC\n", 2)] {
        let text = message(text.as_bytes());
        let expected = format!("a comment, or the name of gene {line}? remove it");
        assert!(text.contains(&expected) && text.contains(&format!("line {line} of")), "{text}");
    }
    let text = (0..12).map(|row| format!("{row},g{row}\n")).collect::<String>() + "13,g\n";
    let text = message(text.as_bytes());
    assert!(text.contains("line 13 of") && text.contains("and 12 is next"), "{text}");
    let text = message(b",name\n0,7157\n1,672\n");
    assert!(text.contains("names of genes, or values of a sample? give one name a"), "{text}");
    assert!(message(b">A\nACGT\n>B\nACGT\n").contains("as sequences in FASTA do; give one"));
    assert_eq!(names(b"x\ny\nz\n"), ["x", "y", "z"]);
    assert_eq!(names(b"0\n1\n2\n"), ["0", "1", "2"]);
}

#[test]
fn a_gene_without_a_name_is_an_error_with_a_remedy() {
    let list: String = (0..7129).map(|gene| format!("g{gene}\n")).collect();
    let gene_names = read(list.as_bytes()).unwrap();
    assert_eq!(
        (gene_names.get(0), gene_names.get(1), gene_names.get(7129)),
        (None, Some("g0"), Some("g7128"))
    );
    assert_eq!((gene_names.len(), gene_names.name(7129).unwrap()), (7129, "g7128"));
    let text = gene_names.name(7130).unwrap_err().message();
    assert!(text.contains("gene 7130 has no name: "), "{text}");
    let remedy = "n.txt names 7,129 genes; give a list with --genes that names all";
    assert!(text.ends_with(remedy), "{text}");
}

#[test]
fn bad_files_of_names_are_refused_with_their_line() {
    let long = format!("a\n{}\n", "x".repeat(NAME_BYTES_MAX + 1));
    for (content, expected) in [
        (&b""[..], "n.txt names no gene"),
        (b"gene\tname\n", "n.txt names no gene"),
        (b"a\n\nb\n", "line 2 of"),
        (b"a\n\nb\n", "has an empty name"),
        (b"gene\tname\n1\t\n", "line 2 of"),
        (b"gene\tname\n1\ta\n1\tb\n", "n.txt has gene 1, which has a name already"),
        (b"gene\tname\n1\ta\n3\tb\n", "n.txt has gene \"3\", expected 2; give genes 1 to N"),
        (b"gene\tname\nx\ta\n", "line 2 of"),
        (b"gene\tname\n1 a\n", "has no tab; give a gene number, a tab and a name"),
        (b"gene\tname\n1\ta\tb\n", "control character U+0009"),
        (b"a\nb\x07\n", "line 2 of"),
        (b"a\nb\x07\n", "control character U+0007; remove it"),
        ("a\nb\u{85}\n".as_bytes(), "control character U+0085"),
        ("a\nb\u{FFFF}\n".as_bytes(), "control character U+FFFF"),
        (b"a\nb\xFF\n", "line 2 of"),
        (b"a\nb\xFF\n", "has a name that is not UTF-8: \"b\u{FFFD}\"; convert the file"),
        (long.as_bytes(), "has a name of 1,025 bytes, the limit is 1,024; shorten it"),
        (b"a\tb\nc\td\n", "line 1 of"),
        (b"a\tb\nc\td\n", "has a tab, but is no line of an expression matrix"),
        (b"a\t1\nb\t2\n", "may be a header or a gene, its values are numbers; give a list"),
        (b"s1\ts2\na\t1\t2\nb\t1\n", "line 3 of"),
        (b"s1\ts2\na\t1\t2\nb\t1\n", "has 2 fields, expected 3"),
        (b"s1\ts2\na\t1\t2\n\t1\t2\n", "has no gene name"),
    ] {
        assert!(message(content).contains(expected), "{}", message(content));
    }
}

#[test]
fn names_beyond_the_memory_and_a_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.txt");
    std::fs::write(&path, "one\ntwo\n".repeat(1000)).unwrap();
    let error = GeneNames::read(&path, 4096).unwrap_err();
    assert!(error.message().contains("4.0 KiB; raise --memory"), "{error}");
    let error = GeneNames::read(folder.path(), 4096).unwrap_err();
    assert!(error.message().contains("is a folder without names"), "{error}");
    let error = GeneNames::read(&folder.path().join("x"), 4096).unwrap_err();
    assert!(error.message().contains("check the path"), "{error}");
}

/// A line was read whole and several times, whatever the memory: one of 200 MB in a gzipped file of
/// 200 kB took ten times the limit, and the system killed the run.
#[test]
fn a_line_beyond_its_part_of_the_memory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.txt.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&vec![b'x'; 2 << 20]).unwrap();
    std::fs::write(&path, encoder.finish().unwrap()).unwrap();
    let error = GeneNames::read(&path, 1 << 20).unwrap_err();
    assert!(error.message().contains("is longer than 32.0 KiB; raise --memory"), "{error}");
}

#[test]
fn gzip_is_read_and_a_truncated_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.txt.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"a\nb\n").unwrap();
    let bytes = encoder.finish().unwrap();
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(GeneNames::read(&path, 1 << 20).unwrap().len(), 2);
    std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    let error = GeneNames::read(&path, 1 << 20).unwrap_err();
    assert!(error.message().contains("is cut short"), "{error}");
}

#[test]
fn a_pair_matrix_has_names_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, gene_names: &[&str]| {
        let path = folder.path().join(name);
        let options = WriterOptions {
            genes: 2,
            scores: 1,
            gene_names: gene_names.iter().map(|&name| name.to_owned()).collect(),
            threads: 1,
            scratch: folder.path().to_owned(),
            ..WriterOptions::default()
        };
        let budget = Budget::new(64 << 20);
        let writer = Writer::create(&path, options, &budget).unwrap();
        writer.finish(&Progress::default()).unwrap();
        GeneNames::read(&path, 1 << 20)
    };
    assert_eq!(make("named.zarr", &["a", "b"]).unwrap().iter().collect::<Vec<_>>(), ["a", "b"]);
    let error = make("plain.zarr", &[]).unwrap_err();
    assert!(error.message().contains("plain.zarr names no gene"), "{error}");
    let error = make("bad.zarr", &["a", "b\n"]).unwrap_err();
    assert!(error.message().contains("control character U+000A"), "{error}");
}

#[test]
fn a_table_that_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(GENES_FILE);
    let names = ["a", "b b", "<&>\u{e9}"];
    let size_bytes = write_table(&path, names.into_iter()).unwrap();
    assert_eq!(size_bytes, std::fs::metadata(&path).unwrap().len());
    let gene_names = GeneNames::read(&path, 1 << 20).unwrap();
    assert_eq!(gene_names.iter().collect::<Vec<_>>(), names);
    write_table(&path, std::iter::empty()).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"gene\tname\n");
}

#[test]
fn numbers_are_grouped_by_thousands() {
    let shown = [0, 999, 1000, 16_777_215].map(grouped);
    assert_eq!(shown, ["0", "999", "1,000", "16,777,215"]);
}

proptest! {
    #[test]
    fn any_bytes_give_names_or_an_error(bytes in "[a1.,\t\n\"\r-]{0,60}") {
        match read(bytes.as_bytes()) {
            Ok(names) => prop_assert!(names.iter().all(|name| check(name).is_ok())),
            Err(error) => prop_assert!(!error.message().contains('\n')),
        }
    }

    #[test]
    fn the_names_of_a_matrix_are_those_that_its_reader_finds(
        text in "([a-c]{0,2}[,\t]([0-9]|NA|x)?){0,3}\n?([a-c\"]{0,3}[,\t]([0-9]|NA|x)?\n?){0,6}",
    ) {
        if let Ok(matrix) = crate::matrix::parse("m", text.as_bytes(), &Default::default())
            && let Ok(gene_names) = read(text.as_bytes())
        {
            prop_assert_eq!(gene_names.iter().collect::<Vec<_>>(), matrix.genes);
        }
    }
}
