//! Sources of vectors: drawn by number, or `.npy` files in sequence.

use std::path::PathBuf;

use cuesta_core::random::Stream;
use cuesta_core::{Error, Result};
use cuesta_input::points::{self, PointFiles};

use crate::kernel::{self, AXES, STREAM, Vector};
use crate::params::Plan;

/// Vectors that go through all stages in one loop, in some tens of microseconds.
pub const FUSED_VECTORS: u64 = 1 << 16;
/// Vectors that one read takes.
const PIECE_VECTORS: usize = 1 << 15;

/// All vectors of a run, by number.
pub enum VectorSource {
    /// Vectors drawn from random words.
    Drawn(Stream),
    /// Vectors of files.
    Stored(Stored),
}

/// Vectors of files.
pub struct Stored {
    points: PointFiles,
}

impl VectorSource {
    /// Opens the files behind `inputs`, or draws vectors from `seed` if there are no inputs.
    ///
    /// # Errors
    /// `Input` when a file is no array of 3-vectors; `System`.
    pub fn open(inputs: &[PathBuf], seed: u64) -> Result<Self> {
        if inputs.is_empty() {
            return Ok(Self::Drawn(Stream::new(seed, STREAM)));
        }
        Stored::open(inputs).map(Self::Stored)
    }

    /// Returns the number of vectors in the files; `None` for drawn vectors, which have no end.
    pub fn vectors(&self) -> Option<u64> {
        match self {
            Self::Drawn(_) => None,
            Self::Stored(stored) => Some(stored.points.count),
        }
    }

    /// Bytes of the numbers in the files.
    pub fn file_bytes(&self) -> u64 {
        match self {
            Self::Drawn(_) => 0,
            Self::Stored(stored) => stored.bytes(),
        }
    }

    /// Fills a block with the vectors from number `first` on; numbers of files may be up to `limit`
    /// in absolute value.
    ///
    /// # Errors
    /// `Input` naming the vector with a larger number or NaN; `System`.
    pub fn fill(&self, first: u64, block: &mut [f64], limit: f64) -> Result<()> {
        match self {
            Self::Drawn(stream) => {
                kernel::generate(stream, first, block);
                Ok(())
            }
            Self::Stored(stored) => stored.fill(first, block, limit),
        }
    }
}

impl VectorSource {
    /// Returns the sum of a block after all stages; `buffer` holds the vectors in memory meanwhile.
    ///
    /// # Errors
    /// As [`VectorSource::fill`].
    pub fn pipeline(&self, block: u64, plan: &Plan, buffer: &mut Vec<f64>) -> Result<Vector> {
        if plan.stores() {
            return self.separate(block, plan, buffer);
        }
        let (mut first, end) = (plan.first(block), plan.first(block) + plan.vectors_of(block));
        let mut sum = [0.0; AXES];
        while first < end {
            let vectors = FUSED_VECTORS.min(end - first);
            let more = self.fused(first, vectors, plan, buffer)?;
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            first += vectors;
        }
        Ok(sum)
    }

    /// Returns the sum of shifted vectors in one loop; `buffer` holds vectors of files meanwhile.
    ///
    /// # Errors
    /// As [`VectorSource::fill`].
    pub fn fused(
        &self,
        first: u64,
        vectors: u64,
        plan: &Plan,
        buffer: &mut Vec<f64>,
    ) -> Result<Vector> {
        if let Self::Drawn(stream) = self {
            return Ok(kernel::fused(stream, first, vectors, plan.shift));
        }
        buffer.resize(AXES * vectors as usize, 0.0);
        self.fill(first, buffer, plan.limit())?;
        kernel::shift(buffer, plan.shift);
        Ok(kernel::sum(buffer))
    }

    /// Returns the sum of a block stored in `buffer`, with a separate loop for each stage.
    ///
    /// # Errors
    /// As [`VectorSource::fill`].
    pub fn separate(&self, block: u64, plan: &Plan, buffer: &mut Vec<f64>) -> Result<Vector> {
        buffer.resize(plan.values_of(block), 0.0);
        self.fill(plan.first(block), buffer, plan.limit())?;
        kernel::shift(buffer, plan.shift);
        Ok(kernel::sum(buffer))
    }
}

impl Stored {
    /// Opens the files behind `inputs`, in sequence.
    ///
    /// # Errors
    /// As [`VectorSource::open`].
    pub fn open(inputs: &[PathBuf]) -> Result<Self> {
        let points = PointFiles::open(&points::list(inputs)?)?;
        if points.dimensions != AXES {
            let text = format!(
                "the points of {} have {} dimensions; dataflow takes arrays of n x {AXES} numbers",
                inputs[0].display(),
                points.dimensions
            );
            return Err(Error::input("dataflow", text));
        }
        Ok(Self { points })
    }

    /// Bytes of the numbers in the files.
    pub fn bytes(&self) -> u64 {
        self.points.bytes()
    }

    /// Fills a block, like [`VectorSource::fill`].
    ///
    /// # Errors
    /// As [`VectorSource::fill`].
    pub fn fill(&self, first: u64, block: &mut [f64], limit: f64) -> Result<()> {
        let mut bytes = Vec::new();
        let mut number = first;
        for piece in block.chunks_mut(AXES * PIECE_VECTORS) {
            self.points.read(number, piece, &mut bytes)?;
            if !kernel::round(piece, limit) {
                return Err(self.refusal(number, piece, limit));
            }
            number += (piece.len() / AXES) as u64;
        }
        Ok(())
    }

    /// Returns an error that names the first number of a piece that is too large.
    pub(crate) fn refusal(&self, first: u64, piece: &[f64], limit: f64) -> Error {
        let index = piece.iter().position(|&value| !kernel::fits(value, limit)).unwrap_or(0);
        let text = format!(
            "coordinate {} of {} is {}; with this --block-vectors sums are exact up to {limit}: \
             give smaller numbers, or fewer vectors a block",
            index % AXES + 1,
            self.points.place(first + (index / AXES) as u64),
            piece[index]
        );
        Error::input("dataflow", text)
    }

    /// Reads vectors without rounding; `bytes` is a buffer of this function.
    ///
    /// # Errors
    /// `System`.
    pub fn read(&self, first: u64, block: &mut [f64], bytes: &mut Vec<u8>) -> Result<()> {
        self.points.read(first, block, bytes)
    }
}
