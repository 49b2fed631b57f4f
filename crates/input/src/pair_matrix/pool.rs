//! Thread pool that compresses chunks. Its output is written in the order of submission, so that
//! the files do not depend on the number of threads.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use cuesta_core::{Error, Result};

use super::codec::{CRC_BYTES, Encoder, Packing};
use super::shard::{ShardPath, ShardWriter};
use cuesta_runtime::parallel::lock;

/// Consecutive inner chunks of an array, not compressed yet.
pub struct RawChunks {
    /// Number of the array, as [`Pool::add_array`] counted them.
    pub array: usize,
    /// Number of the first inner chunk.
    pub first: u64,
    /// The chunks, without gaps.
    pub raw: Vec<u8>,
    /// Bytes of one chunk.
    pub chunk_bytes: usize,
    /// Compression of each chunk; `None` for an uncompressed chunk, which is followed by room for
    /// its checksum.
    pub packing: Option<Packing>,
}

/// Parts that a single thread compresses.
type Job = Vec<RawChunks>;

struct Encoded {
    array: usize,
    first: u64,
    sizes: Vec<usize>,
    bytes: Vec<u8>,
}

/// The threads and the arrays they write.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<Queue>,
    /// Notified when the queue changes in any way.
    changed: Condvar,
    output: Mutex<Output>,
    in_flight_max: usize,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<(u64, Job)>,
    submitted: u64,
    written: u64,
    closed: bool,
    failure: Option<Error>,
}

#[derive(Default)]
struct Output {
    arrays: Vec<ShardWriter>,
    next: u64,
    held: BTreeMap<u64, Vec<Encoded>>,
}

impl Pool {
    /// Starts the threads; at most `in_flight_max` jobs exist at a time.
    pub fn new(threads: usize, in_flight_max: usize) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
            output: Mutex::default(),
            in_flight_max,
        });
        let start = |_| {
            let shared = shared.clone();
            std::thread::spawn(move || work(&shared))
        };
        let threads = (0..threads).map(start).collect();
        Self { shared, threads }
    }

    /// Adds an array without chunks; arrays are numbered from 0 in the order of this call.
    pub fn add_array(&self, place: ShardPath) {
        lock(&self.shared.output).arrays.push(ShardWriter::new(place));
    }

    /// Submits a job, waiting while too many exist. The chunks of an array must come in ascending
    /// order, and those of one part must lie in one shard.
    ///
    /// # Errors
    /// The error that stopped a thread.
    pub fn submit(&self, job: Job) -> Result<()> {
        let mut queue = lock(&self.shared.queue);
        while queue.failure.is_none()
            && queue.submitted - queue.written >= self.shared.in_flight_max as u64
        {
            queue = self.shared.wait(queue);
        }
        if let Some(failure) = &queue.failure {
            return Err(failure.clone());
        }
        let number = queue.submitted;
        queue.jobs.push_back((number, job));
        queue.submitted += 1;
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Waits for all jobs and completes all files.
    ///
    /// # Errors
    /// The error that stopped a thread; `System`.
    pub fn finish(mut self) -> Result<()> {
        self.join();
        if let Some(failure) = lock(&self.shared.queue).failure.take() {
            return Err(failure);
        }
        lock(&self.shared.output).arrays.iter_mut().try_for_each(ShardWriter::close)
    }

    fn join(&mut self) {
        lock(&self.shared.queue).closed = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join()
                && !std::thread::panicking()
            {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.shared.queue).jobs.clear();
        self.join();
    }
}

