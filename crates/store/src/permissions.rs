//! Permission bits of files and folders that a store creates: those of the writer, or fewer.

use cuesta_core::{Error, Result};

/// Bits that a writer may give to files and folders.
pub const WRITER_BITS: u32 = 0o777;
/// These and the special bits, of existing files and folders.
pub const ALL_BITS: u32 = 0o7777;
/// Bits of the folder of a memory-only file, and of records without bits.
pub const PRIVATE_FOLDER: u32 = 0o700;

/// Returns the default bits of a new file of this process's account.
pub fn of_new_file() -> u32 {
    0o666 & !umask()
}

/// Returns the default bits of a new folder.
pub fn of_new_folder() -> u32 {
    WRITER_BITS & !umask()
}

/// Returns the bits of folders that are made for a file: users who may read the file may traverse
/// them.
pub fn of_parents(of_file: u32) -> u32 {
    let bits = of_file & WRITER_BITS;
    PRIVATE_FOLDER | bits | ((bits & 0o444) >> 2)
}

/// Checks the bits that a client requests.
///
/// # Errors
/// `Input` for special bits, or a value that is no mode.
pub fn checked(permissions: Option<u32>) -> Result<Option<u32>> {
    match permissions {
        Some(bits) if bits & !WRITER_BITS != 0 => {
            let text = format!("{bits:#o} is no mode of a file; give bits within 0o777");
            Err(Error { errno: Some(libc::EINVAL), ..Error::input("store", text) })
        }
        permissions => Ok(permissions),
    }
}

/// Returns the umask of this process, read without changing it; all bits but the owner's where the
/// system does not report it.
fn umask() -> u32 {
    let facts = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = facts.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|text| u32::from_str_radix(text.trim(), 8).ok()).unwrap_or(0o077)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_umask_is_that_of_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "").unwrap();
        let made = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).unwrap());
        assert_eq!(of_new_file(), made & 0o777);
    }

    proptest! {
        #[test]
        fn a_class_without_access_to_a_file_has_none_to_its_folders(bits in 0..0o1000_u32) {
            let folder = of_parents(bits);
            for class in [0, 3] {
                let of = |bits: u32| (bits >> class) & 7;
                prop_assert_eq!(of(folder) == 0, of(bits) == 0, "{:o}", bits);
                prop_assert!(of(bits) & 4 == 0 || of(folder) & 1 == 1);
            }
        }
    }
}
