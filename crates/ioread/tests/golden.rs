//! The answers that `spec/workloads/ioread/cases` holds, natively and in rounds.

use cuesta_ioread::{rounds, run, verify};
use cuesta_testkit::{Workload, golden};

#[test]
fn every_case_has_its_answer_however_it_is_run() {
    golden(&Workload { name: "ioread", run, verify, lead: rounds::lead, work: rounds::work });
}
