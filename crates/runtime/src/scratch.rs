//! Checks of the free space in the scratch folder, made before it is used.

use std::path::Path;

use cuesta_core::budget::human;
use cuesta_core::{Error, Result};

/// Refuses work that would fill the disk of `folder`: `size_bytes` must be free for `purpose`.
///
/// # Errors
/// `Input` naming the folder, the needed and the free space; `System`.
pub fn check_space(folder: &Path, size_bytes: u64, purpose: &str) -> Result<()> {
    let free_bytes = free_bytes(folder)?;
    if size_bytes <= free_bytes {
        return Ok(());
    }
    let text = format!(
        "{purpose} needs {} in {}, where {} are free; choose another folder with --scratch",
        human(size_bytes),
        folder.display(),
        human(free_bytes)
    );
    Err(Error::input("scratch", text))
}

/// Bytes that are free on the disk of `folder`.
///
/// # Errors
/// `System`.
pub fn free_bytes(folder: &Path) -> Result<u64> {
    let statistics = rustix::fs::statvfs(folder)
        .map_err(|cause| Error::system("scratch", "asking the size of", folder, &cause.into()))?;
    Ok(statistics.f_bavail.saturating_mul(statistics.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_space(folder.path(), 1, "a test").is_ok());
        let error = check_space(folder.path(), u64::MAX, "a test").unwrap_err();
        assert!(error.message().contains("a test needs"), "{}", error.message());
        assert!(error.message().contains("--scratch"));
    }
}
