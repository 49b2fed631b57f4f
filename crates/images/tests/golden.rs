//! The answers that `spec/workloads/images/cases` holds, natively and in rounds.

use cuesta_images::{rounds, run, verify};
use cuesta_testkit::{Workload, golden};

#[test]
fn every_case_has_its_answer_however_it_is_run() {
    golden(&Workload { name: "images", run, verify, lead: rounds::lead, work: rounds::work });
}
