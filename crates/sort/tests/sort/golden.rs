//! The answers that `spec/workloads/sort/cases` holds, natively and in rounds.

use cuesta_sort::{rounds, run, verify};
use cuesta_testkit::{Workload, golden};

#[test]
fn all_cases_have_their_answers_natively_and_in_rounds() {
    golden(&Workload { name: "sort", run, verify, lead: rounds::lead, work: rounds::work });
}
