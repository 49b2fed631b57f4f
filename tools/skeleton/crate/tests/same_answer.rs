//! The answer is that of the reference, for any threads and files, and the verifier refuses others.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, run, verify};
use cuesta_skeleton::{kernel, reference, table};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_kernel_is_the_reference(numbers: Vec<u64>, least: u64) {
        prop_assert_eq!(kernel::total(&numbers, least), reference::total(&numbers, least));
    }

    #[test]
    fn an_answer_is_that_of_the_reference_for_any_files_and_threads(
        files in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..70_000), 1..4),
        least in 0..cuesta_skeleton::params::LEAST_MAX,
        threads in 1usize..4,
    ) {
        let place = Place::new();
        let mut request = place.request(&files, least);
        request.threads = threads;
        run(&request);
        let total = reference::total(&files.concat(), least);
        let wanted = format!("{}{}\t{}\n", table::HEADER, total.count, total.sum);
        prop_assert_eq!(place.answer(), wanted);
        prop_assert!(verify(&request).verified);
    }
}

#[test]
fn a_wrong_answer_is_refused() {
    let place = Place::new();
    let request = place.request(&[vec![3, 4, u64::MAX]], 0);
    run(&request);
    assert!(verify(&request).verified);
    for wrong in ["count\tsum\n3\t8\n", "count\tsum\n2\t18446744073709551622\n", "x", ""] {
        place.write("answer/total.tsv", wrong);
        assert!(!verify(&request).verified, "{wrong:?}");
    }
}
