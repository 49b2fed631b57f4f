//! Memory: read and copy rates.

use std::hint::black_box;

use cuesta_core::Result;

use crate::arithmetic::sum;
use crate::{Request, Response, team};

/// Bytes that a pass of a thread is a multiple of: a page.
const GRAIN_BYTES: u64 = 4096;

/// Measures reading: each thread sums a separate array of words.
pub fn read(request: &Request) -> Result<Response> {
    let words = team::share(request.bytes, request.threads, GRAIN_BYTES)? as usize / 8;
    let per_s = team::rates(request, |index| {
        let data = touched(words, index as u64);
        Ok(move |passes: usize| {
            for _ in 0..passes {
                black_box(sum(black_box(&data)));
            }
            Ok((passes * words * 8) as u64)
        })
    })?;
    let detail = format!("sum of u64, {} bytes a thread", words * 8);
    Ok(Response { unit: "bytes", per_s, detail })
}

/// Measures copying: each thread copies half of its memory to the other half; bytes read and bytes
/// written both count.
pub fn copy(request: &Request) -> Result<Response> {
    let words = team::share(request.bytes, request.threads, 2 * GRAIN_BYTES)? as usize / 16;
    let per_s = team::rates(request, |index| {
        let source = touched(words, index as u64);
        let mut target = touched(words, 0);
        Ok(move |passes: usize| {
            for _ in 0..passes {
                black_box(&mut target).copy_from_slice(black_box(&source));
                black_box(&target);
            }
            Ok((passes * words * 16) as u64)
        })
    })?;
    let detail = format!("copy of {} bytes a thread, read and written bytes counted", words * 8);
    Ok(Response { unit: "bytes", per_s, detail })
}

/// Returns an array whose pages exist: a zeroed array may consist of a single shared page.
fn touched(words: usize, salt: u64) -> Vec<u64> {
    (0..words as u64).map(|word| word ^ salt.rotate_left(32)).collect()
}
