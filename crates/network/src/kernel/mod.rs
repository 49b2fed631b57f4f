//! Pure functions on slices: no I/O, no clock, no log.
