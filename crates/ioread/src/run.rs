//! Run of the workload on threads: a task is a range of neighbouring requests.

use std::ops::Range;

use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel;

use crate::files::{FileReader, FileRequest, Files};
use crate::params::IoreadParams;
use crate::part::{self, ReadPart};
use crate::table;

/// Approximate bytes of a task: long enough to benefit from the read-ahead of a file system.
pub const TASK_BYTES: u64 = 32 << 20;

/// Function that performs a request, with a buffer.
type ReadRequest = fn(&FileReader<'_>, FileRequest, &mut [u8]) -> Result<ReadPart>;

/// State of a thread: its buffer, file and results.
#[derive(Default)]
struct TaskReader<'a> {
    room: Vec<u8>,
    /// The file that was read last.
    reader: Option<FileReader<'a>>,
    /// Results by task.
    results: Vec<(usize, Vec<ReadPart>)>,
}

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    let mut response = Response::default();
    let files = open(request, &mut response)?;
    progress.expect(files.size_bytes);
    let parts = timed(&mut response, "read", || {
        let parts = read(&files, 0..files.requests, request, at_once, progress)?;
        Ok((parts, files.size_bytes, files.requests))
    })?;
    write(request, &part::of_all_files(&parts, files.count()), &mut response)?;
    Ok(response)
}

/// Returns the checked parameters of a request.
///
/// # Errors
/// `Input` naming the option.
pub fn params(request: &Request) -> Result<IoreadParams> {
    request.require_inputs()?;
    let params: IoreadParams = parameters(&request.parameters)?;
    params.check()?;
    Ok(params)
}

/// Reads the sizes of the files.
///
/// # Errors
/// `Input`, `System`.
pub fn open(request: &Request, response: &mut Response) -> Result<Files> {
    let params = params(request)?;
    timed(response, "open", || Ok((Files::open(&request.inputs, params)?, 0, 0)))
}

/// Performs a range of requests on all threads; returns results in the order of the files.
///
/// # Errors
/// `Input` where memory is too small for a request on each thread; `System`; `Cancelled`.
pub fn read<'f>(
    files: &'f Files,
    range: Range<u64>,
    request: &Request,
    perform: ReadRequest,
    progress: &Progress,
) -> Result<Vec<ReadPart>> {
    let room_bytes = files.longest_bytes();
    let buffers_bytes = request.threads as u64 * room_bytes;
    let _lease = request.budget.take(buffers_bytes, "a request of each thread")?;
    let each = (TASK_BYTES / room_bytes.max(1)).max(1);
    let tasks = (range.end - range.start).div_ceil(each) as usize;
    let task = |worker: &mut TaskReader<'f>, task: usize| {
        let TaskReader { room, reader, results } = worker;
        room.resize(room_bytes as usize, 0);
        let first = range.start + task as u64 * each;
        let mut parts = Vec::new();
        for number in first..range.end.min(first + each) {
            let place = files.place(number).ok_or_else(|| Error::defect("ioread", "no request"))?;
            let of = match reader.take().filter(|open| open.file == place.file) {
                Some(open) => open,
                None => files.reader(place.file)?,
            };
            let read = perform(&of, place, &mut room[..place.size_bytes])?;
            *reader = Some(of);
            part::extend(&mut parts, &[read]);
            progress.advance(place.size_bytes as u64)?;
        }
        results.push((task, parts));
        Ok(())
    };
    let workers = parallel::run(request.threads, tasks, TaskReader::default, task, |_| {})?;
    let mut results: Vec<_> = workers.into_iter().flat_map(|worker| worker.results).collect();
    results.sort_unstable_by_key(|&(task, _)| task);
    let mut all = Vec::new();
    results.iter().for_each(|(_, parts)| part::extend(&mut all, parts));
    Ok(all)
}

/// Performs a request with a single call.
///
/// # Errors
/// `System`.
pub fn at_once(reader: &FileReader<'_>, place: FileRequest, room: &mut [u8]) -> Result<ReadPart> {
    reader.fill(place.offset, room)?;
    Ok(ReadPart::of(place.file, room))
}

/// Writes the answer, and its counts to the response.
///
/// # Errors
/// `System`.
pub fn write(request: &Request, parts: &[ReadPart], response: &mut Response) -> Result<()> {
    timed(response, "write", || {
        Ok(((), table::write(&request.output, parts)?, parts.len() as u64))
    })?;
    response.counts.extend(counts(parts));
    Ok(())
}

/// Returns the counts of an answer.
pub fn counts(parts: &[ReadPart]) -> [(&'static str, u64); 3] {
    let sum = |of: fn(&ReadPart) -> u64| parts.iter().map(of).sum();
    [
        ("files", parts.len() as u64),
        ("requests", sum(|part| part.requests)),
        ("read_bytes", sum(|part| part.size_bytes)),
    ]
}
