//! How many files this process may have open.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit as far as it goes: connections, files and blocks that are written each have
/// open ones.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With fewer, less goes at once.
    let _ = setrlimit(Resource::Nofile, limit);
}
