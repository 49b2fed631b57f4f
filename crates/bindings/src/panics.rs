//! Conversion of panics to errors: a panic is a defect of Cuesta, reported in one line.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

/// Location of the first panic that was not reported yet.
static LOCATION: Mutex<Option<String>> = Mutex::new(None);

/// Records the location of a panic for [`defect`], and prints nothing unless a backtrace is
/// requested.
pub(crate) fn listen() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        lock(&LOCATION).get_or_insert_with(|| {
            panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string)
        });
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            print(panic);
        }
    }));
}

/// The error of a thread that ended with `panic`.
pub(crate) fn defect(panic: &(dyn Any + Send)) -> Error {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
    let location = lock(&LOCATION).take().unwrap_or_default();
    Error::defect("panic", format!("{message}, at {location}"))
}

/// Runs `work`; a panic in it is an error.
///
/// # Errors
/// Errors of `work`; `Defect`.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(defect(&*panic)))
}
