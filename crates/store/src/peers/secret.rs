//! The shared secret of the stores of a job: the current one, and the previous one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Instant, SystemTime};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::limits::{SECRET_AGE, SECRET_LETTERS_MIN};

/// Key derivation context: another use of the same secret has other keys.
const CONTEXT: &str = "cuesta store peers, version 1";
const ID_CONTEXT: &str = "cuesta store peers, version 1, name of a key";

/// A key derived from the secret.
#[derive(Clone)]
pub struct PeerKey {
    /// Its id, which reveals nothing of the key.
    pub id: [u8; 8],
    bytes: [u8; 32],
}

impl PeerKey {
    /// Derives the key from a secret.
    pub fn of(secret: &str) -> Self {
        let named = blake3::derive_key(ID_CONTEXT, secret.as_bytes());
        let id = *named.first_chunk().unwrap_or(&[0; 8]);
        Self { id, bytes: blake3::derive_key(CONTEXT, secret.as_bytes()) }
    }

    /// Returns the keyed hash of the parts, including their lengths.
    pub fn hash(&self, parts: &[&[u8]]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.bytes);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize()
    }
}

/// The current key first, then the previous one, if any.
pub type Keys = Vec<PeerKey>;

/// A secret file of one or two lines, readable by its owner only, which is read again when it has
/// changed.
pub struct SecretFile {
    path: PathBuf,
    state: Mutex<CachedKeys>,
}

struct CachedKeys {
    keys: Keys,
    changed: Option<(SystemTime, u64)>,
    /// Time of the last check, which is not repeated at once: the file system may be slow.
    checked_at: Instant,
}

impl SecretFile {
    /// Reads the secret file.
    ///
    /// # Errors
    /// `Input` for a file that other users may read, or a short secret; `System`.
    pub fn open(path: &Path) -> Result<Self> {
        let changed = changed(path);
        let state =
            Mutex::new(CachedKeys { keys: read(path)?, changed, checked_at: Instant::now() });
        Ok(Self { path: path.to_owned(), state })
    }

    /// Returns the keys of the file as it is now, or the last ones where it cannot be read.
    pub fn keys(&self) -> Keys {
        let mut state = lock(&self.state);
        if state.checked_at.elapsed() < SECRET_AGE {
            return state.keys.clone();
        }
        state.checked_at = Instant::now();
        let changed = changed(&self.path);
        if changed != state.changed
            && let Ok(keys) = read(&self.path)
        {
            (state.keys, state.changed) = (keys, changed);
        }
        state.keys.clone()
    }
}

fn changed(path: &Path) -> Option<(SystemTime, u64)> {
    let facts = fs::metadata(path).ok()?;
    Some((facts.modified().ok()?, facts.ino()))
}

fn read(path: &Path) -> Result<Keys> {
    let failed = |cause| Error::system("store", "reading", path, &cause);
    let facts = fs::metadata(path).map_err(failed)?;
    let user = rustix::process::geteuid().as_raw();
    if facts.uid() != user || facts.mode() & 0o077 != 0 {
        let text = format!("{}: others may read this secret; chmod 600 it", path.display());
        return Err(Error::input("store", text));
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if !(1..=2).contains(&lines.len()) || lines.iter().any(|line| line.len() < SECRET_LETTERS_MIN) {
        let text = format!(
            "{}: a secret is one line, or two with the one before it, of at least \
             {SECRET_LETTERS_MIN} letters; make one with `cuesta store secret FILE`",
            path.display()
        );
        return Err(Error::input("store", text));
    }
    Ok(lines.into_iter().map(PeerKey::of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn write(path: &Path, text: &str, mode: u32) {
        let part = path.with_extension("part");
        fs::write(&part, text).unwrap();
        fs::set_permissions(&part, fs::Permissions::from_mode(mode)).unwrap();
        fs::rename(part, path).unwrap();
    }

    #[test]
    fn a_secret_is_rotated_and_the_previous_key_remains_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let (first, second) = ("1".repeat(64), "2".repeat(64));
        write(&path, &first, 0o600);
        let file = SecretFile::open(&path).unwrap();
        let ids = |file: &SecretFile| {
            std::thread::sleep(SECRET_AGE);
            file.keys().iter().map(|key| key.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&file), [PeerKey::of(&first).id]);
        write(&path, &format!("{second}\n{first}\n"), 0o600);
        assert_eq!(ids(&file), [PeerKey::of(&second).id, PeerKey::of(&first).id]);
        // A file without a valid secret changes nothing.
        write(&path, "short", 0o600);
        assert_eq!(ids(&file).len(), 2);
    }

    #[test]
    fn a_readable_or_short_secret_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let long = "1".repeat(64);
        let three = format!("{long}\n{long}\n{long}");
        for (text, mode, expected) in [
            (long.as_str(), 0o640, "chmod 600"),
            ("short", 0o600, "at least 32"),
            (&three, 0o600, "or two"),
            ("", 0o600, "one line"),
        ] {
            write(&path, text, mode);
            let error = SecretFile::open(&path).err().unwrap();
            assert!(error.message().contains(expected), "{}", error.message());
        }
    }

    #[test]
    fn a_hash_depends_on_the_boundaries_of_its_parts() {
        let key = PeerKey::of(&"1".repeat(64));
        assert_ne!(key.hash(&[b"ab", b"c"]), key.hash(&[b"a", b"bc"]));
        assert_ne!(key.hash(&[b"a"]), PeerKey::of(&"2".repeat(64)).hash(&[b"a"]));
    }
}
