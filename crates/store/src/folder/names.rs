//! Recognition of the files that a store created in its folder, by name, kind and contents.
//!
//! Everything else is foreign, and is neither removed nor changed.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use cuesta_runtime::removal::{FolderEntry, FolderHandle};
use rustix::fs::FileType;
use serde_json::Value;

use super::marker::{MARKER, MARKER_BEGIN};
use crate::memory::BlockName;
use crate::store::adopt::SAVED_FILE_BEGIN;
use crate::writeback::{LINE_BEGIN, RECORD_BEGIN};

/// File locked by the daemon while it lives.
pub const LOCK: &str = "lock";
/// The contents of the lock.
pub const LOCK_TEXT: &[u8] = b"cuesta.store-lock/1\n";
/// The socket of the daemon.
pub const SOCKET: &str = "socket";
/// File with the reason why dirty files remain in a folder.
pub const REMAINING: &str = "remaining";
/// Folder of the blocks.
pub const BLOCKS: &str = "blocks";
/// Folder of the descriptions of files.
pub const FILES: &str = "files";
/// Folder of the records of written files.
pub const WRITES: &str = "writes";
/// Ledger of acknowledgements to writers.
pub const LEDGER: &str = "ledger";
/// Log of refused connections of other stores.
pub const REFUSED_LOG: &str = "refused.log";
/// File with the port and token of the web page.
const PAGE: &str = "page.json";
/// Temporary name of the page's file in older versions.
const PAGE_PART: &str = "page.part";
/// Temporary name of the ledger in an older version.
const LEDGER_BEFORE: &str = "ledger.part";
/// Fewest digits of the seconds since 1970.
const SECONDS_DIGITS_MIN: usize = 9;
/// End of the names of partial files.
pub const PARTIAL: &str = "cuesta-part";
/// End of such names in older versions.
const PARTIAL_BEFORE: &str = "part";
/// Largest number of a file.
const NUMBER_MAX: u64 = u32::MAX as u64;
/// Bytes from the start of a file that decide whether a store created it.
const BEGIN_BYTES: u64 = 1 << 16;

/// Names that a store uses in its folder.
pub const ROOT_NAMES: [&str; 10] =
    [LOCK, SOCKET, REMAINING, BLOCKS, FILES, WRITES, LEDGER, REFUSED_LOG, PAGE, MARKER];
/// The folders among these names.
pub const FOLDERS: [&str; 3] = [BLOCKS, FILES, WRITES];

/// Returns whether a store created an entry of its folder; for a folder, whether it has the name of
/// one.
pub fn is_ours(root: &FolderHandle, entry: &FolderEntry) -> bool {
    let Some(name) = entry.name.to_str() else { return false };
    if !has_owner(entry) {
        return false;
    }
    match entry.kind() {
        FileType::Directory => FOLDERS.contains(&name),
        FileType::Socket => name == SOCKET,
        FileType::RegularFile => has_contents_of(root, name),
        _ => false,
    }
}

