//! Registry of all workloads by name, with the functions of their crates. [`ALL`] lists them.

use cuesta_assembly::method::BuiltIn;
use cuesta_assembly::{AssembleFunctions, Registry};
use cuesta_core::budget::Budget;
use cuesta_core::job::{self, Request, Response, Verdict};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_pga::Pga;
use cuesta_runtime::rounds::{Leader, MemoryPlan, OfferedResources, Resources, Worker};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Functions of a workload, from its crate.
pub struct RegisteredWorkload {
    /// Its name in `spec/workloads`.
    pub name: &'static str,
    /// Functions of its rounds, if it has rounds.
    pub rounds: Option<RoundFunctions>,
    parameters: fn(&Value) -> Result<Value>,
    run: fn(&Request, &Progress) -> Result<Response>,
    verify: fn(&Request, &Progress) -> Result<Verdict>,
}

/// Constructors of the leader and the workers of a workload.
pub struct RoundFunctions {
    /// The leader receives one part in `leader_part` of the memory.
    leader_part: u64,
    lead: fn(&Request, Resources) -> Result<Box<dyn Leader>>,
    work: fn(&Request, Resources) -> Result<Box<dyn Worker>>,
}

/// Entry of a workload that has its own crate, with or without rounds.
macro_rules! workload {
    ($name:literal, $of:ident, $check:expr) => {
        RegisteredWorkload {
            name: $name,
            rounds: None,
            parameters: |values| checked(values, $check),
            run: $of::run,
            verify: $of::verify,
        }
    };
    ($name:literal, $of:ident, $check:expr, $leader_part:expr) => {
        RegisteredWorkload {
            rounds: Some(RoundFunctions {
                leader_part: $leader_part,
                lead: $of::rounds::lead,
                work: $of::rounds::work,
            }),
            ..workload!($name, $of, $check)
        }
    };
}

/// Entry of a workload of the crate of gene networks, with or without rounds.
macro_rules! network {
    ($name:literal, $check:expr) => {
        RegisteredWorkload {
            name: $name,
            rounds: None,
            parameters: |values| checked(values, $check),
            run: |request, progress| cuesta_network::run::run($name, request, progress),
            verify: |request, progress| cuesta_network::verify::verify($name, request, progress),
        }
    };
    ($name:literal, $check:expr, $leader_part:expr) => {
        RegisteredWorkload {
            rounds: Some(RoundFunctions {
                leader_part: $leader_part,
                lead: |request, resources| cuesta_network::rounds::lead($name, request, resources),
                work: |request, resources| cuesta_network::rounds::work($name, request, resources),
            }),
            ..network!($name, $check)
        }
    };
}

/// Divisor of the memory for a leader that plans and adds up.
const PLANS: u64 = 16;
/// Divisor of the memory for a leader that holds the input of all tasks or joins all results.
const JOINS: u64 = 2;

/// All workloads: name, crate, check of the parameters, and for a workload with rounds the divisor
/// of the memory for its leader.
pub const ALL: &[RegisteredWorkload] = &[
    ASSEMBLE,
    workload!("dataflow", cuesta_dataflow, check_dataflow, PLANS),
    workload!("images", cuesta_images, cuesta_images::params::ImagesParams::check, PLANS),
    workload!("kmeans", cuesta_kmeans, cuesta_kmeans::params::KMeansParams::check, PLANS),
    workload!("modules", cuesta_modules, cuesta_modules::params::ModulesParams::check),
    THRESHOLD,
    workload!("sort", cuesta_sort, cuesta_sort::params::SortParams::check, PLANS),
    workload!("ioread", cuesta_ioread, cuesta_ioread::params::IoreadParams::check, PLANS),
    network!("communities", cuesta_network::params::CommunitiesParams::check, PLANS),
    network!("correlate", cuesta_network::params::CorrelateParams::check, JOINS),
    network!("degrees", cuesta_network::params::DegreesParams::check, PLANS),
    network!("join", cuesta_network::params::JoinParams::check, PLANS),
    network!("load", cuesta_network::params::LoadParams::check, PLANS),
    network!("scan", cuesta_network::params::ScanParams::check, PLANS),
];

