//! Golden cases of `spec/workloads/ioread/cases`, natively and in rounds.

use cuesta_ioread::{rounds, run, verify};
use cuesta_testkit::{Workload, golden};

#[test]
fn all_cases_have_their_answer_in_all_engines() {
    golden(&Workload { name: "ioread", run, verify, lead: rounds::lead, work: rounds::work });
}
