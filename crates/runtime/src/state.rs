//! State that workers save from one round for the next.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cuesta_core::{Error, Result};

use crate::atomic_file::AtomicFile;
use crate::blocks::Bytes;
use crate::rounds::Resources;

/// Name of the folder in scratch that workers share.
const FOLDER: &str = "state";

/// Values by name: in the memory of this worker if a task number always runs on the same worker,
/// else in files of a folder that all workers share.
///
/// A task may be done twice: it must save the same value under a name each time, and must not read
/// a value of the name that it saves. So a name contains the number of the round.
#[derive(Debug)]
pub struct State {
    in_memory: Option<BTreeMap<String, Arc<Vec<u8>>>>,
    folder: PathBuf,
}

impl State {
    /// The state of a run whose workers share `scratch`, or save values in memory if `resources`
    /// allow it.
    pub fn new(resources: Resources, scratch: &Path) -> Self {
        Self { in_memory: resources.keeps.then(BTreeMap::new), folder: scratch.join(FOLDER) }
    }

    /// Saves a value.
    ///
    /// # Errors
    /// `System`.
    pub fn put(&mut self, name: &str, value: Vec<u8>) -> Result<()> {
        if let Some(in_memory) = &mut self.in_memory {
            in_memory.insert(name.to_owned(), Arc::new(value));
            return Ok(());
        }
        let path = self.folder.join(name);
        let failed = |cause| Error::system("state", "writing", &path, &cause);
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(&value).map_err(failed)?;
        file.finish()
    }

    /// A saved value.
    ///
    /// # Errors
    /// `Defect` if there is none; `Input` if workers do not share the folder; `System`.
    pub fn get(&self, name: &str) -> Result<Bytes> {
        if let Some(in_memory) = &self.in_memory {
            let missing = || Error::defect("state", format!("nothing is kept as {name}"));
            return Ok(Box::new(Shared(in_memory.get(name).ok_or_else(missing)?.clone())));
        }
        let path = self.folder.join(name);
        match fs::read(&path) {
            Ok(value) => Ok(Box::new(value)),
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                let folder = self.folder.display();
                let text = format!(
                    "nothing is kept as {name} in {folder}; give a --scratch that all nodes share"
                );
                Err(Error::input("state", text))
            }
            Err(cause) => Err(Error::system("state", "reading", &path, &cause)),
        }
    }

    /// Removes a value, if it exists, that no task of this or a later round needs.
    ///
    /// # Errors
    /// `System`.
    pub fn forget(&mut self, name: &str) -> Result<()> {
        if let Some(in_memory) = &mut self.in_memory {
            in_memory.remove(name);
            return Ok(());
        }
        let path = self.folder.join(name);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => {
                Err(Error::system("state", "removing", &path, &cause))
            }
            _ => Ok(()),
        }
    }
}

struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_value_can_be_read_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        for keeps in [false, true] {
            let resources = Resources { keeps, ..Resources::default() };
            let mut state = State::new(resources, folder.path());
            state.put("3-part-0", b"one".to_vec()).unwrap();
            state.put("3-part-0", b"two".to_vec()).unwrap();
            assert_eq!((*state.get("3-part-0").unwrap()).as_ref(), b"two");
            state.forget("3-part-0").unwrap();
            state.forget("3-part-0").unwrap();
            let error = state.get("3-part-0").err().unwrap();
            assert!(error.message().contains("nothing is kept as 3-part-0"), "{}", error.message());
        }
        fs::create_dir(folder.path().join("state/4")).unwrap();
        let state = State::new(Resources::default(), folder.path());
        assert_eq!(state.get("4").err().unwrap().kind, cuesta_core::error::ErrorKind::System);
        fs::remove_dir(folder.path().join("state/4")).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("state")).unwrap().count(), 0);
    }

    #[test]
    fn workers_that_share_a_folder_share_values() {
        let folder = tempfile::tempdir().unwrap();
        let resources = Resources::default();
        State::new(resources, folder.path()).put("a", vec![1; 1000]).unwrap();
        assert_eq!((*State::new(resources, folder.path()).get("a").unwrap()).as_ref(), [1; 1000]);
    }
}
