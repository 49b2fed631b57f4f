//! The answers that `spec/workloads/assemble/cases` holds, natively and in rounds.

use cuesta_assembly::{rounds, run, verify};
use cuesta_testkit::{Workload, golden};

#[test]
fn every_case_has_its_answer_however_it_is_run() {
    golden(&Workload { name: "assemble", run, verify, lead: rounds::lead, work: rounds::work });
}
