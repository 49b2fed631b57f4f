//! What the targets share: files of their own, and what a refusal must be like.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cuesta_core::error::ErrorKind;
use cuesta_core::{Error, Result};

/// Words of the system's or an unpacker's message on a file that ends early or is damaged, or on
/// one that another file names.
const DAMAGE: [&str; 5] = ["cut short", "corrupt", "deflate", "gzip", "No such file"];

/// The folder of this process, in the one for temporary files; `tools/fuzz.py` removes that.
///
/// # Panics
/// When it cannot be made.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("cuesta-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        folder
    })
}

/// Writes a file of [`folder`].
///
/// # Panics
/// When it cannot be written.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, bytes).expect("a small file can be written");
    path
}

/// What was read; none where the input was refused as [`check_refusal`] wants it.
pub fn accepted<T>(found: Result<T>) -> Option<T> {
    found.map_err(|error| check_refusal(&error)).ok()
}

/// Holds an error to what is promised on bad input: one line, of kind `Input`; of kind `System`
/// only where the file ends early, cannot be unpacked, or names one that is not there.
///
/// # Panics
/// When the error is another.
pub fn check_refusal(error: &Error) {
    assert!(!error.message.contains(['\n', '\r']), "{error:?}");
    let is_damage = DAMAGE.iter().any(|word| error.message.contains(word));
    let is_refusal = error.kind == ErrorKind::Input;
    assert!(is_refusal || error.kind == ErrorKind::System && is_damage, "{error:?}");
}
