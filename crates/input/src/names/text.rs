//! Reads names from text, line by line: a table, a list or an expression matrix.

use std::collections::VecDeque;
use std::io::{BufRead, Read};
use std::path::Path;

use cuesta_core::budget::human;
use cuesta_core::{Error, Result};

use super::list::{ListForm, number_of};
use super::{GENES_HEADER, GeneNames, OPERATION, check};
use crate::limits::NAMED_LINE_BYTES_MAX;
use crate::matrix::LineLayout;
use crate::table::matrix::is_enough;
use crate::table::{HEAD_BYTES, ends_in_returns, kinds, no_utf8};
use crate::unpack::{self, TextWithStart};

/// A line has at most this part of the memory.
const LINES_IN_MEMORY: u64 = 32;

/// A line and its number, counted from 1.
pub type Line = (usize, Vec<u8>);

/// Reads the names in the text file that `names` comes from.
///
/// # Errors
/// As [`GeneNames::read`].
pub fn read(names: &mut GeneNames, memory_bytes: u64) -> Result<()> {
    let path = names.path().to_owned();
    let mut lines = Lines::open(&path, memory_bytes)?;
    let mut adding = Adding { names, shown: path.display().to_string(), memory_bytes };
    let first = lines.first_ones()?;
    let filled = || first.iter().filter(|(_, text)| !text.is_empty());
    if filled().next().is_some_and(|(number, text)| *number == 1 && text == GENES_HEADER.as_bytes())
    {
        return adding.table(&mut lines);
    }
    let at_line = |(number, what): (usize, String)| adding.error(number, &what);
    if let Some(form) = ListForm::numbered(&first).map_err(at_line)? {
        return adding.list(&mut lines, form);
    }
    let head: Vec<&[u8]> = first.iter().map(|(_, text)| text.as_slice()).collect();
    let layout = match LineLayout::of(&adding.shown, &head.join(&b'\n')) {
        // Names may have spaces and numbers in them.
        Err(_) if !head.iter().any(|line| line.iter().any(|byte| b"\t,;".contains(byte))) => None,
        layout => layout?,
    };
    match layout {
        Some(layout) => adding.matrix(&mut lines, &layout),
        None => match filled().take(2).find(|(_, text)| text.contains(&b'\t')) {
            None => {
                let form = ListForm::plain(&first).map_err(at_line)?;
                adding.list(&mut lines, form)
            }
            Some((number, _)) => Err(adding.error(
                *number,
                "has a tab, but is no line of an expression matrix; give one name a line, or a \
                 table with the header gene<TAB>name",
            )),
        },
    }
}

struct Adding<'a> {
    names: &'a mut GeneNames,
    shown: String,
    memory_bytes: u64,
}

