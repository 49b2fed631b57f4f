//! Runs the workload on threads: an image is a task, and the rows are in image order regardless of
//! the thread that made them.

use std::ops::Range;
use std::path::Path;

use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel;

use crate::kernel::{self, ImageMeasures, Scratch};
use crate::params::{ImagesParams, Plan};
use crate::table::{self, Counts, Row};
use cuesta_input::images::samples::ImageShape;
use cuesta_input::images::{Reader, Stack};

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    plan(request)?;
    let mut response = Response::default();
    let stack = list(request, &mut response)?;
    let rows = timed(&mut response, "images", || {
        let rows = rows(request, &stack, 0..stack.images, progress)?;
        Ok((rows, stack.size_bytes, stack.images))
    })?;
    reduce(&request.output, &rows, &mut response)?;
    Ok(response)
}

/// Returns sentences on the kinds of the images.
///
/// # Errors
/// As [`list`], as far as the first pages show.
pub fn recognised(request: &Request) -> Result<Vec<String>> {
    cuesta_input::images::recognised(&request.inputs)
}

/// Opens the images.
///
/// # Errors
/// `Input` when there is no image or one that can't be read; `System`.
pub fn list(request: &Request, response: &mut Response) -> Result<Stack> {
    timed(response, "list", || {
        let stack = Stack::open(&request.inputs, kernel::needed_bytes)?;
        stack.check_sets()?;
        let images = stack.images;
        Ok((stack, 0, images))
    })
}

/// Writes the answer of all images, and adds its counts to the response.
///
/// # Errors
/// `System`.
pub fn reduce(folder: &Path, rows: &[Row], response: &mut Response) -> Result<()> {
    let images = rows.len() as u64;
    let all = timed(response, "reduce", || {
        let (all, bytes) = write(folder, rows)?;
        Ok((all, bytes, images))
    })?;
    let Counts { pixels, objects, largest } = all;
    response.counts.extend([("images", images), ("pixels", pixels), ("objects", objects)]);
    response.counts.insert("largest_object", largest);
    Ok(())
}

/// Checks the parameters of a request.
///
/// # Errors
/// `Input` naming the option.
pub fn plan(request: &Request) -> Result<Plan> {
    request.require_inputs()?;
    parameters::<ImagesParams>(&request.parameters)?.check()
}

/// Computes the rows of some images of a stack, in image order.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn rows(
    request: &Request,
    stack: &Stack,
    images: Range<u64>,
    progress: &Progress,
) -> Result<Vec<Row>> {
    let plan = plan(request)?;
    let needed_bytes = stack.needed_bytes.max(1);
    let fitting = usize::try_from(request.budget.free_bytes() / needed_bytes).unwrap_or(usize::MAX);
    let threads = request.threads.min(fitting).max(1);
    let _lease = request.budget.take(threads as u64 * needed_bytes, "the largest image")?;
    progress.expect(images.clone().map(|image| stack.bytes_of(image)).sum());
    let task = |worker: &mut (Reader<'_>, Scratch, Vec<Row>), task: usize| {
        let (reader, scratch, rows) = worker;
        let image = images.start + task as u64;
        let (shape, samples) = reader.read(image)?;
        let measures = kernel::analyse(samples, &shape, &plan, scratch)
            .map_err(|refused| refuse(stack, image, &refused.to_string()))?;
        rows.push(row(stack, image, &shape, &measures));
        progress.advance(stack.bytes_of(image))
    };
    let make = || (Reader::new(stack), Scratch::default(), Vec::new());
    let tasks = (images.end - images.start) as usize;
    let workers = parallel::run(threads, tasks, make, task, |_| {})?;
    let mut rows: Vec<Row> = workers.into_iter().flat_map(|(_, _, rows)| rows).collect();
    rows.sort_by_key(|row| row.image);
    Ok(rows)
}

/// Returns the error of an image that cannot be processed.
pub(crate) fn refuse(stack: &Stack, image: u64, reason: &str) -> Error {
    let (number, (path, page)) = (stack.number(image), stack.place(image));
    let name = path.display();
    Error::input("images", format!("image {number} (page {page} of {name}) {reason}"))
}

/// Returns the row of an image.
pub(crate) fn row(stack: &Stack, image: u64, shape: &ImageShape, measures: &ImageMeasures) -> Row {
    let (path, page) = stack.place(image);
    Row {
        image: stack.number(image),
        file: table::field(path),
        page,
        height: shape.height as u64,
        width: shape.width as u64,
        threshold: measures.threshold,
        counts: Counts {
            pixels: measures.pixels,
            objects: measures.objects,
            largest: measures.largest,
        },
    }
}

/// Writes the table; returns the counts of all images, and the bytes written.
///
/// # Errors
/// `System`.
fn write(folder: &Path, rows: &[Row]) -> Result<(Counts, u64)> {
    let mut text = table::HEADER.join("\t");
    text.push('\n');
    let mut all = Counts::default();
    for row in rows {
        row.append(&mut text);
        all.add(&row.counts);
    }
    all.append_all(&mut text);
    let path = folder.join(table::FEATURES_FILE);
    std::fs::write(&path, &text)
        .map_err(|cause| Error::system("answer", "writing", &path, &cause))?;
    Ok((all, text.len() as u64))
}
