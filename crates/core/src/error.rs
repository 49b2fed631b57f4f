//! The one error type: an operation, the thing it was done to, what is wrong and what to do.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Result of every fallible operation in Cuesta.
pub type Result<T> = std::result::Result<T, Error>;

/// Kind of a failure; decides the exit code of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Bad arguments or bad input (exit code 2).
    Input,
    /// The operating system refused: disk full, no permission, no such file (exit code 2).
    System,
    /// The user asked to stop.
    Cancelled,
    /// Cuesta itself is wrong (exit code 70).
    Defect,
}

/// The facts of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A sentence without the operation: the thing, what is wrong, what to do.
    Sentence(String),
    /// A call of the operating system on a file.
    File {
        /// The call on the file: "reading", "writing".
        doing: String,
        /// The file.
        path: PathBuf,
        /// The message of the operating system.
        cause: String,
        /// Its kind, which decides the remedy.
        kind: io::ErrorKind,
    },
}

/// A failure. The line that a user sees is made from it where it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The operation that failed, e.g. `input.kinc`.
    pub operation: String,
    /// The facts of the failure.
    pub failure: Failure,
    /// The error number of the operating system, where a system call failed.
    pub errno: Option<i32>,
}

impl Error {
    /// Bad input or arguments: `operation` is e.g. `input.kinc`, `sentence` names place and remedy.
    pub fn input(operation: &str, sentence: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Input, operation, sentence)
    }

    /// The operating system failed on `path` while `doing` ("reading", "writing", ...).
    pub fn system(operation: &str, doing: &str, path: &Path, cause: &io::Error) -> Self {
        let failure = Failure::File {
            doing: doing.to_owned(),
            path: path.to_owned(),
            cause: cause.to_string(),
            kind: cause.kind(),
        };
        let (kind, operation) = (ErrorKind::System, operation.to_owned());
        Self { kind, operation, failure, errno: cause.raw_os_error() }
    }

    /// A failure that only a defect of Cuesta can cause: `operation` came to `sentence`.
    pub fn defect(operation: &str, sentence: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Defect, operation, sentence)
    }

    /// The user asked to stop.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "run", "stopped on request")
    }

    /// Creates an error of a kind from a sentence without the operation.
    pub fn new(kind: ErrorKind, operation: &str, sentence: impl fmt::Display) -> Self {
        let failure = Failure::Sentence(sentence.to_string());
        Self { kind, operation: operation.to_owned(), failure, errno: None }
    }

    /// Returns the line shown to the user: operation, thing, what is wrong, what to do.
    pub fn message(&self) -> String {
        let Self { operation, .. } = self;
        let sentence = self.sentence();
        match self.kind {
            ErrorKind::Cancelled => sentence,
            ErrorKind::Defect => {
                format!("internal error, please report it: {operation}: {sentence}")
            }
            ErrorKind::Input | ErrorKind::System => format!("{operation}: {sentence}"),
        }
    }

    /// Returns the [message](Self::message) without the operation, for a line that names another.
    pub fn sentence(&self) -> String {
        let sentence = match &self.failure {
            Failure::Sentence(sentence) => sentence.clone(),
            Failure::File { doing, path, cause, kind } => {
                let remedy = match *kind {
                    io::ErrorKind::StorageFull if has_no_inodes(path) => NO_INODES,
                    kind => remedy_for(kind, self.errno),
                };
                format!("{doing} {} failed: {cause}{remedy}", path.display())
            }
        };
        single_line(&sentence)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Error {}

fn single_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// `EMFILE` and `ENFILE` of Linux: too many open files of this process, or of the system.
const TOO_MANY_FILES: [i32; 2] = [24, 23];

/// `ELOOP`, `EIO` and `ENOTCONN` of Linux.
const LINKS_IN_A_CIRCLE: i32 = 40;
const DEVICE_FAILED: i32 = 5;
const NOT_CONNECTED: i32 = 107;

const NO_INODES: &str = "; it can hold no more files, though it has space (`df -i` shows inodes): \
                         remove files there or choose another place";
/// Inodes and bytes by which a disk is full of files, not of bytes.
const INODES_FEW: u64 = 16;
const SPACE_BYTES: u64 = 1 << 20;

/// Whether the file system at a path, or at the nearest folder that exists, is full of files.
fn has_no_inodes(path: &Path) -> bool {
    let known = path.ancestors().find_map(|place| rustix::fs::statvfs(place).ok());
    known.is_some_and(|facts| {
        let space_bytes = facts.f_bavail.saturating_mul(facts.f_frsize);
        is_full_of_files((facts.f_files, facts.f_favail), space_bytes)
    })
}

fn is_full_of_files((inodes, available): (u64, u64), space_bytes: u64) -> bool {
    // What failed may be removed before its message, so that a few are free again.
    inodes > 0 && available < INODES_FEW && space_bytes >= SPACE_BYTES
}

fn remedy_for(kind: io::ErrorKind, errno: Option<i32>) -> &'static str {
    use io::ErrorKind as K;
    if errno.is_some_and(|number| TOO_MANY_FILES.contains(&number)) {
        return "; raise the limit (`ulimit -n`), or join the input into fewer files";
    }
    match kind {
        K::StorageFull | K::QuotaExceeded => "; free space there or choose another place",
        K::FileTooLarge => "; raise the limit of file sizes (`ulimit -f`)",
        K::PermissionDenied | K::ReadOnlyFilesystem => {
            "; ask its owner, or choose a place that you may use"
        }
        K::NotFound => "; check the path",
        K::IsADirectory => "; name the files in it",
        K::NotADirectory => "; a part of the path is a file, check it",
        K::UnexpectedEof => "; the file is cut short, obtain it again",
        K::AlreadyExists | K::DirectoryNotEmpty => "; give another name",
        K::InvalidFilename => "; give a shorter name",
        K::StaleNetworkFileHandle => "; its server forgot it, mount the file system again",
        K::WouldBlock => "; give fewer threads, or raise the limit of processes (`ulimit -u`)",
        K::OutOfMemory => "; use less memory, or a machine with more",
        _ => match errno {
            Some(LINKS_IN_A_CIRCLE) => "; its links lead in a circle, name the file itself",
            Some(DEVICE_FAILED) => "; its disk or server failed, see the system's log",
            Some(NOT_CONNECTED) => "; its server is gone, mount the file system again",
            _ => "",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_always_a_single_line() {
        let error = Error::input("input.kinc", "a\nb\r\nc");
        assert_eq!(error.message(), "input.kinc: a b  c");
    }

    #[test]
    fn a_full_disk_names_the_remedy() {
        let cause = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = Error::system("answer", "writing", Path::new("/x"), &cause);
        assert!(error.message().contains("free space there"), "{}", error.message());
    }

    #[test]
    fn a_disk_is_full_of_files_where_it_has_space_and_no_inodes() {
        let space = 2 * SPACE_BYTES;
        assert!(is_full_of_files((1000, 0), space));
        for (inodes, space_bytes) in [((1000, 500), space), ((1000, 0), 4096), ((0, 0), space)] {
            assert!(!is_full_of_files(inodes, space_bytes));
        }
        assert!(!has_no_inodes(Path::new("/a/folder/that/is/not/there")));
    }

    #[test]
    fn a_lack_of_descriptors_names_the_limit_to_raise() {
        let cause = std::io::Error::from_raw_os_error(24);
        let error = Error::system("input", "opening", Path::new("/x"), &cause);
        assert!(error.message().contains("ulimit -n"), "{}", error.message());
    }

    #[test]
    fn common_numbers_of_the_system_have_a_remedy() {
        for number in [1, 2, 5, 12, 13, 17, 20, 21, 23, 24, 27, 28, 30, 36, 39, 40, 107, 116, 122] {
            let cause = std::io::Error::from_raw_os_error(number);
            let message = Error::system("input", "opening", Path::new("a"), &cause).message();
            assert!(message.contains("; "), "{number}: {message}");
        }
    }

    #[test]
    fn an_error_of_the_system_comes_with_a_remedy() {
        use std::io::ErrorKind as K;
        for (kind, remedy) in [
            (K::StorageFull, "free space"),
            (K::FileTooLarge, "ulimit -f"),
            (K::PermissionDenied, "you may use"),
            (K::NotFound, "check the path"),
            (K::IsADirectory, "name the files"),
            (K::UnexpectedEof, "obtain it again"),
        ] {
            let error = Error::system("input", "opening", std::path::Path::new("a"), &kind.into());
            assert!(error.message().contains(remedy), "{}", error.message());
        }
    }
}
