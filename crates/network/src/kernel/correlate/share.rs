//! Distribution of independent pieces of work over threads.

use std::thread;

/// Calls `each` with the index of each piece and the piece, on up to `threads` threads.
pub fn share<T: Send>(work: &mut [T], threads: usize, each: impl Fn(usize, &mut T) + Sync) {
    let portion = work.len().div_ceil(threads.max(1)).max(1);
    let run = |(number, pieces): (usize, &mut [T])| {
        for (index, piece) in (number * portion..).zip(pieces) {
            each(index, piece);
        }
    };
    let run = &run;
    thread::scope(|scope| {
        let mut portions = work.chunks_mut(portion).enumerate();
        let first = portions.next();
        for rest in portions {
            scope.spawn(move || run(rest));
        }
        first.map(run)
    });
}
