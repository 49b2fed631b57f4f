//! Runs on any file of reads: a run answers or refuses in one line, never panics, and reports
//! failed writes.

use std::io::Write;
use std::path::Path;

use cuesta_assembly::method::BuiltIn;
use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde_json::json;

fn run(content: &[u8], scratch: Option<&Path>, memory_bytes: u64) -> Result<Response> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reads.fq");
    std::fs::write(&path, content).unwrap();
    let request = Request {
        inputs: vec![path],
        parameters: json!({ "kmer_sizes": "15", "min_count": 1 }),
        output: folder.path().to_owned(),
        seed: 0,
        threads: 2,
        budget: Budget::new(memory_bytes).into(),
        scratch: scratch.unwrap_or(folder.path()).to_owned(),
        verify: Default::default(),
        names: None,
    };
    cuesta_assembly::run::<BuiltIn>(&request, &Progress::default())
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn is_single_line(error: &Error) -> bool {
    !error.message().contains('\n') && error.message().contains("reads")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_file_is_answered_or_refused(
        text in prop_oneof![
            "[@>+\\nACGTN!I\\r\\t a-z]{0,200}",
            "(@r\\n[ACGTNacgt]{0,60}\\n\\+\\n[I!]{0,60}\\n){0,6}",
            "(>r x\\n([ACGTN]{0,40}\\r?\\n){0,3}){0,6}",
        ],
        zip in any::<bool>(),
        size_bytes in 0usize..300,
    ) {
        let mut content = if zip { gzipped(text.as_bytes()) } else { text.into_bytes() };
        content.truncate(size_bytes);
        if let Err(error) = run(&content, None, 64 << 20) {
            prop_assert!(is_single_line(&error), "{}", error.message());
        }
    }

    #[test]
    fn any_bytes_are_answered_or_refused(
        content in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        if let Err(error) = run(&content, None, 64 << 20) {
            prop_assert!(is_single_line(&error), "{}", error.message());
        }
    }
}

#[test]
fn a_scratch_folder_that_does_not_exist_is_named() {
    let read: String = (0..40_000u32)
        .map(|place| char::from(b"ACGT"[(place.wrapping_mul(2_654_435_761) >> 30) as usize]))
        .collect();
    let text: String = (0..60).map(|index| format!(">r{index}\n{read}\n")).collect();
    let error = run(text.as_bytes(), Some(Path::new("/nowhere/scratch")), 2 << 20).unwrap_err();
    assert!(error.message().contains("writing /nowhere/scratch"), "{}", error.message());
}

#[test]
fn bases_and_qualities_that_differ_in_number_are_counted() {
    let error = run(b"@r\nACGTA\n+\nIIII\n", None, 64 << 20).unwrap_err();
    let expected = "record 1, line 1: 5 bases but 4 qualities; obtain it again";
    assert!(error.message().ends_with(expected), "{}", error.message());
}

#[test]
fn a_record_of_fastq_among_those_of_fasta_is_named() {
    let error = run(b">s\nACGT\n@r\nACGT\n+\nIIII\n", None, 64 << 20).unwrap_err();
    let expected = "begins a record of FASTQ, among those of FASTA; give each format in files of \
                    its own";
    assert!(error.message().ends_with(expected), "{}", error.message());
}

#[test]
fn proteins_are_named_before_their_length_is() {
    for (content, place) in [
        (">one\nACGTACGT\n>two\nMKVLAAGI\n", "record 2, base 4: 'L'"),
        (">one\nmaghsqrt\n", "record 1, base 6: 'q'"),
    ] {
        let error = run(content.as_bytes(), None, 64 << 20).unwrap_err();
        assert!(error.message().contains(place), "{}", error.message());
        assert!(error.message().ends_with("so these are proteins; give reads of DNA or RNA"));
    }
    let error = run(b">one\nACGTACGT?\n", None, 64 << 20).unwrap_err();
    assert!(error.message().ends_with("'?' is no nucleotide; give reads of DNA or RNA"));
    // A smaller k than the smallest helps nobody.
    let error = run(b">one\nACGTRYKM\n", None, 64 << 20).unwrap_err();
    assert!(
        error
            .message()
            .ends_with("reads have 8 bases; give reads of at least 15 bases, the smallest k")
    );
}

#[test]
fn reads_that_trimming_empties_are_counted_with_a_remedy() {
    let poor = "@r\nACGTACGTACGTACGTACGT\n+\n!!!!!!!!!!!!!!!!!!!!\n".repeat(3);
    let error = run(poor.as_bytes(), None, 64 << 20).unwrap_err();
    assert_eq!(
        error.sentence(),
        "all 3 reads were cut off whole by trimming (low quality off 3); give reads of at least \
         15 bases of the genome, or --trim none, which takes them as they are"
    );
    let short = "@s\nACGTACGTACGTACGTACGT\n+\nIIIIIIIIII!!!!!!!!!!\n";
    let error = run([poor.as_str(), short].concat().as_bytes(), None, 64 << 20).unwrap_err();
    let expected = "13 bases at most remain of each of 4 reads by trimming (low quality off 4);";
    assert!(error.sentence().starts_with(expected), "{}", error.sentence());
}

#[test]
fn a_record_of_fasta_among_those_of_fastq_is_named() {
    let error = run(b"@r\nACGT\n+\nIIII\n>s\nACGT\n>t\nACGT\n", None, 64 << 20).unwrap_err();
    let expected = "record 2, line 5: a record of FASTA among those of FASTQ; give each format in \
                    files of its own";
    assert!(error.message().ends_with(expected), "{}", error.message());
}
