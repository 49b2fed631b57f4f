//! The answers that `spec/workloads/images/cases` holds, natively and in rounds.

use cuesta_images::{rounds, run, verify};
use cuesta_testkit::{Workload, golden};

#[test]
fn all_cases_have_their_answers_natively_and_in_rounds() {
    golden(&Workload { name: "images", run, verify, lead: rounds::lead, work: rounds::work });
}
