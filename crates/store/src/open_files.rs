//! Limit of the open files of this process.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit to its maximum: connections, files and blocks that are being written each use
/// descriptors.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If it fails, fewer things can be open at once.
    let _ = setrlimit(Resource::Nofile, limit);
}
