//! Messages between clients and the daemon (`spec/formats/store-wire.md`).

use std::io::{self, Read, Write};
use std::path::PathBuf;

use cuesta_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cache::{Counts, QuotaUse};
use crate::name_text::{from_json, path_text, to_json};
use crate::path::StorePath;
use crate::peers::PeersStatus;
use crate::places::BlockPlaces;
use crate::store::audit::Audit;
use crate::store::names::sweep::SweptPart;
use crate::under::UnderVersion;
use crate::under::layout::Layout;
use crate::writeback::WriteMode;

/// Version of the specification. It increases when a client of the older version would misread an
/// answer.
pub const WIRE: u32 = 2;
/// Most bytes of the text of a message.
const TEXT_BYTES_MAX: u32 = 64 << 20;
/// Most bytes of the payload of a message.
pub const PAYLOAD_BYTES_MAX: u32 = 16 << 20;

/// Most blocks whose holders are asked for at once.
pub const PLACES_MAX: u64 = 1 << 16;

/// Question of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// Asks for nothing; measures how long an answer takes.
    Ping,
    /// Asks for the status of the store.
    Status,
    /// Opens a file for reading.
    Open { path: StorePath },
    /// Closes a file that this connection opened.
    Close { number: u64 },
    /// Leases a block of an open file.
    Lease { number: u64, index: u64 },
    /// Ends a lease of this connection.
    Release { number: u64, index: u64 },
    /// Reads bytes of an open file, through the socket.
    Read { number: u64, offset: u64, bytes: u32 },
    /// Asks for the metadata of a path.
    Stat { path: StorePath },
    /// Asks for the entries of a folder.
    List { path: StorePath },
    /// Asks for the stores of the job that have blocks of a file in memory: `count` blocks, at most
    /// [`PLACES_MAX`], from `first` on.
    Places { path: StorePath, first: u64, count: u64 },
    /// Loads a file into memory.
    Load { path: StorePath },
    /// Loads a file into memory and pins it.
    Pin { path: StorePath },
    /// Unpins a file.
    Unpin { path: StorePath },
    /// Evicts a file from memory.
    Free { path: StorePath },
    /// Records reads in a file, or stops recording where no file is named.
    Trace { file: Option<PathBuf> },
    /// Verifies the checksums of all blocks in memory.
    Scrub,
    /// Ends the store once all dirty files are on the under level; with `discards`, at once.
    Stop {
        discards: bool,
        /// Whether memory-only files may be lost.
        #[serde(default)]
        discards_memory: bool,
    },
    /// Creates a file, in the store's write mode where none is given.
    Create {
        path: StorePath,
        mode: Option<WriteMode>,
        /// Permission bits after the writer's umask; the daemon's default if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permissions: Option<u32>,
    },
    /// Asks for the path to write a block at; `past_memory` where its path in memory had no room.
    Place { number: u64, index: u64, past_memory: bool },
    /// Declares `count` blocks from `first` on to be holes, which are zeros on the under level.
    /// Answered as [`Question::Place`].
    Hole { number: u64, first: u64, count: u64 },
    /// Asks whether a file of so many bytes has room, in memory and on the under level.
    Fits { bytes: u64 },
    /// Reports that a block in memory has all its bytes.
    Seal { number: u64, index: u64, bytes: u64 },
    /// Closes a file at this size, and gives it its name.
    Commit {
        number: u64,
        bytes: u64,
        /// Fail where the name exists.
        #[serde(default)]
        is_new: bool,
        /// Bits that the writer has set since, which override those of a file that it replaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permissions: Option<u32>,
    },
    /// Discards a file that is being written.
    Abandon { number: u64 },
    /// Writes a dirty file, or all of them, back to the disk of the under level.
    Flush { path: Option<StorePath> },
    /// Compares acknowledged files with the files that exist.
    Audit { reads_bytes: bool },
    /// Lists the part files below a folder, and removes those of dead stores unless `is_dry`.
    Sweep {
        path: StorePath,
        is_dry: bool,
        /// Age in seconds from which parts of stores of other hosts are removed; null for never.
        older_than: Option<u64>,
    },
    /// Removes a file or an empty folder.
    Remove { path: StorePath },
    /// Renames a file or folder.
    Rename {
        path: StorePath,
        to: StorePath,
        /// Fail where that name exists.
        #[serde(default)]
        is_new: bool,
    },
    /// Makes a folder.
    MakeFolder {
        path: StorePath,
        /// As in [`Question::Create`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permissions: Option<u32>,
    },
    /// Sets the permission bits of a file or folder.
    Permit { path: StorePath, permissions: u32 },
}

