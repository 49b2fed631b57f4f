//! A panic is a defect of ours, told in one line like any other error.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

/// Where the first panic was that nobody has told of yet.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the place of a panic for [`defect`], and prints nothing where no backtrace is asked for.
pub fn listen() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        lock(&PLACE).get_or_insert_with(|| {
            panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string)
        });
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|asked| asked != "0") {
            print(panic);
        }
    }));
}

/// The error of a thread that ended with `panic`.
pub fn defect(panic: &(dyn Any + Send)) -> Error {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
    let place = lock(&PLACE).take().unwrap_or_default();
    Error::defect("panic", format!("{said}, at {place}"))
}

/// What `work` returns; a panic in it is an error.
///
/// # Errors
/// Those of `work`; `Defect`.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(defect(&*panic)))
}
