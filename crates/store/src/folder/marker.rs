//! The file that marks a folder as a store's, and records its owner and under level.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::wire::WIRE;

/// The name of the file.
pub const MARKER: &str = "store.json";
/// First bytes of each marker.
pub const MARKER_BEGIN: &[u8] = br#"{"schema":"cuesta.store-folder/"#;
/// The schema without its version.
const SCHEMA: &str = "cuesta.store-folder/";
/// Schema version that this program writes, and the last one that it reads.
const SCHEMA_VERSION: u32 = 1;
/// Most bytes of a marker.
pub const MARKER_BYTES_MAX: u64 = 64 << 10;
/// File with the id of this boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// File with another random id at each reading.
const RANDOM_ID: &str = "/proc/sys/kernel/random/uuid";

/// Contents of the marker.
///
/// Host and boot only decide whether the owner of the lock may live; neither keeps a store out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderMarker {
    /// `cuesta.store-folder/1`.
    pub schema: String,
    /// The user who owns the store.
    pub uid: u32,
    /// The host of the store that used the folder last.
    pub host: String,
    /// Id of that host's boot.
    pub boot: String,
    /// Process id of that store.
    pub process: u32,
    /// The version of Cuesta.
    pub version: String,
    /// The version of the wire protocol.
    pub wire: u32,
    /// Whether a store made the folder, and so may remove it.
    pub made_folder: bool,
    /// The under level.
    pub under: UnderFolder,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Random number of the state in the folder, which stays when a later store adopts it; 0 if
    /// unknown.
    #[serde(default)]
    pub lineage: u64,
}

/// Identity of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnderFolder {
    /// Its path, without links.
    pub path: String,
    /// Number of its device, valid for this boot.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
}

#[derive(Deserialize)]
struct MarkerKind {
    schema: String,
    uid: u32,
}

impl UnderFolder {
    /// Returns the identity of the folder at a path.
    ///
    /// # Errors
    /// `System`.
    pub fn of(path: &Path) -> Result<Self> {
        let failed = |cause| Error::system("store", "opening", path, &cause);
        let canonical = fs::canonicalize(path).map_err(failed)?;
        let facts = fs::metadata(&canonical).map_err(failed)?;
        let path = canonical.to_string_lossy().into_owned();
        Ok(Self { path, device: facts.dev(), inode: facts.ino() })
    }
}

/// Draws a number that JSON of any language can represent.
fn new_lineage() -> u64 {
    let id = fs::read(RANDOM_ID).map(|id| blake3::hash(&id));
    id.map_or(0, |id| u64::from_le_bytes(*id.as_bytes().first_chunk().unwrap_or(&[0; 8])) >> 11)
}

impl FolderMarker {
    /// Creates the marker of a store of this process.
    pub fn new(under: UnderFolder, block_bytes: u64, made_folder: bool) -> Self {
        let boot = fs::read_to_string(BOOT_ID).unwrap_or_default();
        Self {
            schema: format!("{SCHEMA}{SCHEMA_VERSION}"),
            uid: rustix::process::geteuid().as_raw(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            boot: boot.trim().to_owned(),
            process: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            wire: WIRE,
            made_folder,
            under,
            block_bytes,
            lineage: new_lineage(),
        }
    }

    /// Parses the marker of the folder at `path`; `None` for other contents.
    ///
    /// # Errors
    /// `Input` for the marker of another user, or of an unknown newer version.
    pub fn parse(text: &[u8], path: &Path) -> Result<Option<Self>> {
        let Ok(kind) = serde_json::from_slice::<MarkerKind>(text) else { return Ok(None) };
        let Some(version) = kind.schema.strip_prefix(SCHEMA) else { return Ok(None) };
        let uid = rustix::process::geteuid().as_raw();
        if kind.uid != uid {
            let text = format!(
                "{} is the folder of a store of user {}, not {uid}; name another folder by \
                 $CUESTA_STORE",
                path.display(),
                kind.uid
            );
            return Err(Error::input("store", text));
        }
        if version.parse::<u32>().is_ok_and(|version| version > SCHEMA_VERSION) {
            let text = format!(
                "{} is of a newer version of Cuesta ({}); start that version, or name another \
                 folder by $CUESTA_STORE",
                path.display(),
                kind.schema
            );
            return Err(Error::input("store", text));
        }
        Ok(serde_json::from_slice(text).ok())
    }

    /// Returns whether the marker is of this boot of this host.
    pub fn is_of_this_system(&self, now: &Self) -> bool {
        (&self.host, &self.boot) == (&now.host, &now.boot)
    }

    /// Returns whether both stores have the same under level.
    pub fn has_under_of(&self, now: &Self) -> bool {
        let UnderFolder { device, inode, .. } = now.under;
        let is_same_file = (self.under.device, self.under.inode) == (device, inode);
        self.under.path == now.under.path || is_same_file && self.is_of_this_system(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker() -> FolderMarker {
        let under = UnderFolder { path: "/data".to_owned(), device: 1, inode: 2 };
        FolderMarker { lineage: 7, ..FolderMarker::new(under, 1000, true) }
    }

    #[test]
    fn a_marker_is_read_as_it_was_written_and_begins_as_all_do() {
        let text = serde_json::to_vec(&marker()).unwrap();
        assert!(text.starts_with(MARKER_BEGIN));
        assert_eq!(FolderMarker::parse(&text, Path::new("/a")).unwrap(), Some(marker()));
        for foreign in ["", "{}", "[]", r#"{"schema":"other/1","uid":0}"#, "text"] {
            assert_eq!(FolderMarker::parse(foreign.as_bytes(), Path::new("/a")).unwrap(), None);
        }
    }

    #[test]
    fn the_marker_of_another_user_or_of_a_newer_version_is_refused_by_name() {
        for (changed, wanted) in [
            (FolderMarker { uid: 12_345, ..marker() }, "user 12345"),
            (
                FolderMarker { schema: "cuesta.store-folder/2".to_owned(), ..marker() },
                "newer version",
            ),
        ] {
            let text = serde_json::to_vec(&changed).unwrap();
            let error = FolderMarker::parse(&text, Path::new("/a")).unwrap_err();
            assert!(error.message().contains(wanted), "{error}");
        }
    }

    #[test]
    fn a_folder_is_known_by_its_path_or_while_the_system_runs_by_its_number() {
        let (before, mut now) = (marker(), marker());
        now.under.path = "/bound".to_owned();
        assert!(before.has_under_of(&now));
        now.boot = "another".to_owned();
        assert!(!before.has_under_of(&now));
        now.under = UnderFolder { path: "/data".to_owned(), device: 7, inode: 7 };
        assert!(before.has_under_of(&now));
    }
}
