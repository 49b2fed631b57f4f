//! Refused connections: counts by reason, and a log of limited size.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use cuesta_runtime::parallel::lock;
use serde::{Deserialize, Serialize};

use super::limits::LOG_BYTES_MAX;
use crate::folder::names::REFUSED_LOG;

/// Reason for which a connection was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// It has another secret, none, or one that was replaced.
    OtherSecret,
    /// It wants another member.
    OtherMember,
    /// It knows the id of a key but fails to prove it: its messages are recorded or made up.
    Replayed,
    /// It sent a message longer than the limit.
    Oversized,
    /// Its bytes are not of this protocol.
    Malformed,
    /// It did not finish the handshake in time.
    Silent,
    /// It ended, or was closed to make room, before the end of the handshake.
    Ended,
}

impl RefusalReason {
    /// All reasons.
    pub const ALL: [Self; 7] = [
        Self::OtherSecret,
        Self::OtherMember,
        Self::Replayed,
        Self::Oversized,
        Self::Malformed,
        Self::Silent,
        Self::Ended,
    ];

    /// Returns the error of a connection that is refused for this reason.
    pub fn error(self, text: &'static str) -> io::Error {
        let kind = match self {
            Self::OtherSecret | Self::OtherMember | Self::Replayed => ErrorKind::PermissionDenied,
            Self::Oversized | Self::Malformed => ErrorKind::InvalidData,
            Self::Silent => ErrorKind::TimedOut,
            Self::Ended => ErrorKind::UnexpectedEof,
        };
        io::Error::new(kind, RefusedConnection { reason: self, text })
    }

    /// Returns the reason of an error, by its kind where it names none.
    pub fn of(error: &io::Error) -> Self {
        let named = error.get_ref().and_then(|inner| inner.downcast_ref::<RefusedConnection>());
        match (named, error.kind()) {
            (Some(refused), _) => refused.reason,
            (None, ErrorKind::TimedOut) => Self::Silent,
            (None, ErrorKind::InvalidData) => Self::Malformed,
            (None, _) => Self::Ended,
        }
    }
}

/// Content of the error of a refused connection.
#[derive(Debug)]
struct RefusedConnection {
    reason: RefusalReason,
    text: &'static str,
}

impl fmt::Display for RefusedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl Error for RefusedConnection {}

/// Number of refused connections by reason.
pub type RefusalCounts = BTreeMap<RefusalReason, u64>;

/// Refused connections of a store.
#[derive(Debug)]
pub struct Refusals {
    path: PathBuf,
    state: Mutex<(RefusalCounts, Option<String>)>,
}

impl Refusals {
    /// Creates empty counts, with the log in this folder.
    pub fn new(folder: &Path) -> Self {
        let counts = RefusalReason::ALL.map(|reason| (reason, 0)).into();
        Self { path: folder.join(REFUSED_LOG), state: Mutex::new((counts, None)) }
    }

    /// Adds a refused connection from an address, by its error.
    pub fn add(&self, address: &str, error: &io::Error) {
        let reason = RefusalReason::of(error);
        let text = match error.kind() {
            ErrorKind::TimedOut => "it proved nothing in time".to_owned(),
            ErrorKind::UnexpectedEof => {
                "it ended, or had to make room, before it proved anything".to_owned()
            }
            _ => error.to_string(),
        };
        let line = format!("{address}: {text}").replace(['\n', '\r'], " ");
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut state = lock(&self.state);
        let mut options = File::options();
        options.append(true).create(true).custom_flags(libc::O_NOFOLLOW);
        let log = options.open(&self.path);
        if let Ok(mut log) = log
            && log.metadata().is_ok_and(|facts| facts.len() < LOG_BYTES_MAX)
        {
            // A full disk is no reason to fail.
            let _ = writeln!(log, "{seconds} {line}");
        }
        let (counts, last) = &mut *state;
        *counts.entry(reason).or_default() += 1;
        *last = Some(line);
    }

    /// Returns the counts by reason, and the line of the last refusal.
    pub fn summary(&self) -> (RefusalCounts, Option<String>) {
        lock(&self.state).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_the_reason_that_their_error_names_or_by_its_kind() {
        let folder = tempfile::tempdir().unwrap();
        let refusals = Refusals::new(folder.path());
        for reason in RefusalReason::ALL {
            refusals.add("a:1", &reason.error("text"));
        }
        for kind in [ErrorKind::TimedOut, ErrorKind::InvalidData, ErrorKind::ConnectionReset] {
            refusals.add("b:2", &kind.into());
        }
        let (counts, last) = refusals.summary();
        assert_eq!(counts.values().copied().collect::<Vec<_>>(), [1, 1, 1, 1, 2, 2, 2]);
        assert!(last.unwrap().starts_with("b:2: "));
        let log = std::fs::read_to_string(folder.path().join(REFUSED_LOG)).unwrap();
        assert_eq!(log.lines().count(), 10);
    }
}