impl Adding<'_> {
    fn error(&self, number: usize, what: &str) -> Error {
        Error::input(OPERATION, format!("line {number} of {} {what}", self.shown))
    }

    fn table(&mut self, lines: &mut Lines) -> Result<()> {
        let mut header = true;
        while let Some((number, text)) = lines.next()? {
            if std::mem::take(&mut header) {
                continue;
            }
            let expected = self.names.len() as u64 + 1;
            let Some((gene, name)) = split_at_tab(&text) else {
                return Err(self.error(number, "has no tab; give a gene number, a tab and a name"));
            };
            match number_of(gene) {
                Some(gene) if gene == expected => self.add(number, name)?,
                Some(gene) if (1..expected).contains(&gene) => {
                    let what = format!(
                        "has gene {gene}, which has a name already; give genes 1 to N in order"
                    );
                    return Err(self.error(number, &what));
                }
                _ => {
                    let gene = String::from_utf8_lossy(&gene[..gene.len().min(24)]).into_owned();
                    let what = format!(
                        "has gene {gene:?}, expected {expected}; give genes 1 to N in order"
                    );
                    return Err(self.error(number, &what));
                }
            }
        }
        Ok(())
    }

    fn list(&mut self, lines: &mut Lines, form: ListForm) -> Result<()> {
        while let Some((number, text)) = lines.next()? {
            let name = form
                .name((number, &text), self.names.len())
                .map_err(|what| self.error(number, &what))?;
            if let Some(name) = name {
                self.names.push(&name, self.memory_bytes)?;
            }
        }
        Ok(())
    }

    fn matrix(&mut self, lines: &mut Lines, layout: &LineLayout) -> Result<()> {
        while let Some((number, text)) = lines.next()? {
            if text.is_empty() || number <= layout.lines_before() {
                continue;
            }
            if let Some(name) = layout.gene(&self.shown, number, &text)? {
                self.names.push(&name, self.memory_bytes)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, number: usize, name: &[u8]) -> Result<()> {
        let name = std::str::from_utf8(name).map_err(|_| self.error(number, &no_utf8(name)))?;
        check(name).map_err(|what| self.error(number, &what))?;
        self.names.push(name, self.memory_bytes)
    }
}

fn split_at_tab(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let tab = memchr::memchr(b'\t', text)?;
    Some((&text[..tab], &text[tab + 1..]))
}

/// The lines of a text, without their ends.
struct Lines<'a> {
    path: &'a Path,
    reader: TextWithStart,
    /// Lines that were read and are given again.
    ahead: VecDeque<Line>,
    number: usize,
    /// Longest line: the first ones are in memory several times, with their fields.
    line_bytes_max: u64,
}

impl<'a> Lines<'a> {
    fn open(path: &'a Path, memory_bytes: u64) -> Result<Self> {
        let fail = |cause| unpack::failure(OPERATION, path, &cause);
        let text = unpack::open(path).map_err(fail)?;
        let (start, reader) = unpack::with_start(text, HEAD_BYTES).map_err(fail)?;
        kinds::check_text(&start)
            .map_err(|what| Error::input(OPERATION, format!("{} {what}", path.display())))?;
        if ends_in_returns(&start) {
            let path = path.display();
            let text = format!(
                "{path} ends its lines in carriage returns alone; convert it with tr '\\r' '\\n'"
            );
            return Err(Error::input(OPERATION, text));
        }
        let line_bytes_max = NAMED_LINE_BYTES_MAX.min((memory_bytes / LINES_IN_MEMORY).max(1024));
        Ok(Self { path, reader, ahead: VecDeque::new(), number: 0, line_bytes_max })
    }

    /// The first lines, enough to recognise a matrix; they are given again by [`Lines::next`].
    fn first_ones(&mut self) -> Result<Vec<Line>> {
        let mut ahead = VecDeque::new();
        let mut head = Vec::new();
        while let Some(line) = self.next()? {
            head.extend_from_slice(&line.1);
            head.push(b'\n');
            ahead.push_back(line);
            if head.len() >= HEAD_BYTES && is_enough(&head) {
                break;
            }
        }
        self.ahead = ahead;
        Ok(self.ahead.iter().cloned().collect())
    }

    fn next(&mut self) -> Result<Option<Line>> {
        if let Some(line) = self.ahead.pop_front() {
            return Ok(Some(line));
        }
        let mut text = Vec::new();
        let mut limited = (&mut self.reader).take(self.line_bytes_max + 1);
        let count = limited
            .read_until(b'\n', &mut text)
            .map_err(|cause| unpack::failure(OPERATION, self.path, &cause))?;
        if count == 0 {
            return Ok(None);
        }
        self.number += 1;
        if count as u64 > self.line_bytes_max {
            let (number, path) = (self.number, self.path.display());
            let limit = human(self.line_bytes_max);
            let text = format!(
                "line {number} of {path} is longer than {limit}; raise --memory if it is text"
            );
            return Err(Error::input(OPERATION, text));
        }
        for end in [b'\n', b'\r'] {
            if text.last() == Some(&end) {
                text.pop();
            }
        }
        if self.number == 1 && text.starts_with(b"\xEF\xBB\xBF") {
            text.drain(..3);
        }
        Ok(Some((self.number, text)))
    }
}
