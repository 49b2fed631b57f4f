//! A stack of images of one or more TIFF or `.npy` files, numbered from 0, with random access.

mod description;
mod recognised;
pub mod samples;
mod tiff;

use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use crate::storage::Input;
use crate::{files, npy};
use samples::{ImageShape, SampleType, Samples};
use tiff::{Pages, is_tiff};

pub use recognised::recognised;

const OPERATION: &str = "input.images";
/// Most pixels of an image.
pub const PIXELS_MAX: u64 = 1 << 29;
/// Extensions of image files that are read from a folder.
const ENDINGS: [&str; 3] = ["npy", "tif", "tiff"];

/// Whether a file of a folder is an image by its name.
fn is_wanted(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

/// Format of the images of a file.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Images of equal shape, without gaps, from this byte on.
    Npy { shape: ImageShape, offset: u64 },
    /// Each image has its own shape.
    Tiff,
}

#[derive(Debug)]
struct Part {
    path: PathBuf,
    form: Form,
    /// Number of the first image, and count of images.
    first: u64,
    images: u64,
    size_bytes: u64,
    /// Numbers of directories of a TIFF file that are not images.
    skipped: Vec<u64>,
    /// Names of the files of an OME-TIFF that consists of several.
    set: Vec<String>,
}

/// Images of files, of which only the headers have been read.
#[derive(Debug)]
pub struct Stack {
    parts: Vec<Part>,
    /// Number of the first image in the answer: 0, unless these are a part of a larger stack.
    base: u64,
    /// Number of images.
    pub images: u64,
    /// Bytes of all files.
    pub size_bytes: u64,
    /// Maximum memory for work on one image, in bytes.
    pub needed_bytes: u64,
}

impl Stack {
    /// Opens files, or the files in folders that have an extension of images. Work on an image
    /// takes `weigh` bytes.
    ///
    /// # Errors
    /// `Input` when there is no image or one that can't be read; `System`.
    pub fn open(paths: &[PathBuf], weigh: fn(&ImageShape) -> u64) -> Result<Self> {
        let mut stack =
            Self { parts: Vec::new(), base: 0, images: 0, size_bytes: 0, needed_bytes: 0 };
        for path in files::list(OPERATION, paths, is_wanted)? {
            stack.add(path, weigh)?;
        }
        if stack.images == 0 {
            let names = files::names(paths);
            let text = format!("{names} holds no image; give .tif, .tiff or .npy files");
            return Err(Error::input(OPERATION, text));
        }
        Ok(stack)
    }

    /// Numbers the images from `base` on, as a part of a larger stack.
    #[must_use]
    pub fn numbered_from(self, base: u64) -> Self {
        Self { base, ..self }
    }

