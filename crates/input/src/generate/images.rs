//! Synthetic images: bright discs on a noisy ground, as cells under a microscope look.

use std::path::PathBuf;

use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_core::{Error, Result, cpu};
use serde::Deserialize;

use crate::npy::header;
use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::parallel;

/// Most pixels of a side.
pub const SIDE_MAX: u64 = 1 << 14;
/// Most discs of an image.
pub const DISCS_MAX: u64 = 1 << 20;
/// Brightness of the ground, of 255.
const GROUND: f64 = 60.0;
/// Brightness of the dullest disc and the brightest above the ground.
const DISC: (f64, f64) = (60.0, 150.0);
/// Radius of the smallest and the largest disc, in parts of the shorter side.
const RADIUS: (f64, f64) = (0.02, 0.08);

/// Parameters of the generated images.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The `.npy` file to write.
    pub output: PathBuf,
    /// Images, at least 1.
    pub images: u64,
    /// Rows of pixels, 1 to [`SIDE_MAX`].
    #[serde(default = "default_side")]
    pub height: u64,
    /// Pixels of a row, 1 to [`SIDE_MAX`].
    #[serde(default = "default_side")]
    pub width: u64,
    /// Discs of an image, at most [`DISCS_MAX`]; they may overlap.
    #[serde(default = "default_discs")]
    pub discs: u64,
    /// Standard deviation of the noise, of 255 levels.
    #[serde(default = "default_noise")]
    pub noise: f64,
    /// 16 instead of 8 bits.
    #[serde(default)]
    pub sixteen: bool,
    /// Seed of everything random.
    #[serde(default)]
    pub seed: u64,
    /// Threads.
    #[serde(default = "single_thread")]
    pub threads: usize,
}

fn default_side() -> u64 {
    512
}

fn default_discs() -> u64 {
    40
}

fn default_noise() -> f64 {
    8.0
}

fn single_thread() -> usize {
    1
}

impl Params {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        let refuse = |text: String| Err(Error::input("data make images", text));
        if !(1..=1 << 32).contains(&self.images) {
            return refuse(format!("--images is {}, give 1 to 2^32", self.images));
        }
        for (option, side) in [("--height", self.height), ("--width", self.width)] {
            if !(1..=SIDE_MAX).contains(&side) {
                return refuse(format!("{option} is {side}, give 1 to {SIDE_MAX}"));
            }
        }
        if self.discs > DISCS_MAX {
            return refuse(format!("--discs is {}, give at most {DISCS_MAX}", self.discs));
        }
        if !(0.0..=1000.0).contains(&self.noise) {
            return refuse(format!("--noise is {}, give 0 to 1000", self.noise));
        }
        Ok(())
    }
}

/// Writes the file. Returns images and bytes.
///
/// # Errors
/// `Input` for bad parameters; `System`; `Cancelled`.
pub fn write(params: &Params, progress: &Progress) -> Result<(u64, u64)> {
    params.check()?;
    let out = OrderedFile::create(&params.output)?;
    let pixels = params.height * params.width;
    progress.expect(params.images * pixels);
    let streams = [1, 2].map(|stream| Stream::new(params.seed, stream));
    let work = |bytes: &mut Vec<u8>, task: usize| {
        if task == 0 {
            let shape = format!("({}, {}, {})", params.images, params.height, params.width);
            bytes.extend(header(if params.sixteen { "<u2" } else { "|u1" }, &shape));
        }
        append(params, &streams, task as u64, bytes);
        out.finish_task(task, bytes)?;
        progress.advance(pixels)
    };
    parallel::run(params.threads, params.images as usize, Vec::new, work, |task| out.fail(task))?;
    Ok((params.images, out.close()?))
}

/// Appends an image: places and brightness of its discs from stream 1, noise from stream 2.
fn append(params: &Params, [discs, noise]: &[Stream; 2], image: u64, bytes: &mut Vec<u8>) {
    let (height, width) = (params.height as usize, params.width as usize);
    let mut levels = vec![GROUND; height * width];
    for disc in 0..params.discs {
        let draw = |place: u64, (low, high): (f64, f64)| {
            low + (high - low) * discs.uniform(4 * (image * params.discs + disc) + place)
        };
        let (y, x) = (draw(0, (0.0, height as f64)), draw(1, (0.0, width as f64)));
        let radius = draw(2, RADIUS) * height.min(width) as f64 + 0.5;
        let level = GROUND + draw(3, DISC);
        let within = |middle: f64, side: usize| {
            let first = (middle - radius).floor().max(0.0) as usize;
            first..((middle + radius).ceil() as usize + 1).min(side)
        };
        for row in within(y, height) {
            for column in within(x, width) {
                let (dy, dx) = (row as f64 - y, column as f64 - x);
                if dy * dy + dx * dx <= radius * radius {
                    levels[row * width + column] = level;
                }
            }
        }
    }
    let first = image * params.height * params.width;
    let scale = if params.sixteen { 257.0 } else { 1.0 };
    cpu::fastest(
        #[inline(always)]
        || {
            for (index, level) in levels.iter().enumerate() {
                let value = level + params.noise * noise.normal(first + index as u64);
                let value = (scale * value.clamp(0.0, 255.0)).round() as u16;
                match params.sixteen {
                    true => bytes.extend_from_slice(&value.to_le_bytes()),
                    false => bytes.push(value as u8),
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_images_for_any_threads() {
        let folder = tempfile::tempdir().unwrap();
        let made = |threads: usize, seed: u64, sixteen: bool| {
            let output = folder.path().join("x.npy");
            let text = format!(
                r#"{{"output": {output:?}, "images": 5, "height": 40, "width": 30, "seed": {seed},
                "sixteen": {sixteen}, "threads": {threads}}}"#
            );
            let params: Params = serde_json::from_str(&text).unwrap();
            let (images, bytes) = write(&params, &Progress::default()).unwrap();
            let content = std::fs::read(&output).unwrap();
            assert_eq!((images, bytes), (5, content.len() as u64));
            content
        };
        let single = made(1, 1, false);
        assert_eq!(single.len(), 128 + 5 * 40 * 30);
        assert_eq!(made(3, 1, false), single);
        assert_ne!(made(1, 2, false), single);
        let sixteen = made(2, 1, true);
        assert_eq!(sixteen.len(), 128 + 2 * 5 * 40 * 30);
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        for (text, expected) in [
            (r#"{"output": "x", "images": 0}"#, "--images is 0"),
            (r#"{"output": "x", "images": 1, "width": 0}"#, "--width is 0"),
            (r#"{"output": "x", "images": 1, "height": 20000}"#, "--height is 20000"),
            (r#"{"output": "x", "images": 1, "discs": 2000000}"#, "--discs"),
            (r#"{"output": "x", "images": 1, "noise": -1}"#, "--noise is -1"),
        ] {
            let params: Params = serde_json::from_str(text).unwrap();
            assert!(params.check().unwrap_err().message().contains(expected), "{text}");
        }
    }
}
