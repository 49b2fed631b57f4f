//! Memory aligned to cache lines: a load of a whole vector then touches a single line.

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// Zeroed numbers that start at a cache line. The operating system provides the memory at the first
/// write, to the thread that writes.
#[derive(Debug, Default)]
pub struct Aligned<T> {
    data: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Copy + Default> Aligned<T> {
    pub fn new(length: usize) -> Self {
        let per_line = LINE_BYTES / size_of::<T>();
        let data = vec![T::default(); length + per_line];
        let past_line = data.as_ptr().addr() % LINE_BYTES / size_of::<T>();
        Self { data, start: (per_line - past_line) % per_line, length }
    }

    pub fn all(&self) -> &[T] {
        &self.data[self.start..][..self.length]
    }

    pub fn all_mut(&mut self) -> &mut [T] {
        &mut self.data[self.start..][..self.length]
    }

    /// Returns pieces of `N` numbers; the length must be a multiple of `N`.
    pub fn pieces<const N: usize>(&self) -> &[[T; N]] {
        self.all().as_chunks().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_starts_at_a_cache_line() {
        for length in [0, 8, 1000] {
            assert_eq!(Aligned::<f64>::new(length).all().as_ptr().addr() % LINE_BYTES, 0);
            assert_eq!(Aligned::<i32>::new(length).all().len(), length);
        }
    }
}
