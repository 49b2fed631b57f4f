//! PGA, the assembler of the paper (Big Data 2015, section IV): a [`Method`] of `cuesta-assembly`,
//! which `--profile paper` selects (`spec/workloads/assemble`, "The paper's profile").
//!
//! It has the paper's choice of reads, its vertex program in `kernel`, its first stage as text on
//! engines whose shuffle takes text, and the size that this text would have elsewhere. All else,
//! such as counting, rounds, files and verification, is that of `cuesta-assembly`.
//!
//! Safe to change: the program, as long as `tests/` find what a sequential program by the same
//! rules finds, for any threads and parts. What breaks: names and coin tosses are hashes of bases;
//! one that depends on a part or the order of arrival changes digests.

pub mod first_stage;
pub mod kernel;

use std::collections::BTreeMap;

use cuesta_assembly::kernel::compact::Grain;
use cuesta_assembly::kernel::scan::ReadCounts;
use cuesta_assembly::kernel::simplify::Rules;
use cuesta_assembly::method::{Method, MethodFacts, TextStage};
use cuesta_assembly::params::{AssembleParams, Joining, refusal};
use cuesta_core::Result;
use cuesta_core::job::{Request, parameters};
use cuesta_core::progress::Progress;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use first_stage::{FirstStage, recounted};
use kernel::PgaBounds;
use kernel::adjacency::FIRST_STAGE;
use kernel::schedule::{PgaJobs, PgaProgram};

/// Size of the paper's k-mers, its number of jobs, and a value that the paper omits: the edits
/// between the sides of a bubble.
const SIZES: &str = "31";
const JOBS: u64 = 15;
const EDITS: f64 = 0.1;
/// Name of the size of the first stage in `stats.json`.
const FACTS: &str = "first_stage";

/// The method, with its own parameters.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Pga {
    /// Most rounds of coin tosses in a job; where absent, until chains are complete.
    pub paper_rounds: Option<u64>,
    /// Most jobs.
    pub paper_jobs: Option<u64>,
    /// Most edits between the sides of a bubble, as a part of the longer side.
    pub paper_edits: Option<f64>,
}

impl Pga {
    fn bounds(&self, k: usize) -> PgaBounds {
        PgaBounds {
            tip: 2 * k,
            bubble: 5 * k,
            edits: self.paper_edits.unwrap_or(EDITS),
            rounds_max: self.paper_rounds,
            jobs_max: self.paper_jobs.unwrap_or(JOBS),
        }
    }
}

impl Method for Pga {
    const PROFILE: Option<&'static str> = Some("paper");
    const PARAMETERS: &'static [&'static str] = &["paper_rounds", "paper_jobs", "paper_edits"];
    const GRAIN: Grain = Grain::Kmer;
    const TEXT: Option<TextStage> = Some(FIRST_STAGE);
    type Program = PgaProgram;

    fn new(values: &Value, params: &mut AssembleParams) -> Result<Self> {
        let method: Self = parameters(values)?;
        if params.chains != Joining::Auto {
            return Err(refusal(
                "--profile paper has its own --chains, the coin toss; leave it out",
            ));
        }
        if method.paper_rounds == Some(0) || method.paper_jobs == Some(0) {
            return Err(refusal("--paper-rounds and --paper-jobs are at least 1"));
        }
        if method.paper_edits.is_some_and(|edits| !(0.0..=1.0).contains(&edits)) {
            return Err(refusal("--paper-edits is a part of a length, from 0 to 1"));
        }
        match params.sizes()? {
            None => params.kmer_sizes = Some(SIZES.to_owned()),
            Some(sizes) if sizes.len() > 1 => {
                return Err(refusal("--profile paper takes one size of k-mers; give -k 31"));
            }
            Some(_) => {}
        }
        params.drop_reads_with_n = true;
        params.min_count.get_or_insert(1);
        Ok(method)
    }

    fn joining(&self, k: usize) -> Option<PgaProgram> {
        Some(PgaProgram::new(PgaJobs::First, self.bounds(k)))
    }

    fn simplifying(&self, k: usize, _: Option<Rules>) -> Option<PgaProgram> {
        Some(PgaProgram::new(PgaJobs::Later, self.bounds(k)))
    }

    fn facts(&self, k: usize, tally: &ReadCounts) -> MethodFacts {
        MethodFacts::from_iter([(FACTS.to_owned(), FirstStage::of(k, tally).to_json())])
    }

    fn add_counts(&self, facts: &MethodFacts, counts: &mut BTreeMap<&'static str, u64>) {
        let names =
            [("pair_text_bytes", "pair_bytes"), ("adjacency_text_bytes", "adjacency_bytes")];
        for (count, name) in names {
            let bytes = facts.get(FACTS).and_then(|stage| stage[name].as_u64());
            counts.extend(bytes.map(|bytes| (count, bytes)));
        }
    }

    fn fault(
        &self,
        (k, facts): (usize, &MethodFacts),
        request: &Request,
        progress: &Progress,
    ) -> Result<Option<String>> {
        let expected = recounted(request, k, progress)?.to_json();
        let is_same = facts.get(FACTS) == Some(&expected);
        let fault = "the first stage of the paper would have moved something else";
        Ok((!is_same).then(|| fault.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use cuesta_assembly::method::planned;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_paper_sets_its_reads_counts_and_size() {
        let planned = |values: Value| planned::<Pga>(&values, 100);
        let (plan, _) = planned(json!({"profile": "paper"})).unwrap();
        assert_eq!((&plan.kmer_sizes[..], plan.is_chosen), (&[31][..], false));
        assert_eq!((plan.options.min_count, plan.options.drop_reads_with_n), (Some(1), true));
        let (plan, _) = planned(json!({"profile": "paper", "min_count": 3})).unwrap();
        assert_eq!(plan.options.min_count, Some(3));
        let refused = |values: Value| planned(values).err().unwrap().message();
        assert!(refused(json!({"kmer_sizes": "31,55"})).contains("-k 31"));
        assert!(refused(json!({"chains": "buckets"})).contains("--chains"));
        assert!(refused(json!({"paper_edits": 1.5})).contains("from 0 to 1"));
        assert!(refused(json!({"paper_jobs": 0})).contains("at least 1"));
    }
}
