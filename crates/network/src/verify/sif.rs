//! Verifier of `network.sif`: its lines are those of the rows, in any order, by a keyed
//! fingerprint, which n wrong lines have with a probability of at most n / 2^60.

use std::collections::HashMap;
use std::path::Path;

use cuesta_core::fingerprint::{Fingerprint, Key};
use cuesta_core::job::Context;
use cuesta_core::{Error, Result};
use cuesta_input::GeneNames;
use cuesta_input::limits::SPLIT_BYTES;
use cuesta_input::source::{TextFile, TextSource};
use cuesta_runtime::parallel;

use super::graph::Expected;
use super::rows::{announce, fault};
use super::text::pieces::{Buffer, Pieces};

/// Checks the network; an error of kind `Input` states its fault.
pub fn check(context: &Context<'_>, path: &Path, expected: &Expected<'_>) -> Result<()> {
    let system = |cause| Error::system("verify", "reading", path, &cause);
    let size_bytes = std::fs::metadata(path).map_err(system)?.len();
    announce(context.progress, expected.rows.paths.iter().chain([&path.to_owned()]));
    let key = Key::random();
    let counts = expected.names.map(counts_of).unwrap_or_default();
    let states = expected.rows.each(Fingerprint::default, |sum, written| {
        let [first, second] =
            [written.row.gene1, written.row.gene2].map(|gene| node(gene, expected.names, &counts));
        sum.add_bytes(&key, format!("{}\tcoexp\t{}", first?, second?).as_bytes());
        Ok(())
    })?;
    let file = TextFile { path: path.to_owned(), size_bytes, is_packed: false, zone: None };
    let source = TextSource { files: vec![file], shape: None, files_skipped: 0 };
    let (file, splits) = (&source.files[0], source.splits(SPLIT_BYTES));
    let make = || (Fingerprint::default(), Buffer::default());
    let work = |(sum, buffer): &mut (Fingerprint, Buffer), task: usize| {
        let mut pieces = Pieces::open(file, &splits[task], buffer)?;
        while let Some(piece) = pieces.next_piece()? {
            let text = &piece.buffer[piece.start..piece.end];
            if piece.cut {
                let last = text.len().saturating_sub(1);
                return Err(fault(file, piece.offset, last, "has no line feed".to_owned()));
            }
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                sum.add_bytes(&key, line.strip_suffix(b"\n").unwrap_or(line));
            }
            context.progress.advance(text.len() as u64)?;
        }
        Ok(())
    };
    let lines = parallel::run(context.request.threads, splits.len(), make, work, |_| {})?;
    let (mut of_rows, mut of_lines) = (Fingerprint::default(), Fingerprint::default());
    states.iter().for_each(|sum| of_rows.merge(sum));
    lines.iter().for_each(|(sum, _)| of_lines.merge(sum));
    match of_rows == of_lines {
        true => Ok(()),
        false => {
            Err(Error::input("verify", format!("{} has other edges than the rows", path.display())))
        }
    }
}

/// Returns the number of genes of each name.
fn counts_of(names: &GeneNames) -> HashMap<&str, u32> {
    let mut counts = HashMap::new();
    names.iter().for_each(|name| *counts.entry(name.trim()).or_default() += 1);
    counts
}

/// Returns the name of a node, with the number of its gene unless the name alone says which.
fn node(
    gene: u32,
    names: Option<&GeneNames>,
    counts: &HashMap<&str, u32>,
) -> std::result::Result<String, String> {
    let Some(names) = names else { return Ok(gene.to_string()) };
    let name = names.get(gene).ok_or_else(|| format!("has gene {gene}, which has no name"))?;
    let name = name.trim();
    let ends_in_number = name.ends_with(')')
        && name.rfind("(gene ").is_some_and(|place| {
            name[place + "(gene ".len()..name.len() - 1].chars().all(|it| it.is_ascii_digit())
        });
    let is_clear = !name.is_empty() && !ends_in_number && counts.get(name) == Some(&1);
    match is_clear {
        true => Ok(name.to_owned()),
        false => Ok(format!("{name} (gene {gene})").trim_start().to_owned()),
    }
}
