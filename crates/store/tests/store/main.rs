//! Tests of the store.
#![allow(clippy::unwrap_used)]

mod client;
mod colleagues;
mod common;
mod concurrent;
mod conformance;
mod crash;
mod folder;
mod forgetful;
mod full_memory;
mod numbers;
mod partitions;
mod peers;
mod permissions;
mod places;
mod power;
mod races;
mod reads;
mod strangers;
mod sweep;
mod writes;
