//! Cases of `spec/workloads/assemble/cases`, with the expected answers, natively and in rounds.

use cuesta_assembly::{rounds, run, verify};
use cuesta_testkit::{Workload, golden};

#[test]
fn all_cases_have_their_answers_however_they_are_run() {
    golden(&Workload { name: "assemble", run, verify, lead: rounds::lead, work: rounds::work });
}