/// Reply of the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reply {
    /// The question failed.
    Refused {
        /// Message in one line: operation, path, cause, remedy.
        error: String,
        /// Whether the question is at fault, and not the system.
        is_input: bool,
        /// `errno` of the failed system call, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        errno: Option<i32>,
    },
    /// To [`Question::Status`].
    Status(Box<Status>),
    /// To [`Question::Open`].
    Opened {
        number: u64,
        block_bytes: u64,
        /// Its path on the under level.
        #[serde(with = "path_text")]
        file: PathBuf,
        version: UnderVersion,
    },
    /// To [`Question::Lease`]; without a path, the memory has no room.
    Leased { path: Option<PathBuf>, size_bytes: u64, checksum: u32 },
    /// To [`Question::List`] and [`Question::Stat`].
    Entries { entries: Vec<DirectoryEntry> },
    /// To [`Question::Places`]; this store is the first that is named.
    Places(BlockPlaces),
    /// To questions that move bytes.
    Moved { bytes: u64 },
    /// To [`Question::Create`].
    Created { created: u64, block_bytes: u64, mode: WriteMode },
    /// To [`Question::Place`].
    Placed { place: PathBuf, is_memory: bool },
    /// To [`Question::Audit`].
    Audited(Box<Audit>),
    /// To [`Question::Sweep`].
    Swept { parts: Vec<SweptPart> },
    /// To [`Question::Scrub`]: the blocks with wrong checksums.
    Scrubbed { damaged: Vec<(StorePath, u64)> },
    /// To all other questions.
    Done { done: bool },
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryEntry {
    /// Its name.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its size.
    pub size_bytes: u64,
    /// Time of the last change of its bytes, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Bytes of it in memory.
    pub memory_bytes: u64,
    /// Its permission bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<u32>,
    /// Target, for a symbolic link to a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<StorePath>,
    /// Layout on the servers, where the entry was asked for by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
}

/// Status of a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the protocol, [`WIRE`].
    pub wire: u32,
    /// Process id of the daemon.
    pub pid: u32,
    /// Seconds since the daemon started.
    pub uptime_seconds: f64,
    /// Folder of the under level.
    #[serde(with = "path_text")]
    pub under: PathBuf,
    /// The eviction policy.
    pub policy: String,
    /// Most bytes of blocks in memory.
    pub memory_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Clients that are connected.
    pub connections: u64,
    /// Write mode of files that name no mode.
    pub write: WriteMode,
    /// Cause of the last failed write-back; null after a successful one.
    pub failure: Option<String>,
    /// Counts since the start.
    #[serde(flatten)]
    pub counts: Counts,
    /// Whether missed blocks evict other blocks only where that is likely to pay.
    pub admission: bool,
    /// Most bytes that blocks may have now: less than `memory_bytes` where other processes need
    /// memory.
    pub limit_bytes: u64,
    /// Quotas of folders.
    pub quotas: Vec<QuotaUse>,
    /// Bytes of memory allocated for blocks to come.
    pub prepared_bytes: u64,
    /// Bytes of memory of the ledger.
    #[serde(default)]
    pub ledger_bytes: u64,
    /// Layout on the servers of new files in the root of the under level.
    pub layout: Layout,
    /// Files that lost their names to later files of other stores, under the names that they have
    /// now.
    #[serde(default)]
    pub conflicts: Vec<StorePath>,
    /// Parts of dead stores that were removed from the under level, the first of them.
    #[serde(default)]
    pub swept: Vec<StorePath>,
    /// The other stores of the job; null where it has none.
    pub peers: Option<PeersStatus>,
    /// Names in the store's folder that the store did not create, as of the daemon's start.
    #[serde(default)]
    pub foreign: Vec<String>,
}

