//! The secret of the stores of a job: the current one, and the one before.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Instant, SystemTime};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::limits::{SECRET_AGE, SECRET_LETTERS_MIN};

/// What keys of stores are derived for: another use of the same secret has other keys.
const CONTEXT: &str = "cuesta store peers, version 1";
const ID_CONTEXT: &str = "cuesta store peers, version 1, name of a key";

/// A key that both ends know.
#[derive(Clone)]
pub struct PeerKey {
    /// Which it is: says nothing of the key.
    pub id: [u8; 8],
    bytes: [u8; 32],
}

impl PeerKey {
    /// Of a secret.
    pub fn of(secret: &str) -> Self {
        let named = blake3::derive_key(ID_CONTEXT, secret.as_bytes());
        let id = *named.first_chunk().unwrap_or(&[0; 8]);
        Self { id, bytes: blake3::derive_key(CONTEXT, secret.as_bytes()) }
    }

    /// The keyed hash of parts, whose lengths count.
    pub fn hash(&self, parts: &[&[u8]]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.bytes);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize()
    }
}

/// The current key first, then the one before, if there was one.
pub type Keys = Vec<PeerKey>;

/// A file of one or two lines, for its user alone, which is read again when it has changed.
pub struct SecretFile {
    path: PathBuf,
    state: Mutex<Known>,
}

struct Known {
    keys: Keys,
    changed: Option<(SystemTime, u64)>,
    /// When it was looked at: it may lie on a file system that is slow.
    looked: Instant,
}

impl SecretFile {
    /// Reads it.
    ///
    /// # Errors
    /// `Input` for one that others may read, or whose secret is short; `System`.
    pub fn open(path: &Path) -> Result<Self> {
        let changed = changed(path);
        let state = Mutex::new(Known { keys: read(path)?, changed, looked: Instant::now() });
        Ok(Self { path: path.to_owned(), state })
    }

    /// The keys by the file as it is now; by what it was where it cannot be read.
    pub fn keys(&self) -> Keys {
        let mut state = lock(&self.state);
        if state.looked.elapsed() < SECRET_AGE {
            return state.keys.clone();
        }
        state.looked = Instant::now();
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
    let own = rustix::process::geteuid().as_raw();
    if facts.uid() != own || facts.mode() & 0o077 != 0 {
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
    fn a_secret_is_rotated_and_the_one_before_is_known_still() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let (one, two) = ("1".repeat(64), "2".repeat(64));
        write(&path, &one, 0o600);
        let file = SecretFile::open(&path).unwrap();
        let ids = |file: &SecretFile| {
            std::thread::sleep(SECRET_AGE);
            file.keys().iter().map(|key| key.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&file), [PeerKey::of(&one).id]);
        write(&path, &format!("{two}\n{one}\n"), 0o600);
        assert_eq!(ids(&file), [PeerKey::of(&two).id, PeerKey::of(&one).id]);
        // What is no secret changes nothing.
        write(&path, "short", 0o600);
        assert_eq!(ids(&file).len(), 2);
    }

    #[test]
    fn what_others_may_read_or_is_short_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let long = "1".repeat(64);
        let three = format!("{long}\n{long}\n{long}");
        for (text, mode, said) in [
            (long.as_str(), 0o640, "chmod 600"),
            ("short", 0o600, "at least 32"),
            (&three, 0o600, "or two"),
            ("", 0o600, "one line"),
        ] {
            write(&path, text, mode);
            let error = SecretFile::open(&path).err().unwrap();
            assert!(error.message.contains(said), "{}", error.message);
        }
    }

    #[test]
    fn a_hash_says_where_its_parts_end() {
        let key = PeerKey::of(&"1".repeat(64));
        assert_ne!(key.hash(&[b"ab", b"c"]), key.hash(&[b"a", b"bc"]));
        assert_ne!(key.hash(&[b"a"]), PeerKey::of(&"2".repeat(64)).hash(&[b"a"]));
    }
}
