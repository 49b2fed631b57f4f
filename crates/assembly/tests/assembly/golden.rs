//! Cases of `spec/workloads/assemble/cases`, with the expected answers, natively and in rounds.

use cuesta_assembly::AssembleFunctions;
use cuesta_assembly::method::BuiltIn;
use cuesta_testkit::{Workload, golden};

#[test]
fn all_cases_have_their_answers_however_they_are_run() {
    let AssembleFunctions { run, verify, lead, work, .. } = AssembleFunctions::of::<BuiltIn>();
    golden(&Workload { name: "assemble", run, verify, lead, work });
}
