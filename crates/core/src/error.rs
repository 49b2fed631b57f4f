//! The one error type: an operation, the thing it was done to, what is wrong and what to do.

use std::fmt;
use std::path::Path;

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

/// A failure with a message of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The line shown to the user: operation, thing, what is wrong, what to do.
    pub message: String,
    /// The error number of the operating system, where a system call failed.
    pub errno: Option<i32>,
}

impl Error {
    /// Bad input or arguments: `operation` is e.g. `input.kinc`, `message` names place and remedy.
    pub fn input(operation: &str, message: impl fmt::Display) -> Self {
        let message = single_line(&format!("{operation}: {message}"));
        Self { kind: ErrorKind::Input, message, errno: None }
    }

    /// The operating system failed on `path` while `doing` ("reading", "writing", ...).
    pub fn system(operation: &str, doing: &str, path: &Path, cause: &std::io::Error) -> Self {
        let remedy = remedy_for(cause);
        let text = format!("{operation}: {doing} {} failed: {cause}{remedy}", path.display());
        Self { kind: ErrorKind::System, message: single_line(&text), errno: cause.raw_os_error() }
    }

    /// A failure that only a defect of Cuesta can cause: `operation` came to `message`.
    pub fn defect(operation: &str, message: impl fmt::Display) -> Self {
        let text = format!("internal error, please report it: {operation}: {message}");
        Self { kind: ErrorKind::Defect, message: single_line(&text), errno: None }
    }

    /// The user asked to stop.
    pub fn cancelled() -> Self {
        Self { kind: ErrorKind::Cancelled, message: "stopped on request".to_owned(), errno: None }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

fn single_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// `EMFILE` and `ENFILE` of Linux: too many open files of this process, or of the system.
const TOO_MANY_FILES: [i32; 2] = [24, 23];

fn remedy_for(cause: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as K;
    if cause.raw_os_error().is_some_and(|number| TOO_MANY_FILES.contains(&number)) {
        return "; raise the limit (`ulimit -n`), or join the input into fewer files";
    }
    match cause.kind() {
        K::StorageFull | K::QuotaExceeded => "; free space there or choose another place",
        K::PermissionDenied | K::ReadOnlyFilesystem => "; choose a place you may use",
        K::NotFound => "; check the path",
        K::IsADirectory => "; name the files in it",
        K::UnexpectedEof => "; the file is cut short, obtain it again",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_always_a_single_line() {
        let error = Error::input("input.kinc", "a\nb\r\nc");
        assert_eq!(error.message, "input.kinc: a b  c");
    }

    #[test]
    fn a_full_disk_names_the_remedy() {
        let cause = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = Error::system("answer", "writing", Path::new("/x"), &cause);
        assert!(error.message.contains("free space there"), "{}", error.message);
    }

    #[test]
    fn a_lack_of_descriptors_names_the_limit_to_raise() {
        let cause = std::io::Error::from_raw_os_error(24);
        let error = Error::system("input", "opening", Path::new("/x"), &cause);
        assert!(error.message.contains("ulimit -n"), "{}", error.message);
    }

    #[test]
    fn an_error_of_the_system_comes_with_a_remedy() {
        use std::io::ErrorKind as K;
        for (kind, remedy) in [
            (K::StorageFull, "free space"),
            (K::PermissionDenied, "you may use"),
            (K::NotFound, "check the path"),
            (K::IsADirectory, "name the files"),
            (K::UnexpectedEof, "obtain it again"),
        ] {
            let error = Error::system("input", "opening", std::path::Path::new("a"), &kind.into());
            assert!(error.message.contains(remedy), "{}", error.message);
        }
    }
}
