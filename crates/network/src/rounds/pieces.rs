//! Last round of a pair matrix that tasks make in pieces: the pieces are joined into shards.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::job::{Response, timed};
use cuesta_input::pair_matrix::{MatrixPiece, PieceMaker, PiecedMatrix, ShardNumber, WriteSummary};
use cuesta_runtime::rounds::{Resources, Round, shares};
use cuesta_runtime::wire;
use serde::{Deserialize, Serialize};

/// Input of all tasks of the round: how the matrix is made, and all pieces in order.
#[derive(Clone, Serialize, Deserialize)]
pub struct JoinPieces(PieceMaker, Vec<MatrixPiece>);

impl JoinPieces {
    /// Runs a task: joins its shards; returns the folder that contains them.
    ///
    /// # Errors
    /// As [`PieceMaker::join`].
    pub fn task(&self, task_input: &[u8]) -> Result<Vec<u8>> {
        let Self(maker, pieces) = self;
        let shards: Vec<ShardNumber> = wire::from_bytes(task_input)?;
        wire::to_bytes(&maker.join(pieces, &shards)?)
    }
}

/// Matrix whose pieces are complete.
pub struct PieceJoin {
    matrix: PiecedMatrix,
    input: JoinPieces,
    /// Shards of each task.
    shards: Vec<Vec<ShardNumber>>,
}

impl PieceJoin {
    /// Divides the shards among tasks.
    pub fn new(matrix: PiecedMatrix, pieces: Vec<MatrixPiece>, resources: Resources) -> Self {
        let all = matrix.shards(&pieces);
        let tasks = shares(all.len() as u64, resources.task_count(all.len() as u64));
        let shards = tasks
            .map(|range| all[range.start as usize..range.end as usize].to_vec())
            .filter(|shards| !shards.is_empty())
            .collect();
        Self { input: JoinPieces(matrix.maker(), pieces), matrix, shards }
    }

    /// Returns the round, whose tasks receive the message that `shared` makes of the pieces; `None`
    /// if there is nothing to join.
    ///
    /// # Errors
    /// Errors of `shared`.
    pub fn round(
        &self,
        shared: impl FnOnce(JoinPieces) -> Result<Vec<u8>>,
    ) -> Result<Option<Round>> {
        if self.shards.is_empty() {
            return Ok(None);
        }
        Ok(Some(Round {
            phase: "join".to_owned(),
            shared: shared(self.input.clone())?,
            tasks: self.shards.iter().map(wire::to_bytes).collect::<Result<_>>()?,
            ..Round::default()
        }))
    }

    /// Publishes the matrix, from the results of the tasks.
    ///
    /// # Errors
    /// As [`PiecedMatrix::finish`].
    pub fn finish(self, results: &[Vec<u8>], response: &mut Response) -> Result<WriteSummary> {
        let folders: Vec<PathBuf> =
            results.iter().map(|folder| wire::from_bytes(folder)).collect::<Result<_>>()?;
        let shards = self.shards.iter().map(Vec::as_slice);
        timed(response, "write", || {
            let joined = folders.iter().map(PathBuf::as_path).zip(shards);
            let written = self.matrix.finish(&self.input.1, joined)?;
            Ok((written, 0, written.rows))
        })
    }
}
