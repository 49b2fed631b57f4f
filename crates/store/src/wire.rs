//! What a client and the daemon say to each other (`spec/formats/store-wire.md`).

use std::io::{self, Read, Write};
use std::path::PathBuf;

use cuesta_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::name_text::{from_json, path_text, to_json};
use crate::path::StorePath;
use crate::peers::PeersStatus;
use crate::places::BlockPlaces;
use crate::store::audit::Audit;
use crate::store::counts::Counts;
use crate::store::names::sweep::SweptPart;
use crate::store::promise::WriteMode;
use crate::store::rules::QuotaUse;
use crate::under::UnderVersion;
use crate::under::layout::Layout;

/// Which version of the specification this is: another one where a client of this version would
/// take an answer for what it is not.
pub const WIRE: u32 = 2;
/// Most bytes of the text of a message.
const TEXT_BYTES_MAX: u32 = 64 << 20;
/// Most bytes that one message carries besides.
pub const PAYLOAD_BYTES_MAX: u32 = 16 << 20;

/// Most blocks whose places are asked for at once.
pub const PLACES_MAX: u64 = 1 << 16;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// Nothing: how long an answer takes.
    Ping,
    /// What the store is and has done.
    Status,
    /// Opens a file for reading.
    Open { path: StorePath },
    /// Closes one that this connection opened.
    Close { number: u64 },
    /// Leases a block of an open file.
    Lease { number: u64, index: u64 },
    /// Ends a lease of this connection.
    Release { number: u64, index: u64 },
    /// Bytes of an open file, through the socket.
    Read { number: u64, offset: u64, bytes: u32 },
    /// What is under a path.
    Stat { path: StorePath },
    /// What is in a folder.
    List { path: StorePath },
    /// Which stores of the job have blocks of a file in memory: `count` of them, at most
    /// [`PLACES_MAX`], from `first` on.
    Places { path: StorePath, first: u64, count: u64 },
    /// Brings a file into memory.
    Load { path: StorePath },
    /// Brings a file into memory to stay.
    Pin { path: StorePath },
    /// Lets it leave again.
    Unpin { path: StorePath },
    /// Takes a file out of memory.
    Free { path: StorePath },
    /// Records reads in a file, or ends that where none is named.
    Trace { file: Option<PathBuf> },
    /// Checks all blocks.
    Scrub,
    /// Ends the store once all that is dirty is on the under level; with `discards`, at once.
    Stop {
        discards: bool,
        /// Files in memory alone may end with the store.
        #[serde(default)]
        discards_memory: bool,
    },
    /// Begins a file, in the store's own mode where none is given.
    Create {
        path: StorePath,
        mode: Option<WriteMode>,
        /// Permission bits that the writer's umask leaves; the daemon's own if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permissions: Option<u32>,
    },
    /// Where a block is to be written; `past_memory` where its place in memory took no bytes.
    Place { number: u64, index: u64, past_memory: bool },
    /// Blocks that were never written are zero, on the under level: `count` of them, from `first`
    /// on. Answered as [`Question::Place`].
    Hole { number: u64, first: u64, count: u64 },
    /// Whether a file of so many bytes has room, in memory and on the under level.
    Fits { bytes: u64 },
    /// A block of memory has all its bytes.
    Seal { number: u64, index: u64, bytes: u64 },
    /// The file is as large as this, and gets its name.
    Commit {
        number: u64,
        bytes: u64,
        /// Refuse it where something has its name.
        #[serde(default)]
        is_new: bool,
        /// Bits that the writer has set since, which count more than those of a file that it
        /// replaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permissions: Option<u32>,
    },
    /// Gives up a file that is being written.
    Abandon { number: u64 },
    /// Brings a file, or all that are dirty, to the disk of the under level.
    Flush { path: Option<StorePath> },
    /// Compares what was acknowledged with what is there.
    Audit { reads_bytes: bool },
    /// Lists the parts of files below a folder, and removes those of dead stores unless `is_dry`.
    Sweep {
        path: StorePath,
        is_dry: bool,
        /// Seconds from which on parts of stores of other hosts go; never where it is null.
        older_than: Option<u64>,
    },
    /// Removes a file or an empty folder.
    Remove { path: StorePath },
    /// Renames a file or folder.
    Rename {
        path: StorePath,
        to: StorePath,
        /// Refuse it where something has that name.
        #[serde(default)]
        is_new: bool,
    },
    /// Makes a folder.
    MakeFolder {
        path: StorePath,
        /// As of [`Question::Create`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permissions: Option<u32>,
    },
    /// Gives a file or folder these permission bits.
    Permit { path: StorePath, permissions: u32 },
}

