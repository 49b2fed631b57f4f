//! The last round of a pair matrix that tasks make in pieces: they are joined into shards.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::job::{Response, timed};
use cuesta_input::pair_matrix::{MatrixPiece, PieceMaker, PiecedMatrix, ShardNumber, WriteSummary};
use cuesta_runtime::rounds::{Resources, Round, shares};
use cuesta_runtime::wire;
use serde::{Deserialize, Serialize};

/// What all of the round are told: how the matrix is made, and all pieces in their order.
#[derive(Clone, Serialize, Deserialize)]
pub struct JoinPieces(PieceMaker, Vec<MatrixPiece>);

impl JoinPieces {
    /// Does a task: returns the folder of the shards that are its own.
    ///
    /// # Errors
    /// As [`PieceMaker::join`].
    pub fn task(&self, own: &[u8]) -> Result<Vec<u8>> {
        let Self(maker, pieces) = self;
        let shards: Vec<ShardNumber> = wire::from_bytes(own)?;
        wire::to_bytes(&maker.join(pieces, &shards)?)
    }
}

/// A matrix whose pieces are all there.
pub struct PieceJoin {
    matrix: PiecedMatrix,
    asked: JoinPieces,
    /// Those of each task.
    shards: Vec<Vec<ShardNumber>>,
}

impl PieceJoin {
    /// Divides the shards among tasks.
    pub fn new(matrix: PiecedMatrix, pieces: Vec<MatrixPiece>, resources: Resources) -> Self {
        let all = matrix.shards(&pieces);
        let tasks = shares(all.len() as u64, resources.task_count(all.len() as u64));
        let shards = tasks
            .map(|range| all[range.start as usize..range.end as usize].to_vec())
            .filter(|some| !some.is_empty())
            .collect();
        Self { asked: JoinPieces(matrix.maker(), pieces), matrix, shards }
    }

    /// The round, all of whose tasks are told what `shared` makes of the pieces; none where there
    /// is nothing to join.
    ///
    /// # Errors
    /// Those of `shared`.
    pub fn round(
        &self,
        shared: impl FnOnce(JoinPieces) -> Result<Vec<u8>>,
    ) -> Result<Option<Round>> {
        if self.shards.is_empty() {
            return Ok(None);
        }
        Ok(Some(Round {
            phase: "join".to_owned(),
            shared: shared(self.asked.clone())?,
            tasks: self.shards.iter().map(wire::to_bytes).collect::<Result<_>>()?,
            ..Round::default()
        }))
    }

    /// Gives the matrix its name, from what the tasks found.
    ///
    /// # Errors
    /// As [`PiecedMatrix::finish`].
    pub fn finish(self, found: &[Vec<u8>], response: &mut Response) -> Result<WriteSummary> {
        let folders: Vec<PathBuf> =
            found.iter().map(|folder| wire::from_bytes(folder)).collect::<Result<_>>()?;
        let shards = self.shards.iter().map(Vec::as_slice);
        timed(response, "write", || {
            let joined = folders.iter().map(PathBuf::as_path).zip(shards);
            let written = self.matrix.finish(&self.asked.1, joined)?;
            Ok((written, 0, written.rows))
        })
    }
}
