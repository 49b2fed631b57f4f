//! The seam for methods of other crates: what `profile` may select in place of the rules of this
//! crate. All code that runs, verifies and distributes an assembly is generic over [`Method`].

use std::collections::BTreeMap;

use cuesta_core::Result;
use cuesta_core::job::{self, Request};
use cuesta_core::progress::Progress;
use serde_json::{Map, Value};

use crate::buckets::ListReader;
use crate::kernel::compact::Grain;
use crate::kernel::kmer::Base;
use crate::kernel::scan::ReadCounts;
use crate::kernel::simplify::Rules;
use crate::kernel::supersteps::program::VertexProgram;
use crate::kernel::supersteps::simplifying::RankingProgram;
use crate::params::{AssembleParams, Joining, Plan, Trim, refusal};

/// Parameter that selects a method.
pub(crate) const PROFILE: &str = "profile";

/// Numbers of a method on a size of k-mers, in `stats.json` next to those of all methods.
pub type MethodFacts = Map<String, Value>;

/// Method that joins fragments to unitigs and removes errors from the graph.
pub trait Method: Sized + Send + Sync + 'static {
    /// Value of `profile` that selects the method; none for the method of this crate.
    const PROFILE: Option<&'static str> = None;
    /// Names of its own parameters, which no other method has.
    const PARAMETERS: &'static [&'static str] = &[];
    /// Unit of fragments. Those of single k-mers have edges, and the chains that the program makes
    /// of them may end before a branch; unitigs extend up to it.
    const GRAIN: Grain = Grain::Path;
    /// First stage in rounds of engines whose shuffle takes text, if the method has one.
    const TEXT: Option<TextStage> = None;
    /// Its vertex program.
    type Program: VertexProgram;

    /// Creates the method from its own parameters; completes and restricts the others.
    ///
    /// # Errors
    /// `Input` naming a parameter and its range; `Defect`.
    fn new(parameters: &Value, params: &mut AssembleParams) -> Result<Self>;

    /// Returns the program that joins fragments to unitigs, if one does; else one machine does.
    fn joining(&self, k: usize) -> Option<Self::Program>;

    /// Returns the program that removes errors from the graph, if one does; by the rules of the
    /// plan, where the method has none of its own.
    fn simplifying(&self, k: usize, rules: Option<Rules>) -> Option<Self::Program>;

    /// Returns the numbers of the method on a size of k-mers, from the counts of the reads.
    fn facts(&self, k: usize, tally: &ReadCounts) -> MethodFacts {
        let _ = (k, tally);
        MethodFacts::new()
    }

    /// Adds counts for the run record, from the numbers on the first size of k-mers.
    fn add_counts(&self, facts: &MethodFacts, counts: &mut BTreeMap<&'static str, u64>) {
        let _ = (facts, counts);
    }

    /// Compares its numbers on a size of k-mers with the reads; returns a fault in words.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn fault(
        &self,
        (k, facts): (usize, &MethodFacts),
        request: &Request,
        progress: &Progress,
    ) -> Result<Option<String>> {
        let _ = (k, facts, request, progress);
        Ok(None)
    }
}

/// Function that turns lines for k into adjacency lists by bucket; returns the counts of the reads.
pub type ListWriter = fn(&[u8], usize, &mut [Vec<u8>]) -> Result<ReadCounts>;

/// First stage that passes text through the shuffle of an engine: tasks turn reads into lines of a
/// key and a value, parts turn lines of a key and all its values into adjacency lists.
pub struct TextStage {
    /// Name of its phase.
    pub name: &'static str,
    /// Adds the lines of a read to the texts of the parts.
    pub add_read: fn(&[Base], usize, &mut [Vec<u8>]),
    /// Adds the number of bases of the reads of a task.
    pub finish: fn(usize, &mut [Vec<u8>]),
    /// Turns lines into adjacency lists by bucket.
    pub lists: ListWriter,
    /// Reads these lists.
    pub each_list: ListReader,
}

/// The method of this crate, by relative coverage.
#[derive(Clone, Debug)]
pub struct BuiltIn(AssembleParams);

impl BuiltIn {
    fn program(&self, k: usize, rules: Option<Rules>) -> Option<RankingProgram> {
        (self.0.chains == Joining::Ranking).then(|| RankingProgram::new(k, rules))
    }
}

impl Method for BuiltIn {
    type Program = RankingProgram;

    fn new(_: &Value, params: &mut AssembleParams) -> Result<Self> {
        Ok(Self(params.clone()))
    }

    fn joining(&self, k: usize) -> Option<RankingProgram> {
        self.program(k, None)
    }

    fn simplifying(&self, k: usize, rules: Option<Rules>) -> Option<RankingProgram> {
        rules.and_then(|rules| self.program(k, Some(rules)))
    }
}

/// Reads the parameters of a request: those of this crate, and the method with its own. A null is a
/// parameter that is not set.
///
/// # Errors
/// `Input` naming a parameter and its range; `Defect` naming an unknown one.
pub fn parameters<M: Method>(values: &Value) -> Result<(AssembleParams, M)> {
    let (mut shared, mut special) = (Map::new(), Map::new());
    for (name, value) in values.as_object().into_iter().flatten() {
        if M::PARAMETERS.contains(&name.as_str()) {
            special.insert(name.clone(), value.clone());
        } else if !value.is_null() {
            shared.insert(name.clone(), value.clone());
        }
    }
    if M::PROFILE.is_some() {
        shared.insert(PROFILE.to_owned(), "none".into());
    }
    let shared = if values.is_object() { Value::Object(shared) } else { values.clone() };
    let mut params: AssembleParams = job::parameters(&shared)?;
    params.check_ranges()?;
    let method = M::new(&Value::Object(special), &mut params)?;
    if M::PROFILE.is_some() && params.trim.is_none() {
        params.trim = Some(Trim::None);
    }
    if let Some(profile) = M::PROFILE.filter(|_| params.trims()) {
        let text = format!("--trim auto is not for --profile {profile}; trim the reads before");
        return Err(refusal(&text));
    }
    if let Some(profile) = M::PROFILE.filter(|_| params.depth.is_some()) {
        let text = format!("--depth is not for --profile {profile}; sample the reads before");
        return Err(refusal(&text));
    }
    Ok((params, method))
}

/// Reads the parameters of a request, and checks them against the length of a typical read.
///
/// # Errors
/// As [`parameters`].
pub fn planned<M: Method>(values: &Value, read_bases: usize) -> Result<(Plan, M)> {
    let (params, method) = parameters::<M>(values)?;
    Ok((params.check(read_bases)?, method))
}
