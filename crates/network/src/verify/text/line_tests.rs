//! Tests of the line reader: equality with the plain reader for any line.

use super::super::simd::{ScalarClassifier, with_cpu};
use super::*;
use proptest::prelude::*;

/// Reads a line by the fast reader, with the scalar or the best classifier.
fn fast(line: &[u8], scalar: bool) -> Option<(PlainRow, bool)> {
    let mut buffer = vec![b'9'; FRONT];
    buffer.extend_from_slice(line);
    buffer.push(b'\n');
    let end = buffer.len();
    buffer.resize(end + WIDTH, b'1');
    let buffer = &buffer;
    let read = |line: Option<Line<'_>>| {
        let line = line?;
        assert_eq!(line.next, end);
        let written = line.written_row();
        Some((PlainRow::of(&written.row), written.notation == Notation::Canonical))
    };
    if scalar {
        return read(Line::read(ScalarClassifier, buffer, FRONT));
    }
    with_cpu!(cpu => cpu.enter(|| read(Line::read(cpu, buffer, FRONT))))
}

fn check(line: &[u8]) {
    let plain = Plain::read(line);
    for scalar in [false, true] {
        let Some((row, canonical)) = fast(line, scalar) else { continue };
        let plain = plain.as_ref().unwrap().as_ref().unwrap();
        assert_eq!(row, plain.row, "{}", line.escape_ascii());
        assert_eq!(canonical, plain.written_row().notation == Notation::Canonical);
    }
}

fn integer_text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0u32..100_000_000).prop_map(|number| number.to_string()),
        8 => (0u32..20).prop_map(|number| number.to_string()),
        1 => "[0-9+-]{0,11}",
    ]
}

fn score_text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (-1_000_000i32..=1_000_000).prop_map(|micro| {
            let mut text = Vec::new();
            cuesta_core::fixed::append_text(micro, &mut text);
            String::from_utf8(text).unwrap()
        }),
        1 => Just("nan".to_owned()),
        1 => Just("-0.000000".to_owned()),
        1 => Just("1e-05".to_owned()),
        1 => "[0-9.,na-]{0,12}",
    ]
}

fn line_text() -> impl Strategy<Value = String> {
    let numbers = proptest::collection::vec(integer_text(), 3..11);
    let counts = prop_oneof![Just(9), Just(5), 0usize..11];
    let scores = proptest::collection::vec(score_text(), 1..4);
    let mask = prop_oneof![8 => "[016789]{0,200}", 1 => "[016789\t\u{e9}x]{0,80}"];
    let end = prop_oneof![8 => Just(""), 1 => Just("\r"), 1 => Just("\r\r")];
    (numbers, counts, scores, mask, end).prop_map(|(numbers, count, scores, mask, end)| {
        let mut fields: Vec<String> = numbers.iter().cycle().take(count).cloned().collect();
        fields.push(scores.join(","));
        fields.push(mask);
        fields.join("\t") + end
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn the_fast_reader_equals_the_plain_reader(line in line_text()) {
        check(line.as_bytes());
    }

    #[test]
    fn any_bytes_are_read_as_the_plain_reader_reads_them(
        line in proptest::collection::vec(
            prop_oneof![4 => Just(b'\t'), 8 => b'0'..=b'9', 1 => any::<u8>()], 0..120),
    ) {
        if !line.contains(&b'\n') {
            check(&line);
        }
    }
}

#[test]
fn lines_as_kinc_writes_them_are_read_at_once() {
    let mask = "1".repeat(475);
    for (line, canonical) in [
        (format!("7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t{mask}"), true),
        (format!("52489\t52488\t1\t5\t475\t0\t0\t0\t0\t-0.000001\t{mask}"), true),
        (format!("7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000,-0.902000,nan\t{mask}"), true),
        (format!("7\t3\t1\t2\t5\t1\t0\t1\t0\tnan\t{mask}"), true),
        (format!("7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t{mask}\r"), false),
        (format!("6\t2\t0\t2\t5\t0.871000\t{mask}"), false),
    ] {
        let (row, is_canonical) = fast(line.as_bytes(), false).unwrap();
        assert_eq!(is_canonical, canonical, "{line}");
        assert_eq!(Some(row), PlainRow::read(&line).unwrap());
        check(line.as_bytes());
    }
}

#[test]
fn another_notation_is_left_to_the_plain_reader() {
    for line in [
        "07\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11",
        "+7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11",
        "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.87100\t11",
        "7\t3\t1\t2\t5\t1\t0\t1\t0\t-0.000000\t11",
        "7\t3\t1\t2\t5\t1\t0\t1\t0\t00.871000\t11",
    ] {
        assert!(fast(line.as_bytes(), false).is_none(), "{line}");
        let plain = Plain::read(line.as_bytes()).unwrap().unwrap();
        assert_eq!(plain.written_row().notation, Notation::Other(line.as_bytes()));
    }
    assert!(Plain::read(b"#Done").unwrap().is_none());
    assert!(Plain::read(b"\r").unwrap().is_none());
}

/// Version 3 counts from 0: one more than the largest number became 0, or a panic.
#[test]
fn a_number_that_has_no_successor_is_refused() {
    let line = "4294967295\t1\t0\t1\t6\t0.950000\t111111";
    assert!(fast(line.as_bytes(), false).is_none());
    let error = Plain::read(line.as_bytes()).map(|_| ()).unwrap_err();
    assert!(error.contains("4294967295, which is too large"), "{error}");
}
