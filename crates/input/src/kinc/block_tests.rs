//! Tests of the block walk.

use super::*;
use crate::filter::FilterParams;
use proptest::prelude::*;

const SHAPE: LineShape = LineShape { version: Version::V1, samples: 8, scores: 1 };

fn rows(text: &[u8], filter: &Filter) -> Result<(Counts, Vec<Vec<u8>>), LineError> {
    let mut buffer = text.to_vec();
    buffer.resize(text.len() + PADDING, b'7');
    let mut passed = Vec::new();
    let counts = visit(&buffer, text.len(), &SHAPE, filter, |hit| {
        passed.push(hit.line.to_vec());
        Ok(())
    })?;
    Ok((counts, passed))
}

fn at_least(min_abs_score: f64) -> Filter {
    FilterParams { min_abs_score, ..FilterParams::default() }.check().unwrap()
}

#[test]
fn comments_blank_lines_and_crlf_are_passed_over() {
    let line = "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711";
    let text = format!("#Restarted\n{line}\n\n{line}\r\n#Done\n{line}");
    let (counts, passed) = rows(text.as_bytes(), &at_least(0.8)).unwrap();
    assert_eq!(counts, Counts { rows_read: 3, rows_passed: 3 });
    assert_eq!(passed.len(), 3);
    assert_eq!(rows(text.as_bytes(), &at_least(0.9)).unwrap().0.rows_passed, 0);
}

#[test]
fn a_short_line_before_a_good_line_is_reported() {
    let good = "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711\n";
    for bad in ["7\t3\n", "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\n", "\t\n", "7\n"] {
        let text = format!("{good}{bad}{good}");
        let fault = rows(text.as_bytes(), &at_least(0.0)).unwrap_err();
        assert_eq!(fault.offset, good.len(), "{bad:?} {fault:?}");
    }
}

#[test]
fn sample_counts_decide_too() {
    let text = b"7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711\n";
    let few = FilterParams { min_cluster_samples: 6, ..FilterParams::default() };
    assert_eq!(rows(text, &few.check().unwrap()).unwrap().0.rows_passed, 0);
    let missing = FilterParams { max_missing: Some(0), ..FilterParams::default() };
    assert_eq!(rows(text, &missing.check().unwrap()).unwrap().0.rows_passed, 0);
}

fn any_line() -> impl Strategy<Value = String> {
    let score = prop_oneof![
        (-1_000_000i32..=1_000_000).prop_map(|micro| {
            let mut text = Vec::new();
            cuesta_core::fixed::append_text(micro, &mut text);
            String::from_utf8(text).unwrap()
        }),
        Just("nan".to_owned()),
        Just("0.5,0.25".to_owned()),
        Just("1e-3".to_owned()),
        "[0-9.,-]{0,9}",
    ];
    let good = (2u32..20_000_000, 1u32..3, score, "[016789]{8}").prop_map(
        |(gene1, cluster, score, mask)| {
            format!("{gene1}\t1\t{cluster}\t2\t5\t1\t0\t1\t0\t{score}\t{mask}")
        },
    );
    prop_oneof![
        20 => good,
        1 => Just("#Done".to_owned()),
        1 => "[0-9\t.na-]{0,40}",
    ]
}

proptest! {
    /// The fast walk and the careful reader agree on which rows pass and which line is bad,
    /// with any content of the block.
    #[test]
    fn fast_and_careful_agree(lines in proptest::collection::vec(any_line(), 0..12)) {
        let text = lines.join("\n");
        let filter = at_least(0.3);
        let mut buffer = text.clone().into_bytes();
        let size_bytes = buffer.len();
        buffer.resize(size_bytes + PADDING, b'1');
        let walk = Walk { buffer: &buffer, size_bytes, shape: SHAPE, filter };
        let mut expected = Vec::new();
        let slow = walk.careful(&mut |hit: &Hit<'_>| {
            expected.push((hit.gene1, hit.cluster, hit.score));
            Ok(())
        });
        let mut fast_rows = Vec::new();
        let fast = visit(&buffer, size_bytes, &SHAPE, &filter, |hit| {
            hit.parse()?;
            fast_rows.push((hit.gene1, hit.cluster, hit.score));
            Ok(())
        });
        match (fast, slow) {
            (Ok(a), Ok(b)) => {
                prop_assert_eq!(a, b);
                prop_assert_eq!(fast_rows, expected);
            }
            // A row that does not pass may hide a defect in a field that is not read.
            (_, Err(_)) => {}
            (Err(fault), Ok(_)) => prop_assert!(false, "{:?}", fault),
        }
    }
}
