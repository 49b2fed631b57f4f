//! The answers that `spec/workloads/kmeans/cases` holds, natively and in rounds.

use cuesta_kmeans::{rounds, run, verify};
use cuesta_testkit::{Workload, golden};

#[test]
fn every_case_has_its_answer_however_it_is_run() {
    golden(&Workload { name: "kmeans", run, verify, lead: rounds::lead, work: rounds::work });
}