/// Methods of `assemble`, by its parameter `profile`.
static METHODS: Registry =
    Registry(&[AssembleFunctions::of::<BuiltIn>(), AssembleFunctions::of::<Pga>()]);

/// Assembly with the methods of several crates.
const ASSEMBLE: RegisteredWorkload = RegisteredWorkload {
    name: "assemble",
    rounds: Some(RoundFunctions {
        leader_part: JOINS,
        lead: |request, resources| (METHODS.of(&request.parameters)?.lead)(request, resources),
        work: |request, resources| (METHODS.of(&request.parameters)?.work)(request, resources),
    }),
    parameters: |values| METHODS.parameters(values),
    run: |request, progress| (METHODS.of(&request.parameters)?.run)(request, progress),
    verify: |request, progress| (METHODS.of(&request.parameters)?.verify)(request, progress),
};

/// Thresholds of a gene network, of the crate of modules.
const THRESHOLD: RegisteredWorkload = RegisteredWorkload {
    name: "threshold",
    rounds: Some(RoundFunctions {
        leader_part: JOINS,
        lead: cuesta_modules::threshold::rounds::lead,
        work: cuesta_modules::threshold::rounds::work,
    }),
    parameters: |values| checked(values, cuesta_modules::params::ThresholdParams::check),
    run: cuesta_modules::threshold::run,
    verify: cuesta_modules::threshold::verify,
};

fn check_dataflow(
    params: &cuesta_dataflow::params::DataflowParams,
) -> Result<cuesta_dataflow::params::Plan> {
    params.check(None)
}

impl RegisteredWorkload {
    /// The workload of a name.
    ///
    /// # Errors
    /// `Defect`: callers have looked the name up in `spec/`.
    pub fn named(name: &str) -> Result<&'static Self> {
        let unknown = || Error::defect("arguments", format!("no workload is named {name}"));
        ALL.iter().find(|workload| workload.name == name).ok_or_else(unknown)
    }

    /// Checks parameters; returns them completed by defaults.
    ///
    /// # Errors
    /// `Input` naming the option and its range; `Defect` for an unknown parameter.
    pub fn parameters(&self, values: &Value) -> Result<Value> {
        (self.parameters)(values)
    }

    /// Runs the workload.
    ///
    /// # Errors
    /// Errors of the workload.
    pub fn run(&self, request: &Request, progress: &Progress) -> Result<Response> {
        (self.run)(request, progress)
    }

    /// Verifies an answer of the workload.
    ///
    /// # Errors
    /// Errors of the workload.
    pub fn verify(&self, request: &Request, progress: &Progress) -> Result<Verdict> {
        (self.verify)(request, progress)
    }

    /// The leader of its rounds, with its share of the offered memory.
    ///
    /// # Errors
    /// Errors of the workload; `Defect` if it has no rounds.
    pub fn lead(&self, request: Request, offered: OfferedResources) -> Result<Box<dyn Leader>> {
        let rounds = self.in_rounds()?;
        let MemoryPlan { leader_bytes, workers, .. } = offered.divided(rounds.leader_part);
        let budget = Budget::new(leader_bytes).into();
        (rounds.lead)(&Request { budget, ..request }, workers)
    }

    /// A worker for the tasks of its rounds, with its share of the memory; it uses one thread.
    ///
    /// # Errors
    /// As [`RegisteredWorkload::lead`].
    pub fn work(&self, request: Request, offered: OfferedResources) -> Result<Box<dyn Worker>> {
        let rounds = self.in_rounds()?;
        let MemoryPlan { worker_bytes, workers, .. } = offered.divided(rounds.leader_part);
        let budget = Budget::new(worker_bytes).into();
        (rounds.work)(&Request { budget, threads: 1, ..request }, workers)
    }

    fn in_rounds(&self) -> Result<&RoundFunctions> {
        let without = || Error::defect("rounds", format!("{} has none", self.name));
        self.rounds.as_ref().ok_or_else(without)
    }
}

/// Reads parameters, checks them and writes them again.
fn checked<P, T>(values: &Value, check: impl Fn(&P) -> Result<T>) -> Result<Value>
where
    P: Default + DeserializeOwned + Serialize,
{
    let params: P = job::parameters(values)?;
    check(&params)?;
    serde_json::to_value(&params).map_err(|error| Error::defect("arguments", error))
}