    /// Refuses an OME-TIFF of several files if not all of them are among the inputs.
    ///
    /// # Errors
    /// `Input` naming the file that is missing.
    pub fn check_sets(&self) -> Result<()> {
        let names: Vec<_> = self.parts.iter().filter_map(|part| part.path.file_name()).collect();
        for part in &self.parts {
            let is_missing = |name: &&String| !names.iter().any(|known| *known == name.as_str());
            if let Some(missing) = part.set.iter().find(is_missing) {
                let text = format!(
                    "{} is one of {} files of an OME-TIFF, and {missing} is not among the inputs; \
                     give the folder with all of them",
                    part.path.display(),
                    part.set.len()
                );
                return Err(Error::input(OPERATION, text));
            }
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf, weigh: fn(&ImageShape) -> u64) -> Result<()> {
        let failed = |cause| Error::system(OPERATION, "reading", &path, &cause);
        let file = Input::open(&path).map_err(failed)?;
        let mut start = [0; 8];
        let count = file.read_at(&mut start, 0).map_err(failed)?;
        let (mut skipped, mut set) = (Vec::new(), Vec::new());
        let (form, images) = if npy::is_npy(&start[..count]) {
            let StoredArray { shape, offset, images } = array(&path)?;
            self.needed_bytes = self.needed_bytes.max(weigh(&shape));
            (Form::Npy { shape, offset }, images)
        } else if is_tiff(&start[..count]) {
            let needed = &mut self.needed_bytes;
            let grow = |shape: ImageShape| *needed = (*needed).max(weigh(&shape));
            let directories = Pages::open(&path)?.visit(grow)?;
            (skipped, set) = (directories.skipped, directories.set);
            (Form::Tiff, directories.images)
        } else {
            let kind = name_of(&start[..count]);
            let text = format!("{} is {kind}; save it as TIFF or .npy", path.display());
            return Err(Error::input(OPERATION, text));
        };
        let size_bytes = file.size_bytes().map_err(failed)?;
        if images == 0 {
            let text = format!(
                "{} holds thumbnails and masks alone, as its NewSubfileType says; give the file \
                 with the images in full size",
                path.display()
            );
            return Err(Error::input(OPERATION, text));
        }
        self.parts.push(Part { path, form, first: self.images, images, size_bytes, skipped, set });
        self.images += images;
        self.size_bytes += size_bytes;
        Ok(())
    }

    /// Number of an image in the answer.
    pub fn number(&self, image: u64) -> u64 {
        self.base + image
    }

    /// The file of an image, and which of the file's images it is.
    pub fn place(&self, image: u64) -> (&Path, u64) {
        let part = &self.parts[self.part(image)];
        (&part.path, part.directory(image))
    }

    /// Bytes of the file of an image, divided evenly among its images.
    pub fn bytes_of(&self, image: u64) -> u64 {
        let part = &self.parts[self.part(image)];
        part.size_bytes / part.images
    }

    /// The files, and how many images each has.
    pub fn files(&self) -> impl Iterator<Item = (&Path, u64)> {
        self.parts.iter().map(|part| (part.path.as_path(), part.images))
    }

    fn part(&self, image: u64) -> usize {
        self.parts.partition_point(|part| part.first <= image) - 1
    }
}

/// Images of a `.npy` file, of equal shape and without gaps.
struct StoredArray {
    shape: ImageShape,
    /// Offset of the first image.
    offset: u64,
    images: u64,
}

/// The images of a `.npy` file, by its header.
fn array(path: &Path) -> Result<StoredArray> {
    let header = npy::read_header(path)?;
    let refuse = |what: String| Err(Error::input(OPERATION, format!("{} {what}", path.display())));
    let kind = match header.descr.as_str() {
        "|u1" | "<u1" => SampleType::U8,
        "<u2" => SampleType::U16,
        "<f4" => SampleType::F32,
        "<f8" => SampleType::F64,
        other => {
            return refuse(format!(
                "holds numbers of type {other}; save it as uint8, or as little-endian uint16, \
                 float32 or float64"
            ));
        }
    };
    let (images, height, width, channels) = match header.shape[..] {
        [height, width] => (1, height, width, 1),
        [height, width, channels @ (1 | 3 | 4)] => (1, height, width, channels),
        [images, height, width] => (images, height, width, 1),
        [images, height, width, channels @ (1 | 3 | 4)] => (images, height, width, channels),
        _ => {
            let text = header.shape_text();
            return refuse(format!(
                "has the shape {text}; give images as (height, width), (images, height, \
                 width) or (images, height, width, 1, 3 or 4)"
            ));
        }
    };
    header.check_size(path, kind.size_bytes())?;
    if images == 0 {
        return refuse("holds no image; leave it out".to_owned());
    }
    // No more than the bytes of the file, so that nothing below overflows.
    if height == 0 || width == 0 {
        return refuse(format!("has images of {height} x {width} pixels; leave it out"));
    }
    if height * width > PIXELS_MAX {
        return refuse(format!(
            "has images of {height} x {width} pixels, {PIXELS_MAX} work; cut them up"
        ));
    }
    let (height, width, channels) = (height as usize, width as usize, channels as usize);
    let shape = ImageShape { height, width, channels, planar: false, kind };
    Ok(StoredArray { shape, offset: header.offset, images })
}

/// Type of a file that is not a supported image, for a message.
fn name_of(start: &[u8]) -> &'static str {
    match start {
        [] => "empty",
        [0x89, b'P', b'N', b'G', ..] => "a PNG file",
        [0xFF, 0xD8, 0xFF, ..] => "a JPEG file",
        [b'G', b'I', b'F', b'8', ..] => "a GIF file",
        [0x1F, 0x8B, ..] => "compressed by gzip",
        _ => "no image that is read here",
    }
}

