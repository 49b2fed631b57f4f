//! Conversions that the native modules of Cuesta and of its store share: JSON, errors, panics,
//! Ctrl-C and buffers. It knows no workload and no store.
//!
//! Each native module has its own copy of this state, since it is a library of its own.

pub mod buffers;
mod convert;
mod interrupts;
mod panics;

pub use convert::{from_json, python_error, to_json};
pub use interrupts::watched;
pub use panics::caught;

/// Prepares a native module whose errors are the exceptions of a Python module, such as
/// `cuesta.errors`. Only the first call has an effect.
pub fn install(errors: &'static str) {
    if convert::ERRORS.set(errors).is_ok() {
        panics::listen();
    }
}
