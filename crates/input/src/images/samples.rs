//! The numbers of an image in memory, of the type that its file has.

use ::tiff::decoder::DecodingBuffer;

/// Type of the numbers of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleType {
    /// 8 bits, 0 to 255.
    U8,
    /// 16 bits, 0 to 65535.
    U16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl SampleType {
    /// Bytes of a number.
    pub fn size_bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// Size of an image, and the type of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
    /// Numbers of a pixel: 1 grey, 3 colour, 4 colour and alpha.
    pub channels: usize,
    /// Whether all numbers of a channel precede those of the next, instead of pixel after pixel.
    pub planar: bool,
    /// Type of the numbers.
    pub kind: SampleType,
}

impl ImageShape {
    /// Pixels.
    pub fn pixels(&self) -> usize {
        self.height * self.width
    }

    /// Bytes of all numbers.
    pub fn size_bytes(&self) -> usize {
        self.pixels() * self.channels * self.kind.size_bytes()
    }
}

/// Numbers of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// 8 bits.
    U8(Vec<u8>),
    /// 16 bits.
    U16(Vec<u16>),
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

impl Default for Samples {
    fn default() -> Self {
        Self::U8(Vec::new())
    }
}

impl Samples {
    /// Makes room for the numbers of an image; what they are is not said. More room than before
    /// takes memory as it is written to, so that a header alone takes none.
    pub fn resize(&mut self, shape: &ImageShape) {
        let count = shape.pixels() * shape.channels;
        match shape.kind {
            SampleType::U8 => make_room(u8::of(self), count),
            SampleType::U16 => make_room(u16::of(self), count),
            SampleType::F32 => make_room(f32::of(self), count),
            SampleType::F64 => make_room(f64::of(self), count),
        }
    }

    /// Calls `fill` with the bytes of the numbers, in the order of this processor.
    pub fn fill<T>(&mut self, fill: impl FnOnce(&mut [u8]) -> T) -> T {
        let mut bytes = match self {
            Self::U8(values) => DecodingBuffer::U8(values),
            Self::U16(values) => DecodingBuffer::U16(values),
            Self::F32(values) => DecodingBuffer::F32(values),
            Self::F64(values) => DecodingBuffer::F64(values),
        };
        fill(bytes.as_bytes_mut())
    }

    /// Puts bytes that were little-endian into the order of this processor.
    pub fn from_little_endian(&mut self) {
        match self {
            Self::U8(_) => (),
            Self::U16(values) => values.iter_mut().for_each(|x| *x = u16::from_le(*x)),
            Self::F32(values) => {
                values.iter_mut().for_each(|x| *x = f32::from_bits(u32::from_le(x.to_bits())));
            }
            Self::F64(values) => {
                values.iter_mut().for_each(|x| *x = f64::from_bits(u64::from_le(x.to_bits())));
            }
        }
    }
}

fn make_room<T: SampleValue>(values: &mut Vec<T>, count: usize) {
    if values.capacity() < count {
        // The old room first, so that both are never there at once.
        *values = Vec::new();
        *values = vec![T::default(); count];
    } else {
        values.resize(count, T::default());
    }
}

/// A number of an image.
pub trait SampleValue: Copy + PartialOrd + Default + Send + 'static {
    /// Whether it is a level, a whole number from 0 on.
    const LEVELS: bool;
    /// The numbers of `samples`, which are made to be of this type.
    fn of(samples: &mut Samples) -> &mut Vec<Self>;
    /// As a double, exactly.
    fn to_f64(self) -> f64;
}

macro_rules! sample {
    ($type:ident, $variant:ident, $levels:literal) => {
        impl SampleValue for $type {
            const LEVELS: bool = $levels;

            fn of(samples: &mut Samples) -> &mut Vec<Self> {
                if !matches!(samples, Samples::$variant(_)) {
                    *samples = Samples::$variant(Vec::new());
                }
                match samples {
                    Samples::$variant(values) => values,
                    _ => unreachable!("it was made to be of this type"),
                }
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}

sample!(u8, U8, true);
sample!(u16, U16, true);
sample!(f32, F32, false);
sample!(f64, F64, false);