/// What the daemon answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reply {
    /// It could not.
    Refused {
        /// One line: what, where, what to do.
        error: String,
        /// Whether the question was wrong, and not the system.
        is_input: bool,
        /// What the operating system calls it, where it was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        errno: Option<i32>,
    },
    /// To [`Question::Status`].
    Status(Box<Status>),
    /// To [`Question::Open`].
    Opened {
        number: u64,
        block_bytes: u64,
        /// Where the under level has it.
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
    /// To what moves bytes.
    Moved { bytes: u64 },
    /// To [`Question::Create`].
    Created { created: u64, block_bytes: u64, mode: WriteMode },
    /// To [`Question::Place`].
    Placed { place: PathBuf, is_memory: bool },
    /// To [`Question::Audit`].
    Audited(Box<Audit>),
    /// To [`Question::Sweep`].
    Swept { parts: Vec<SweptPart> },
    /// To [`Question::Scrub`]: the blocks whose bytes had changed.
    Scrubbed { damaged: Vec<(StorePath, u64)> },
    /// To everything else.
    Done { done: bool },
}

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryEntry {
    /// Its last step.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its size.
    pub size_bytes: u64,
    /// When its bytes were changed last, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Bytes of it that are in memory.
    pub memory_bytes: u64,
    /// Its permission bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<u32>,
    /// Where it leads, for a symbolic link to a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<StorePath>,
    /// How it lies on servers, where it was asked for by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
}

/// What a store is and has done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// [`WIRE`].
    pub wire: u32,
    /// The daemon's process.
    pub pid: u32,
    /// Seconds since it began.
    pub uptime_seconds: f64,
    /// The under level.
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
    /// Where files are written that name no mode.
    pub write: WriteMode,
    /// Why the last file could not be brought to the under level; null since one could.
    pub failure: Option<String>,
    /// What it has done.
    #[serde(flatten)]
    pub counts: Counts,
    /// Whether missed blocks displace others only where that is likely to pay.
    pub admission: bool,
    /// Most bytes that blocks may have now: less than `memory_bytes` where others need memory.
    pub limit_bytes: u64,
    /// Of folders that have one.
    pub quotas: Vec<QuotaUse>,
    /// Bytes of memory that are taken for blocks to come.
    pub prepared_bytes: u64,
    /// Bytes of memory that the ledger has.
    #[serde(default)]
    pub ledger_bytes: u64,
    /// How what is made in the root of the under level lies on servers.
    pub layout: Layout,
    /// Files that lost their names to later ones of other stores, and are kept under these.
    #[serde(default)]
    pub conflicts: Vec<StorePath>,
    /// Parts of dead stores that were removed from the under level, the first of them.
    #[serde(default)]
    pub swept: Vec<StorePath>,
    /// The other stores of the job; null where it has none.
    pub peers: Option<PeersStatus>,
    /// Names in the store's folder that no store made, as it began.
    #[serde(default)]
    pub foreign: Vec<String>,
}

impl Reply {
    /// An error as it is told.
    pub fn refused(error: &Error) -> Self {
        let is_input = error.kind == cuesta_core::error::ErrorKind::Input;
        Self::Refused { error: error.message.clone(), is_input, errno: error.errno }
    }
}

/// Sends a message: the lengths of its text and of its payload, both, then both.
///
/// # Errors
/// Those of the system.
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

/// Receives a message: its text, and its payload into `payload`; `None` where the other has ended.
///
/// # Errors
/// `InvalidData` for lengths of no message; `UnexpectedEof` for half of one; those of the system.
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

/// What a text says.
///
/// # Errors
/// `Input` for what is no such message.
pub fn parsed<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    serde_json::from_slice(&from_json(text)).map_err(|error| {
        // The refusal of a path names the operation itself.
        let text = error.to_string();
        Error::input("store", text.strip_prefix("store: ").unwrap_or(&text))
    })
}

/// Reads what a client asks, and sends it again: for who tries any text.
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
        fn what_is_sent_is_received(number in any::<u64>(), payload in any::<Vec<u8>>()) {
            let mut sent = Vec::new();
            let question = Question::Close { number };
            send(&mut sent, &question, &payload).unwrap();
            send(&mut sent, &Question::Ping, &[]).unwrap();
            let (mut from, mut found) = (sent.as_slice(), Vec::new());
            let mut next = |found: &mut Vec<u8>| receive(&mut from, found).unwrap();
            prop_assert_eq!(parsed::<Question>(&next(&mut found).unwrap()).unwrap(), question);
            prop_assert_eq!(&found, &payload);
            let ping = parsed::<Question>(&next(&mut found).unwrap());
            prop_assert_eq!(ping.unwrap(), Question::Ping);
            prop_assert_eq!(next(&mut found), None);
        }

        #[test]
        fn half_a_message_is_refused(
            bytes in any::<Vec<u8>>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut payload = Vec::new();
            let _ = receive(&mut bytes.as_slice(), &mut payload);
            let mut sent = Vec::new();
            send(&mut sent, &Question::Close { number: 1 }, b"payload").unwrap();
            let cut = 1 + cut.index(sent.len() - 1);
            let half = receive(&mut &sent[..cut], &mut payload);
            prop_assert!(half.is_err(), "{}", cut);
        }
    }
}
