//! Parameters of `images`, with their ranges.

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Maximum number of pixels of an image, for which the threshold is exact.
pub use cuesta_input::images::PIXELS_MAX;

/// Channel of a colour image that is its intensity.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// 0.2125 red + 0.7154 green + 0.0721 blue; the samples themselves of a grey image.
    #[default]
    Luma,
    /// The red samples.
    Red,
    /// The green samples.
    Green,
    /// The blue samples.
    Blue,
}

impl Channel {
    /// Returns the name of the channel on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Luma => "luma",
            Self::Red => "red",
            Self::Green => "green",
            Self::Blue => "blue",
        }
    }
}

/// Side of the threshold on which objects are.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Objects {
    /// Above the threshold.
    #[default]
    Bright,
    /// At or below the threshold.
    Dark,
}

/// Parameters as the command line gives them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct ImagesParams {
    /// Channel of a colour image that is its intensity.
    pub channel: Channel,
    /// `otsu`, or a number in the units of the pixels.
    pub threshold: String,
    /// Side of the threshold on which objects are.
    pub objects: Objects,
    /// Smallest object that is counted, in pixels; 1 to [`PIXELS_MAX`].
    pub min_pixels: u64,
}

impl Default for ImagesParams {
    fn default() -> Self {
        Self {
            channel: Channel::Luma,
            threshold: "otsu".to_owned(),
            objects: Objects::Bright,
            min_pixels: 1,
        }
    }
}

/// Checked parameters.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Channel of a colour image that is its intensity.
    pub channel: Channel,
    /// Threshold of all images; `None` for Otsu's threshold of each image.
    pub threshold: Option<f64>,
    /// Whether objects are at or below the threshold.
    pub dark: bool,
    /// Smallest object that is counted, in pixels.
    pub min_pixels: u64,
}

impl ImagesParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<Plan> {
        let threshold = match self.threshold.trim() {
            "otsu" => None,
            number => match number.parse::<f64>() {
                Ok(value) if value.is_finite() => Some(value),
                _ => {
                    let threshold = &self.threshold;
                    let text =
                        format!("--threshold is {threshold:?}, give otsu or a number such as 96");
                    return Err(Error::input("images", text));
                }
            },
        };
        if !(1..=PIXELS_MAX).contains(&self.min_pixels) {
            let text = format!("--min-pixels is {}, give 1 to {PIXELS_MAX}", self.min_pixels);
            return Err(Error::input("images", text));
        }
        Ok(Plan {
            channel: self.channel,
            threshold,
            dark: self.objects == Objects::Dark,
            min_pixels: self.min_pixels,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_otsu_or_a_number() {
        let of = |text: &str| {
            let params = ImagesParams { threshold: text.to_owned(), ..ImagesParams::default() };
            params.check().map(|plan| plan.threshold)
        };
        assert_eq!(of("otsu").unwrap(), None);
        assert_eq!(of(" -1.5e2 ").unwrap(), Some(-150.0));
        for bad in ["", "Otsu", "inf", "nan", "12,5", "0x10"] {
            assert!(of(bad).unwrap_err().message().contains("give otsu or a number"), "{bad}");
        }
    }
}