impl Reply {
    /// Creates the reply for an error.
    pub fn refused(error: &Error) -> Self {
        let is_input = error.kind == cuesta_core::error::ErrorKind::Input;
        Self::Refused { error: error.sentence(), is_input, errno: error.errno }
    }
}

/// Sends a message: the lengths of its text and of its payload, both, then both.
///
/// # Errors
/// I/O errors.
pub fn send(to: &mut impl Write, message: &impl Serialize, payload: &[u8]) -> io::Result<()> {
    let text = to_json(serde_json::to_vec(message)?);
    let length = |bytes: usize| u32::try_from(bytes).map_err(|_| invalid("a message is too long"));
    let mut bytes = Vec::with_capacity(8 + text.len() + payload.len());
    bytes.extend(length(text.len())?.to_le_bytes());
    bytes.extend(length(payload.len())?.to_le_bytes());
    bytes.extend(text);
    bytes.extend(payload);
    to.write_all(&bytes)
}

/// Receives a message: returns its text, and writes its payload to `payload`; `None` where the
/// other end has closed.
///
/// # Errors
/// `InvalidData` for lengths over the limits; `UnexpectedEof` for a message that is cut off; I/O
/// errors.
pub fn receive(from: &mut impl Read, payload: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    let mut lengths = [0; 8];
    if from.read(&mut lengths[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut lengths[1..])?;
    let [text, more] = [0, 4].map(|at| {
        u32::from_le_bytes([lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]])
    });
    if text > TEXT_BYTES_MAX || more > PAYLOAD_BYTES_MAX {
        return Err(invalid("a message is longer than any"));
    }
    let mut bytes = Vec::new();
    payload.clear();
    if from.take(text.into()).read_to_end(&mut bytes)? < text as usize
        || from.take(more.into()).read_to_end(payload)? < more as usize
    {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(bytes))
}

/// Parses the text of a message.
///
/// # Errors
/// `Input` for text that is not such a message.
pub fn parsed<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    serde_json::from_slice(&from_json(text)).map_err(|error| Error::input("store", error))
}

/// Parses a client's question and serialises it again, for fuzzing.
///
/// # Errors
/// As [`parsed`].
pub fn question_again(text: &[u8]) -> Result<Vec<u8>> {
    serde_json::to_vec(&parsed::<Question>(text)?).map_err(|error| Error::defect("store", error))
}

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn questions_have_the_form_of_the_specification() {
        let open = Question::Open { path: "/a/b".parse().unwrap() };
        assert_eq!(serde_json::to_string(&open).unwrap(), r#"{"do":"open","path":"a/b"}"#);
        for wrong in [r#"{"do":"open","path":"../a"}"#, r#"{"do":"open","path":"a","more":1}"#] {
            assert!(serde_json::from_str::<Question>(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_sent_message_is_received(number in any::<u64>(), payload in any::<Vec<u8>>()) {
            let mut sent = Vec::new();
            let question = Question::Close { number };
            send(&mut sent, &question, &payload).unwrap();
            send(&mut sent, &Question::Ping, &[]).unwrap();
            let (mut from, mut received) = (sent.as_slice(), Vec::new());
            let mut next = |received: &mut Vec<u8>| receive(&mut from, received).unwrap();
            prop_assert_eq!(parsed::<Question>(&next(&mut received).unwrap()).unwrap(), question);
            prop_assert_eq!(&received, &payload);
            let ping = parsed::<Question>(&next(&mut received).unwrap());
            prop_assert_eq!(ping.unwrap(), Question::Ping);
            prop_assert_eq!(next(&mut received), None);
        }

        #[test]
        fn a_message_that_is_cut_off_is_refused(
            bytes in any::<Vec<u8>>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut payload = Vec::new();
            let _ = receive(&mut bytes.as_slice(), &mut payload);
            let mut sent = Vec::new();
            send(&mut sent, &Question::Close { number: 1 }, b"payload").unwrap();
            let cut = 1 + cut.index(sent.len() - 1);
            let result = receive(&mut &sent[..cut], &mut payload);
            prop_assert!(result.is_err(), "{}", cut);
        }
    }
}
