//! The answers that `spec/workloads/*/cases` holds for gene pairs, natively and in rounds, with
//! what is added to answers of any engine.

use cuesta_network::{rounds, run, verify};
use cuesta_testkit::{Workload, golden};

/// The test of a workload.
macro_rules! has_its_answers {
    ($test:ident, $name:literal) => {
        #[test]
        fn $test() {
            golden(&Workload {
                name: $name,
                run: |request, progress| run::run($name, request, progress),
                verify: |request, progress| {
                    run::annotate($name, request, progress)?;
                    verify::verify($name, request, progress)
                },
                lead: |request, resources| rounds::lead($name, request, resources),
                work: |request, resources| rounds::work($name, request, resources),
            });
        }
    };
}

has_its_answers!(every_case_of_scan, "scan");
has_its_answers!(every_case_of_join, "join");
has_its_answers!(every_case_of_degrees, "degrees");
has_its_answers!(every_case_of_communities, "communities");
has_its_answers!(every_case_of_correlate, "correlate");
has_its_answers!(every_case_of_load, "load");