impl Shared {
    fn wait<'a>(
        &self,
        queue: std::sync::MutexGuard<'a, Queue>,
    ) -> std::sync::MutexGuard<'a, Queue> {
        self.changed.wait(queue).unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn fail(&self, failure: Error) {
        let mut queue = lock(&self.queue);
        queue.failure.get_or_insert(failure);
        queue.jobs.clear();
        self.changed.notify_all();
    }

    /// The next job, or `None` when there will be no more.
    fn next_job(&self) -> Option<(u64, Job)> {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.closed || queue.failure.is_some() {
                return None;
            }
            queue = self.wait(queue);
        }
    }

    /// Writes the job and the jobs that waited for it, or makes it wait for its turn.
    fn write(&self, number: u64, job: Vec<Encoded>) -> Result<()> {
        let mut output = lock(&self.output);
        output.held.insert(number, job);
        let before = output.next;
        let Output { arrays, next, held } = &mut *output;
        while let Some(job) = held.remove(next) {
            for part in job {
                let array = &mut arrays[part.array];
                array.append(part.first, &part.sizes, &part.bytes)?;
            }
            *next += 1;
        }
        let written = *next - before;
        drop(output);
        lock(&self.queue).written += written;
        self.changed.notify_all();
        Ok(())
    }
}

/// Guard that fails the pool when its thread panics, so that no thread waits for it.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Error::defect("output.pairs", "a thread broke down"));
        }
    }
}

fn work(shared: &Shared) {
    let _alarm = Alarm(shared);
    let result = Encoder::new().and_then(|mut encoder| {
        while let Some((number, job)) = shared.next_job() {
            let encode = |part| encode(part, &mut encoder);
            let encoded: Vec<Encoded> = job.into_iter().map(encode).collect::<Result<_>>()?;
            shared.write(number, encoded)?;
        }
        Ok(())
    });
    if let Err(failure) = result {
        shared.fail(failure);
    }
}

fn encode(part: RawChunks, encoder: &mut Encoder) -> Result<Encoded> {
    let Some(packing) = part.packing else { return Ok(with_checksums(part)) };
    let mut bytes = Vec::new();
    let chunks = part.raw.chunks(part.chunk_bytes);
    let sizes: Vec<usize> =
        chunks.map(|chunk| encoder.append(chunk, packing, &mut bytes)).collect::<Result<_>>()?;
    Ok(Encoded { array: part.array, first: part.first, sizes, bytes })
}

/// Adds checksums to raw chunks in place.
fn with_checksums(part: RawChunks) -> Encoded {
    let RawChunks { array, first, raw: mut bytes, chunk_bytes, .. } = part;
    let size = chunk_bytes + CRC_BYTES;
    for chunk in bytes.chunks_exact_mut(size) {
        let (raw, checksum) = chunk.split_at_mut(chunk_bytes);
        checksum.copy_from_slice(&crc32c::crc32c(raw).to_le_bytes());
    }
    Encoded { array, first, sizes: vec![size; bytes.len() / size], bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn write_all(folder: &Path, threads: usize) -> Result<()> {
        let pool = Pool::new(threads, threads + 1);
        for name in ["a", "b"] {
            pool.add_array(ShardPath { array: folder.join(name), dimensions: 1, chunks: 3 });
        }
        for chunk in 0..20 {
            let raw = vec![chunk as u8; 100_000 / (chunk as usize + 1)];
            let chunk_bytes = raw.len();
            let part = |array| RawChunks {
                array,
                first: chunk,
                raw: raw.clone(),
                chunk_bytes,
                packing: Some(Packing::Zstd),
            };
            pool.submit((0..1 + chunk as usize % 2).map(part).collect())?;
        }
        pool.finish()
    }

    #[test]
    fn any_number_of_threads_writes_the_same_files() {
        let folders = [1, 4].map(|threads| {
            let folder = tempfile::tempdir().unwrap();
            write_all(folder.path(), threads).unwrap();
            folder
        });
        for shard in 0..7 {
            let read = |folder: &tempfile::TempDir| {
                fs::read(folder.path().join(format!("a/c/{shard}"))).unwrap()
            };
            assert_eq!(read(&folders[0]), read(&folders[1]));
        }
    }

    #[test]
    fn a_failing_disk_is_reported_once_and_ends_the_threads() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a file where a folder should be").unwrap();
        let error = write_all(folder.path(), 2).unwrap_err();
        assert!(error.message().contains("output.pairs: creating"), "{}", error.message());
    }
}
