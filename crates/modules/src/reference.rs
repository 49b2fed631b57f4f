//! Simplest implementation of each kernel: the oracle of the tests and of `verify`.
