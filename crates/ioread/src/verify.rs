//! Verifies an answer by reading the files again, each request in two parts, the second one first,
//! and combining their checksums.

use cuesta_core::Result;
use cuesta_core::digest::{Digest, Tag};
use cuesta_core::job::{Request, Verdict};
use cuesta_core::progress::Progress;

use crate::files::{FileReader, FileRequest, Files};
use crate::part::{self, ReadPart};
use crate::{run, table};

const METHOD: &str = "every request read again in two parts, their checksums joined";
/// Prefix of the digest's records, which distinguishes them from those of other workloads.
const TAG: Tag = Tag::Named(*b"ioread\0\0");

/// Verifies the answer in `request.output`.
///
/// # Errors
/// `Input` when the inputs cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let files = Files::open(&request.inputs, run::params(request)?)?;
    progress.expect(files.size_bytes);
    let parts = run::read(&files, 0..files.requests, request, in_halves, progress)?;
    let expected = part::of_all_files(&parts, files.count());
    let answer = table::read(&request.output)?;
    let actual = answer.as_deref().map_or_else(Digest::default, digest);
    let mut verdict = Verdict::new(actual, digest(&expected), METHOD).covers(&[table::READ_FILE]);
    let remark = "the table is not the row of each file, in the order of the files";
    verdict.require(answer.is_some_and(|answer| answer == expected), remark);
    verdict.counts.extend(run::counts(&expected));
    Ok(verdict)
}

fn in_halves(reader: &FileReader<'_>, place: FileRequest, room: &mut [u8]) -> Result<ReadPart> {
    let (first, second) = room.split_at_mut(place.size_bytes / 2);
    reader.fill(place.offset + first.len() as u64, second)?;
    let second = ReadPart::of(place.file, second);
    reader.fill(place.offset, first)?;
    let mut combined = ReadPart::of(place.file, first);
    combined.join(&second);
    Ok(ReadPart { requests: 1, ..combined })
}

fn digest(parts: &[ReadPart]) -> Digest {
    let mut digest = Digest::default();
    for part in parts {
        digest.add(TAG, &[part.file, part.requests, part.size_bytes, u64::from(part.crc)]);
    }
    digest
}
