//! Superstep: each gene takes the label that most of its neighbours have.

use cuesta_core::Error;
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use cuesta_runtime::state::State;
use serde::{Deserialize, Serialize};

use super::name;
use crate::kernel::label_propagation::winner;
use crate::kernel::neighbours::Neighbours;

/// Finds the genes of the part of each task that change their label, and their new labels.
#[derive(Serialize, Deserialize)]
pub struct FindLabels {
    /// Number of parts.
    pub parts: usize,
    /// Label of each gene, from 0.
    pub labels: Vec<u32>,
}

impl Operation for FindLabels {
    const NAME: &'static str = "label-propagation";
    type State = State;
    type Input = ();
    type Output = Vec<(u32, u32)>;

    fn task(self, (): (), context: TaskContext<'_, State>) -> TaskOutcome<Self> {
        let (Self { parts, labels }, part) = (self, context.number);
        let stored = context.state.get(&name(part))?;
        let damaged = || Error::defect("state", "the stored edges of a part are damaged");
        let neighbours = Neighbours::of((*stored).as_ref()).ok_or_else(damaged)?;
        let mut votes = vec![0; labels.len()];
        let gene_of = |row: usize| row * parts + part;
        let changes = (0..neighbours.rows()).filter_map(|row| {
            let label = winner(neighbours.row(row), &labels, &mut votes)?;
            (labels[gene_of(row)] != label).then_some((gene_of(row) as u32, label))
        });
        Ok(TaskResult::Output(changes.collect()))
    }
}
