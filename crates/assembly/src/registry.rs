//! Methods by the profile that selects them. Whoever composes a program registers those it has;
//! runs, verifications, leaders and workers find theirs by the parameters of the request.

use cuesta_core::job::{Request, Response, Verdict};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use serde_json::Value;

use crate::method::{Method, PROFILE, planned};
use crate::{rounds, run, verify};

/// Length of a read, in bases, that exceeds all sizes of k-mers.
const READ_BASES: usize = 1000;

/// Functions of the workload with a method.
pub struct AssembleFunctions {
    /// Runs it.
    pub run: fn(&Request, &Progress) -> Result<Response>,
    /// Verifies an answer.
    pub verify: fn(&Request, &Progress) -> Result<Verdict>,
    /// Creates the leader of its rounds.
    pub lead: fn(&Request, Resources) -> Result<Box<dyn Leader>>,
    /// Creates a worker of its rounds.
    pub work: fn(&Request, Resources) -> Result<Box<dyn Worker>>,
    profile: Option<&'static str>,
    parameters: &'static [&'static str],
    completed: fn(&Value) -> Result<Value>,
}

impl AssembleFunctions {
    /// Returns the functions with method `M`.
    pub const fn of<M: Method>() -> Self {
        Self {
            run: run::run::<M>,
            verify: verify::verify::<M>,
            lead: rounds::lead::<M>,
            work: rounds::work::<M>,
            profile: M::PROFILE,
            parameters: M::PARAMETERS,
            completed: completed::<M>,
        }
    }
}

/// Registered methods, the first of which is that of all profiles that no other has.
pub struct Registry(pub &'static [AssembleFunctions]);

impl Registry {
    /// Returns the functions with the method that parameters select.
    ///
    /// # Errors
    /// `Input` naming an option that another method alone has.
    pub fn of(&self, parameters: &Value) -> Result<&AssembleFunctions> {
        let profile = parameters[PROFILE].as_str();
        let is_selected =
            |method: &&AssembleFunctions| profile.is_some() && method.profile == profile;
        let selected = self.0.iter().find(is_selected).unwrap_or(&self.0[0]);
        for (profile, name) in self.foreign(selected) {
            if !parameters[name].is_null() {
                let option = name.replace('_', "-");
                let text = format!("--{option} is for --profile {profile} alone");
                return Err(Error::input("assemble", text));
            }
        }
        Ok(selected)
    }

    /// Checks parameters; returns them completed by defaults.
    ///
    /// # Errors
    /// `Input` naming the option and its range; `Defect` for an unknown parameter.
    pub fn parameters(&self, values: &Value) -> Result<Value> {
        let selected = self.of(values)?;
        let mut completed = (selected.completed)(values)?;
        for (_, name) in self.foreign(selected) {
            completed[name] = Value::Null;
        }
        Ok(completed)
    }

    /// Returns the parameters that other methods than this one have, each after its profile.
    fn foreign(
        &self,
        selected: &AssembleFunctions,
    ) -> impl Iterator<Item = (&'static str, &'static str)> {
        let others = self.0.iter().filter(|method| method.profile != selected.profile);
        others.flat_map(|method| {
            let profile = method.profile.unwrap_or_default();
            method.parameters.iter().map(move |&name| (profile, name))
        })
    }
}

/// Checks parameters of a method; returns them completed by defaults.
fn completed<M: Method>(values: &Value) -> Result<Value> {
    planned::<M>(values, READ_BASES)?;
    let defaults = serde_json::to_value(crate::params::AssembleParams::default());
    let mut all = defaults.map_err(|error| Error::defect("arguments", error))?;
    for &name in M::PARAMETERS {
        all[name] = Value::Null;
    }
    for (name, value) in values.as_object().into_iter().flatten() {
        if !value.is_null() {
            all[name] = value.clone();
        }
    }
    Ok(all)
}