enum Open {
    Npy(Input),
    Tiff(Box<Pages>),
}

/// Reader of images of a stack into a buffer; each thread has its own.
pub struct Reader<'a> {
    stack: &'a Stack,
    open: Option<(usize, Open)>,
    samples: Samples,
}

impl<'a> Reader<'a> {
    /// A reader without an open file.
    pub fn new(stack: &'a Stack) -> Self {
        Self { stack, open: None, samples: Samples::default() }
    }

    /// The numbers of an image. Reading images in their order is fastest.
    ///
    /// # Errors
    /// `Input` when it is damaged; `System`.
    pub fn read(&mut self, image: u64) -> Result<(ImageShape, &Samples)> {
        let (part, open) = part_of(self.stack, &mut self.open, image)?;
        let shape = part.read(open, part.directory(image), &mut self.samples)?;
        Ok((shape, &self.samples))
    }

    /// The shape of an image, without its numbers.
    ///
    /// # Errors
    /// `Input` when it is damaged; `System`.
    pub fn shape(&mut self, image: u64) -> Result<ImageShape> {
        let (part, open) = part_of(self.stack, &mut self.open, image)?;
        match (open, part.form) {
            (_, Form::Npy { shape, .. }) => Ok(shape),
            (Open::Tiff(pages), _) => pages.seek(part.directory(image)),
            (Open::Npy(_), Form::Tiff) => unreachable!("a file is opened as what it is"),
        }
    }
}

/// The file of an image, opened unless it is.
fn part_of<'a, 'b>(
    stack: &'a Stack,
    open: &'b mut Option<(usize, Open)>,
    image: u64,
) -> Result<(&'a Part, &'b mut Open)> {
    let index = stack.part(image);
    let part = &stack.parts[index];
    let file = match open.take() {
        Some((known, file)) if known == index => file,
        _ => part.open()?,
    };
    Ok((part, &mut open.insert((index, file)).1))
}

impl Part {
    /// The number of an image in its file, with thumbnails and masks counted.
    fn directory(&self, image: u64) -> u64 {
        let image = image - self.first;
        self.skipped.iter().fold(image, |number, &other| number + u64::from(other <= number))
    }

    fn open(&self) -> Result<Open> {
        Ok(match self.form {
            Form::Tiff => Open::Tiff(Box::new(Pages::open(&self.path)?)),
            Form::Npy { .. } => Open::Npy(
                Input::open(&self.path)
                    .map_err(|cause| Error::system(OPERATION, "opening", &self.path, &cause))?,
            ),
        })
    }

    fn read(&self, open: &mut Open, page: u64, samples: &mut Samples) -> Result<ImageShape> {
        match (open, self.form) {
            (Open::Npy(file), Form::Npy { shape, offset }) => {
                samples.resize(&shape);
                let start = offset + page * shape.size_bytes() as u64;
                samples
                    .fill(|bytes| file.read_exact_at(bytes, start))
                    .map_err(|cause| Error::system(OPERATION, "reading", &self.path, &cause))?;
                samples.from_little_endian();
                Ok(shape)
            }
            (Open::Tiff(pages), _) => pages.read(page, samples),
            (Open::Npy(_), Form::Tiff) => unreachable!("a file is opened as what it is"),
        }
    }
}
