//! Last round of a pair matrix that tasks make in pieces: the pieces are joined into shards.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::job::{Response, timed};
use cuesta_input::pair_matrix::{MatrixPiece, PieceMaker, PiecedMatrix, ShardNumber, WriteSummary};
use cuesta_runtime::operation::{Operation, RoundPlan, TaskContext, TaskOutcome, TaskResult};
use cuesta_runtime::rounds::{Resources, shares};
use cuesta_runtime::sequential::Rounds;
use serde::{Deserialize, Serialize};

/// Joins pieces into shards: how the matrix is made, and all pieces in order. A task returns the
/// folder that contains its shards.
#[derive(Serialize, Deserialize)]
pub struct JoinPieces(PieceMaker, Vec<MatrixPiece>);

impl Operation for JoinPieces {
    const NAME: &'static str = "join";
    type State = ();
    type Input = Vec<ShardNumber>;
    type Output = PathBuf;

    fn task(self, shards: Vec<ShardNumber>, _: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        let Self(maker, pieces) = self;
        maker.join(&pieces, &shards).map(TaskResult::Output)
    }
}

/// Joins the pieces of a matrix, which are complete, and publishes it.
///
/// # Errors
/// As [`PieceMaker::join`] and [`PiecedMatrix::finish`].
pub fn join(
    rounds: &Rounds,
    (matrix, pieces): (PiecedMatrix, Vec<MatrixPiece>),
    resources: Resources,
    response: &mut Response,
) -> Result<WriteSummary> {
    let all = matrix.shards(&pieces);
    let tasks: Vec<Vec<ShardNumber>> =
        shares(all.len() as u64, resources.task_count(all.len() as u64))
            .map(|range| all[range.start as usize..range.end as usize].to_vec())
            .filter(|shards| !shards.is_empty())
            .collect();
    let mut folders = Vec::new();
    if !tasks.is_empty() {
        let operation = JoinPieces(matrix.maker(), pieces.clone());
        folders = rounds.run(RoundPlan::new(operation, tasks.clone()), response)?;
    }
    timed(response, "write", || {
        let joined = folders.iter().map(PathBuf::as_path).zip(tasks.iter().map(Vec::as_slice));
        let written = matrix.finish(&pieces, joined)?;
        Ok((written, 0, written.rows))
    })
}
