//! Makes Cargo take the build dependencies into account.

fn main() {}
