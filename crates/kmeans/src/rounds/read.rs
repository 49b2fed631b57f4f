//! Largest coordinates of all points.

use std::ops::Range;
use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::{Shares, with_share};

/// Reads points, and finds the largest coordinates.
#[derive(Serialize, Deserialize)]
pub struct ReadPoints {
    /// Files of the points.
    pub arrays: Vec<PathBuf>,
}

/// Points of tasks that were read.
#[derive(Serialize, Deserialize)]
pub struct Largest {
    /// Largest coordinates.
    pub largest: Vec<f64>,
    /// Whether the points stay in memory.
    pub cached: bool,
}

impl Operation for ReadPoints {
    const NAME: &'static str = "read";
    type State = Shares;
    type Input = Range<u64>;
    type Output = Largest;

    fn task(self, range: Range<u64>, context: TaskContext<'_, Shares>) -> TaskOutcome<Self> {
        let progress = context.progress;
        with_share(&self.arrays, range, context, |_, share| {
            let cached = share.keeps() || share.count() == 0;
            Ok(TaskResult::Output(Largest { largest: share.read(progress)?, cached }))
        })
    }

    fn combine(mut left: Largest, right: Largest) -> Result<Largest> {
        left.largest.iter_mut().zip(right.largest).for_each(|(a, b)| *a = a.max(b));
        left.cached &= right.cached;
        Ok(left)
    }
}
