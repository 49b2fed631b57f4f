//! TIFF files of any number of pages, by the crate `tiff`.

use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use ::tiff::decoder::{Decoder, DecodingSampleType, Limits};
use ::tiff::tags::{PhotometricInterpretation, Tag};
use ::tiff::{ColorType, TiffError};
use cuesta_core::{Error, Result};

use super::PIXELS_MAX;
use super::description;
use super::samples::{ImageShape, SampleType, Samples};
use crate::storage::Input;

const OPERATION: &str = "input.tiff";
/// Most bytes of a list in a page's directory; a strip has 8 of them.
const LIST_BYTES_MAX: usize = 64 << 20;
/// Bytes read from a file at once, where a page is not read in one piece.
const READ_BYTES: usize = 64 << 10;
/// Bytes of a description that are looked at.
const DESCRIPTION_BYTES_MAX: usize = 1 << 20;

/// Whether a file begins as TIFF files do, those of more than 4 GiB included.
pub fn is_tiff(start: &[u8]) -> bool {
    matches!(start, [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..])
}

/// Bits of `NewSubfileType`.
const REDUCED: u32 = 1;
const MASK: u32 = 4;
/// Value of the older tag `SubfileType` for a smaller copy.
const OLD_REDUCED: u16 = 2;

/// The directories of a file.
#[derive(Debug)]
pub struct Directories {
    /// Number of images.
    pub images: u64,
    /// Numbers of those that are thumbnails or masks, in their order.
    pub skipped: Vec<u64>,
    /// Names of the files that an OME-TIFF of several files is in; empty for a single file.
    pub set: Vec<String>,
}

/// An open file.
pub struct Pages {
    path: PathBuf,
    decoder: Decoder<BufReader<Input>>,
}

impl Pages {
    /// Opens a file at its first page.
    ///
    /// # Errors
    /// `Input` if the file is damaged; `System` if it cannot be opened or read.
    pub fn open(path: &Path) -> Result<Self> {
        let file =
            Input::open(path).map_err(|cause| Error::system(OPERATION, "opening", path, &cause))?;
        let reader = BufReader::with_capacity(READ_BYTES, file);
        let decoder = Decoder::new(reader).map_err(|error| decoding_error(path, 0, error))?;
        let mut limits = Limits::unlimited();
        limits.ifd_value_size = LIST_BYTES_MAX;
        limits.decoding_buffer_size = LIST_BYTES_MAX;
        Ok(Self { path: path.to_owned(), decoder: decoder.with_limits(limits) })
    }

    /// Calls `visit` with the shape of every page that is an image.
    ///
    /// # Errors
    /// `Input` when a page is damaged or of a type that is not read, and when the file says that it
    /// has more images than pages; `System`.
    pub fn visit(mut self, mut visit: impl FnMut(ImageShape)) -> Result<Directories> {
        let text = self.description();
        let mut pages =
            Directories { images: 0, skipped: Vec::new(), set: description::files_of_set(&text) };
        for directory in 0.. {
            if self.is_thumbnail_or_mask(directory)? {
                pages.skipped.push(directory);
            } else {
                visit(self.shape(directory)?);
                pages.images += 1;
            }
            if !self.decoder.more_images() {
                let directories = directory + 1;
                match description::image_j_images(&text) {
                    Some(images) if images > directories => {
                        return Err(self.unfolded(images, directories));
                    }
                    _ => break,
                }
            }
            let next = directory + 1;
            self.decoder.next_image().map_err(|error| decoding_error(&self.path, next, error))?;
        }
        Ok(pages)
    }

    /// The shape of the first page that is an image.
    ///
    /// # Errors
    /// As [`Pages::visit`].
    pub fn first_shape(mut self) -> Result<Option<ImageShape>> {
        for directory in 0.. {
            if !self.is_thumbnail_or_mask(directory)? {
                return self.shape(directory).map(Some);
            }
            if !self.decoder.more_images() {
                break;
            }
            let next = directory + 1;
            self.decoder.next_image().map_err(|error| decoding_error(&self.path, next, error))?;
        }
        Ok(None)
    }

