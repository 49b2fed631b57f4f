//! Shared code of the targets: temporary files, and the check of refusals.

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

/// The value that was read; `None` if the input was refused in accordance with [`check_refusal`].
pub fn accepted<T>(result: Result<T>) -> Option<T> {
    result.map_err(|error| check_refusal(&error)).ok()
}

/// Checks the contract of errors on bad input: a single line, of kind `Input`; of kind `System`
/// only if the file is truncated, cannot be decompressed, or names a missing file.
///
/// # Panics
/// When the error violates the contract.
pub fn check_refusal(error: &Error) {
    assert!(!error.message().contains(['\n', '\r']), "{error:?}");
    let is_damage = DAMAGE.iter().any(|word| error.message().contains(word));
    let is_refusal = error.kind == ErrorKind::Input;
    assert!(is_refusal || error.kind == ErrorKind::System && is_damage, "{error:?}");
}
