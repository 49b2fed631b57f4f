//! Seeded synthetic inputs. The i-th item depends on the seed and i only, so any number of
//! threads makes the same file.

pub mod clusters;
pub mod images;
pub mod matrix;
pub mod points;
pub mod reads;
pub mod tera;