    /// Whether a directory has a smaller copy of an image, or a mask, as its `NewSubfileType` or
    /// `SubfileType` says.
    fn is_thumbnail_or_mask(&mut self, directory: u64) -> Result<bool> {
        let failed = |error| decoding_error(&self.path, directory, error);
        let new: Option<u32> =
            self.decoder.find_tag_unsigned(Tag::NewSubfileType).map_err(failed)?;
        let old: Option<u16> = self.decoder.find_tag_unsigned(Tag::SubfileType).map_err(failed)?;
        let bits = new.unwrap_or(0) & (REDUCED | MASK);
        Ok(bits != 0 || old == Some(OLD_REDUCED))
    }

    /// The start of the description of the page that the decoder is at; its signs may be Latin-1.
    fn description(&mut self) -> String {
        let mut bytes = vec![0; DESCRIPTION_BYTES_MAX];
        let mut page = self.decoder.image_ifd();
        let length = page.find_tag_bytes(Tag::ImageDescription, &mut bytes, 0);
        let length = length.ok().flatten().unwrap_or(0).min(bytes.len());
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    fn unfolded(&self, images: u64, directories: u64) -> Error {
        let name = self.path.display();
        let text = format!(
            "{name} says that it has {images} images and has {directories} in pages of TIFF, \
             as ImageJ writes large stacks; save it with a page an image: \
             tifffile.imwrite(\"new.tif\", tifffile.imread(\"old.tif\"))"
        );
        Error::input(OPERATION, text)
    }

    /// Reads a page, numbered from 0.
    ///
    /// # Errors
    /// `Input` when it is damaged or of a type that is not read; `System`.
    pub fn read(&mut self, page: u64, samples: &mut Samples) -> Result<ImageShape> {
        let shape = self.seek(page)?;
        samples.resize(&shape);
        let decoded = samples.fill(|bytes| self.decoder.read_image_bytes(bytes));
        decoded.map_err(|error| decoding_error(&self.path, page, error))?;
        Ok(shape)
    }

    /// Goes to a page, numbered from 0; its shape.
    ///
    /// # Errors
    /// As [`Pages::read`].
    pub fn seek(&mut self, page: u64) -> Result<ImageShape> {
        let index = usize::try_from(page).unwrap_or(usize::MAX);
        self.decoder
            .seek_to_image(index)
            .map_err(|error| decoding_error(&self.path, page, error))?;
        self.shape(page)
    }

    /// The shape of the page that the decoder is at.
    fn shape(&mut self, page: u64) -> Result<ImageShape> {
        let failed = |error| decoding_error(&self.path, page, error);
        let refuse = |what: String| Err(refused(&self.path, page, &what));
        let (width, height) = self.decoder.dimensions().map_err(failed)?;
        let pixels = u64::from(width) * u64::from(height);
        if pixels == 0 {
            return refuse(format!("has no pixel ({height} x {width}); leave it out"));
        }
        if pixels > PIXELS_MAX {
            return refuse(format!("has {height} x {width} pixels, {PIXELS_MAX} work; cut it up"));
        }
        if matches!(self.decoder.colortype(), Ok(ColorType::Gray(1))) {
            return refuse(format!(
                "is a mask of one bit a pixel; save the pages with 8 bits: {}",
                saved("numpy.uint8(0) + page.asarray()")
            ));
        }
        let meaning: Option<u16> =
            self.decoder.find_tag_unsigned(Tag::PhotometricInterpretation).map_err(failed)?;
        if meaning == Some(PhotometricInterpretation::WhiteIsZero.to_u16()) {
            return refuse(format!(
                "is stored with white as zero, so that a bright pixel has a small number; save \
                 the pages with black as zero: {} keeps the numbers, ~page.asarray() of pages \
                 whose page.photometric is 0 keeps the picture",
                saved("page.asarray()")
            ));
        }
        let colour = self.decoder.colortype().map_err(failed)?;
        let channels = match colour {
            ColorType::Gray(_) => 1,
            ColorType::RGB(_) => 3,
            ColorType::RGBA(_) => 4,
            other => {
                return refuse(format!("holds {} pixels; save it as grey or RGB", words(other)));
            }
        };
        let layout = self.decoder.image_buffer_layout().map_err(failed)?;
        let kind = match (layout.sample_type, colour.bit_depth()) {
            (Some(DecodingSampleType::U8), 8) => SampleType::U8,
            (Some(DecodingSampleType::U16), 16) => SampleType::U16,
            (Some(DecodingSampleType::F32), 32) => SampleType::F32,
            (Some(DecodingSampleType::F64), 64) => SampleType::F64,
            (_, bits) => {
                let kind = layout.sample_format;
                return refuse(format!(
                    "holds numbers of {bits} bits ({kind:?}); save it with unsigned 8 or 16 bits, \
                     or as 32- or 64-bit floats"
                ));
            }
        };
        let (height, width, planar) = (height as usize, width as usize, layout.planes > 1);
        let shape = ImageShape { height, width, channels, planar, kind };
        if layout.complete_len != shape.size_bytes() {
            return refuse("has rows of an odd length; save it again".to_owned());
        }
        Ok(shape)
    }
}

/// The command that saves all pages of a file, each as `image` says.
fn saved(image: &str) -> String {
    format!(
        "with tifffile.TiffWriter(\"new.tif\") as new: [new.write({image}, \
         subfiletype=page.subfiletype) for page in tifffile.TiffFile(\"old.tif\").pages]"
    )
}

/// A type of pixels that is not read, in words.
fn words(colour: ColorType) -> String {
    let bits = colour.bit_depth();
    match colour {
        ColorType::GrayA(_) => format!("grey with alpha ({bits} bits, 2 samples a pixel)"),
        ColorType::Multiband { num_samples: 2, .. } => {
            format!("grey with alpha or another band ({bits} bits, 2 samples a pixel)")
        }
        ColorType::Multiband { num_samples, .. } => {
            format!("multi-band ({bits} bits, {num_samples} samples a pixel)")
        }
        ColorType::Palette(_) => format!("palette ({bits} bits)"),
        ColorType::CMYK(_) => format!("CMYK ({bits} bits)"),
        ColorType::CMYKA(_) => format!("CMYK with alpha ({bits} bits)"),
        ColorType::YCbCr(_) => format!("YCbCr ({bits} bits)"),
        ColorType::Lab(_) => format!("CIE L*a*b* ({bits} bits)"),
        _ => format!("other than grey and RGB ({bits} bits)"),
    }
}

fn refused(path: &Path, page: u64, what: &str) -> Error {
    Error::input(OPERATION, format!("page {page} of {} {what}", path.display()))
}

fn decoding_error(path: &Path, page: u64, error: TiffError) -> Error {
    match error {
        TiffError::IoError(cause) if cause.kind() != ErrorKind::UnexpectedEof => {
            // Decompression reports damage as such an error too.
            match cause.raw_os_error() {
                Some(_) => Error::system(OPERATION, "reading", path, &cause),
                None => refused(path, page, &format!("is damaged ({cause}); obtain it again")),
            }
        }
        TiffError::IoError(_) => refused(path, page, "is cut short; obtain it again"),
        TiffError::UnsupportedError(what) => refused(
            path,
            page,
            &format!(
                "cannot be read ({what}); save it as plain TIFF: grey or RGB, not compressed or by \
                 deflate, LZW or Zstandard"
            ),
        ),
        other => refused(path, page, &format!("is damaged ({other}); obtain it again")),
    }
}
