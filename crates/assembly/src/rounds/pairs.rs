//! Mappers of the paper's first stage: the reads of a share as text pairs of a k-mer and the next
//! one, for the part of the canonical form of the first.

use cuesta_core::Result;
use cuesta_core::progress::Progress;

use super::divide::{Divided, each_batch};
use crate::buckets::adjacency::{BASES, LETTERS};
use crate::buckets::cut::check;
use crate::kernel::kmer::{Base, Kmer, kmers, with_kmer};
use crate::kernel::scan;
use crate::stages::workers::LevelParams;
use cuesta_input::reads::shares::Share;

/// Makes the pairs of reads that consist of A, C, G and T alone. The last k-mer of a read has no
/// value, and the number of bases goes to the first part.
///
/// # Errors
/// `Input` naming the file and the record; `System`; `Cancelled`.
pub(super) fn divide(
    params: &LevelParams,
    share: &Share,
    parts: usize,
    progress: &Progress,
) -> Result<Divided> {
    let mut texts = vec![Vec::new(); parts];
    let (mut codes, mut bases) = (Vec::<Base>::new(), 0);
    each_batch(params, share, progress, |reads, batch| {
        check(reads, batch)?;
        for read in batch.reads() {
            codes.clear();
            codes.extend(read.iter().map(|&letter| scan::code(letter)));
            if codes.iter().all(|&code| code < 4) {
                bases += codes.len();
                with_kmer!(params.k, K => add::<K>(&codes, params.k, &mut texts));
            }
        }
        Ok(())
    })?;
    if let (Some(first), 1..) = (texts.first_mut(), bases) {
        first.extend([BASES, b"\t", bases.to_string().as_bytes(), b"\n"].concat());
    }
    let mut divided = Divided::default();
    for text in texts {
        divided.bytes.extend(text);
        divided.ends.push(divided.bytes.len() as u64);
    }
    Ok(divided)
}

fn add<K: Kmer>(codes: &[Base], k: usize, texts: &mut [Vec<u8>]) {
    let letters: Vec<u8> = codes.iter().map(|&base| LETTERS[usize::from(base)]).collect();
    for (start, kmer) in kmers::<K>(codes, k).enumerate() {
        // Both strands of a vertex go to one part.
        let part = (kmer.canonical(k).mixed() >> 20) as usize % texts.len();
        let text = &mut texts[part];
        text.extend_from_slice(&letters[start..start + k]);
        text.push(b'\t');
        text.extend_from_slice(letters.get(start + 1..=start + k).unwrap_or_default());
        text.push(b'\n');
    }
}