fn has_contents_of(root: &FolderHandle, name: &str) -> bool {
    let Some(begin) = begin_of(root, name) else { return false };
    match name {
        LOCK => begin.is_empty() || begin == LOCK_TEXT,
        REMAINING => begin.starts_with(b"store: "),
        MARKER => begin.starts_with(MARKER_BEGIN),
        LEDGER => begin.split(|&byte| byte == b'\n').all(|line| begins_as(line, LINE_BEGIN)),
        LEDGER_BEFORE => begin.trim_ascii_start().starts_with(LINE_BEGIN),
        REFUSED_LOG => is_log(&begin),
        PAGE => is_page(&begin),
        _ if is_page_part(name) => begin.starts_with(br#"{"port":"#),
        _ if is_partial(name, "store") => begin.starts_with(MARKER_BEGIN),
        _ if is_partial(name, LEDGER) => begins_as(begin.trim_ascii_start(), LINE_BEGIN),
        _ => false,
    }
}

/// Returns whether a name is that of a partial file: `stem.serial.cuesta-part`.
fn is_partial(name: &str, stem: &str) -> bool {
    let rest = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.'));
    let serial = rest.and_then(|rest| rest.strip_suffix(PARTIAL)?.strip_suffix('.'));
    serial.is_some_and(|serial| number_of(serial).is_some())
}

/// Returns whether the ledger in a folder has a line of a store.
pub fn has_line(root: &FolderHandle) -> bool {
    let begin = begin_of(root, LEDGER).unwrap_or_default();
    begin.split(|&byte| byte == b'\n').any(|line| line.starts_with(LINE_BEGIN))
}

/// Returns whether a text begins like a line of refused connections: seconds since 1970, an
/// address.
fn is_log(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits >= SECONDS_DIGITS_MIN && text.get(digits) == Some(&b' ')
}

/// Returns whether a name is that of a partial file of the page: `page.process.part`.
fn is_page_part(name: &str) -> bool {
    let process = name.strip_prefix("page.").and_then(|rest| rest.strip_suffix(".part"));
    name == PAGE_PART || process.is_some_and(|process| number_of(process).is_some())
}

fn is_page(text: &[u8]) -> bool {
    let facts = serde_json::from_slice::<Value>(text).unwrap_or_default();
    ["port", "token", "pid"].iter().all(|&key| facts.get(key).is_some())
}

/// Returns whether a store created a file in its folder of blocks: complete, being filled, or
/// allocated in advance.
pub fn is_block(entry: &FolderEntry) -> bool {
    let is_named = match entry.name.to_str().and_then(BlockName::parse) {
        Some(BlockName::Sealed(block)) => {
            let (mode, size_bytes) = (entry.stat.st_mode & 0o777, entry.stat.st_size as u64);
            // A block that was sealed with holes may be writable for a moment.
            matches!(mode, 0o400 | 0o600) && size_bytes == block.size_bytes
        }
        Some(BlockName::Partial) => true,
        Some(BlockName::PartialBefore) | None => false,
    };
    is_named && entry.kind() == FileType::RegularFile && has_owner(entry)
}

/// Returns whether a store of an older version created a partial file in its folder of blocks.
pub fn is_block_before(entry: &FolderEntry) -> bool {
    let name = entry.name.to_str().and_then(BlockName::parse);
    let is_named = name == Some(BlockName::PartialBefore);
    is_named && entry.kind() == FileType::RegularFile && has_owner(entry)
}

/// Returns whether a store created a file in its folder of descriptions.
pub fn is_fact(folder: &FolderHandle, entry: &FolderEntry) -> bool {
    is_numbered(folder, entry, SAVED_FILE_BEGIN)
}

/// Returns whether a store created a file in its folder of records.
pub fn is_record(folder: &FolderHandle, entry: &FolderEntry) -> bool {
    is_numbered(folder, entry, RECORD_BEGIN)
}

fn is_numbered(folder: &FolderHandle, entry: &FolderEntry, wanted: &[u8]) -> bool {
    let Some(name) = entry.name.to_str() else { return false };
    let mut parts = name.split('.');
    let number = parts.next().and_then(number_of);
    let is_complete = match (parts.next(), parts.next(), parts.next()) {
        (Some("json" | PARTIAL_BEFORE), None, None) => true,
        (Some(serial), Some(PARTIAL), None) if number_of(serial).is_some() => false,
        _ => return false,
    };
    let is_regular = entry.kind() == FileType::RegularFile && has_owner(entry);
    is_regular
        && number.is_some()
        && begin_of(folder, name).is_some_and(|begin| {
            if is_complete { begin.starts_with(wanted) } else { begins_as(&begin, wanted) }
        })
}

/// Parses the number in the name of a description or record, `hex.json`.
pub fn number_in(name: &OsStr) -> Option<u64> {
    number_of(name.to_str()?.strip_suffix(".json")?)
}

/// Parses a number as it is written in names: hexadecimal, without leading zeros.
fn number_of(text: &str) -> Option<u64> {
    let number = u64::from_str_radix(text, 16).ok()?;
    (number <= NUMBER_MAX && format!("{number:x}") == text).then_some(number)
}

/// Returns whether a text, possibly truncated, begins with `wanted`.
fn begins_as(text: &[u8], wanted: &[u8]) -> bool {
    text.starts_with(wanted) || wanted.starts_with(text)
}

fn has_owner(entry: &FolderEntry) -> bool {
    entry.stat.st_uid == rustix::process::geteuid().as_raw()
}

/// Returns the first bytes of a regular file.
fn begin_of(folder: &FolderHandle, name: &str) -> Option<Vec<u8>> {
    let file = folder.open_file(OsStr::from_bytes(name.as_bytes())).ok()?;
    let mut begin = Vec::new();
    file.take(BEGIN_BYTES).read_to_end(&mut begin).ok()?;
    Some(begin)
}
