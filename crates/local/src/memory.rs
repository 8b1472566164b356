//! Large arrays: fresh zero pages that nobody has touched yet, in huge pages where the system grants them.
//!
//! A page belongs to the memory of the core that first writes it, and a random access to a small page costs a walk of the page
//! table. So large arrays are mapped, not taken from the allocator: nothing is touched before its user does, and the kernel is
//! asked for huge pages. Not for small or short-lived data.

use rustfft::num_complex::Complex;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The size of a huge page on the machines this runs on; elsewhere the alignment does no harm.
const HUGE: usize = 2 << 20;

/// A buffer that could not be had.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// More bytes than an address can count.
    #[error("an array of {0} elements is larger than the address space; choose a smaller problem")]
    TooLarge(usize),
    /// The system refused.
    #[error("cannot allocate {bytes} bytes ({cause}); choose a smaller problem (--memory) or fewer ranks per node")]
    Refused {
        /// What was asked for.
        bytes: usize,
        /// What the system said.
        cause: std::io::Error,
    },
}

/// Types for which every bit pattern is a value, zero included, and which have no padding.
///
/// # Safety
/// An implementor must be exactly that.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

// SAFETY: every bit pattern of an integer is a value, and it has no padding.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: every bit pattern is a float, and it has no padding.
unsafe impl Plain for f64 {}
// SAFETY: `Complex` is `repr(C)` with two floats.
unsafe impl Plain for Complex<f64> {}

/// The bytes of a slice, to send them.
pub fn bytes<T: Plain>(slice: &[T]) -> &[u8] {
    // SAFETY: a plain type has no padding, so all its bytes are initialized; u8 needs no alignment.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) }
}

/// The bytes of a slice, to receive into it.
pub fn bytes_mut<T: Plain>(slice: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes`, and every pattern written is a value of a plain type.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), size_of_val(slice)) }
}

/// Complex numbers as alternating real and imaginary parts.
pub fn floats(slice: &[Complex<f64>]) -> &[f64] {
    // SAFETY: `Complex<f64>` is `repr(C)` with two floats and has their alignment.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), 2 * slice.len()) }
}

/// Complex numbers as alternating real and imaginary parts, to write.
pub fn floats_mut(slice: &mut [Complex<f64>]) -> &mut [f64] {
    // SAFETY: as in `floats`.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), 2 * slice.len()) }
}

/// An array of zeros in its own mapping, aligned to a huge page when it is as large as one, else to a page.
pub struct Buffer<T: Plain> {
    base: *mut core::ffi::c_void,
    mapped: usize,
    data: NonNull<T>,
    len: usize,
}

// SAFETY: a buffer owns its mapping as a `Vec` owns its allocation.
unsafe impl<T: Plain> Send for Buffer<T> {}
// SAFETY: shared access only reads.
unsafe impl<T: Plain> Sync for Buffer<T> {}

impl<T: Plain> Buffer<T> {
    /// Maps `len` zeros. No page is touched: the first writer of a page decides where it lives.
    pub fn zeroed(len: usize) -> Result<Self, MemoryError> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(MemoryError::TooLarge(len))?;
        if bytes == 0 {
            return Ok(Self { base: std::ptr::null_mut(), mapped: 0, data: NonNull::dangling(), len });
        }
        let slack = if bytes >= HUGE { HUGE } else { 0 };
        let mapped =
            bytes.checked_add(slack).filter(|&b| b <= isize::MAX as usize).ok_or(MemoryError::TooLarge(len))?;
        // SAFETY: a private anonymous mapping at an address of the kernel's choice touches nothing of ours.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(|e| MemoryError::Refused { bytes, cause: e.into() })?;
        let shift = if slack == 0 { 0 } else { base.addr().wrapping_neg() % HUGE };
        let start = base.wrapping_byte_add(shift);
        #[cfg(target_os = "linux")]
        if slack != 0 {
            // SAFETY: the range lies in the mapping just made; the advice changes no content. A kernel without huge pages
            // refuses, which costs speed only.
            let _ = unsafe { madvise(start, bytes, Advice::LinuxHugepage) };
        }
        // A kernel never maps address zero for an unprivileged request without a hint.
        let data = NonNull::new(start.cast()).expect("a mapping has an address");
        Ok(Self { base, mapped, data, len })
    }
}

impl<T: Plain> Drop for Buffer<T> {
    fn drop(&mut self) {
        if self.mapped > 0 {
            // SAFETY: exactly the mapping made in `zeroed`; no borrow outlives the owner.
            let unmapped = unsafe { munmap(self.base, self.mapped) };
            debug_assert!(unmapped.is_ok(), "a mapping of our own can be unmapped");
        }
    }
}

impl<T: Plain> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `len` elements are mapped from `data` on, aligned to a page, and any bit pattern is a value.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl<T: Plain> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

/// A pointer that threads of one pool may share; each of them touches its own part only.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(*mut T);

// SAFETY: the users of `part` promise that no two threads touch the same elements.
unsafe impl<T: Plain> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for Shared<T> {}

impl<T: Plain> Shared<T> {
    pub fn new(slice: &mut [T]) -> Self {
        Self(slice.as_mut_ptr())
    }

    /// The elements of `range`.
    ///
    /// # Safety
    /// The range lies within the slice given to `new`, which outlives the result; no other live part overlaps it.
    #[allow(clippy::mut_from_ref, reason = "disjointness is the caller's promise")]
    pub unsafe fn part<'a>(&self, range: std::ops::Range<usize>) -> &'a mut [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}

/// An address that threads of one pool may share.
#[derive(Clone, Copy)]
pub(crate) struct Raw<T>(pub *mut T);

// SAFETY: an address alone does nothing; whoever follows it says why that is right.
unsafe impl<T> Send for Raw<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Raw<T> {}

impl<T> Raw<T> {
    /// The address. (A closure that named the field would capture the bare pointer, which is not `Sync`.)
    pub fn get(self) -> *mut T {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_zero_aligned_and_writable_to_the_end() {
        for len in [0, 1, 511, 512, 513, HUGE / 8, HUGE / 8 + 7] {
            let mut b = Buffer::<f64>::zeroed(len).unwrap();
            assert_eq!(b.len(), len);
            assert!(b.iter().all(|&x| x == 0.0));
            b.fill(1.5);
            assert_eq!(b.iter().sum::<f64>(), 1.5 * len as f64);
            let align = if len * 8 >= HUGE { HUGE } else { 64 };
            assert!(len == 0 || b.as_ptr().addr().is_multiple_of(align));
        }
    }

    #[test]
    fn absurd_sizes_are_refused_with_a_remedy() {
        assert!(matches!(Buffer::<f64>::zeroed(usize::MAX), Err(MemoryError::TooLarge(_))));
        let Err(e) = Buffer::<u8>::zeroed(1 << 60) else { panic!("no machine has an exbibyte") };
        assert!(e.to_string().contains("smaller problem"), "{e}");
    }

    #[test]
    fn casts_keep_values() {
        let mut z = [Complex::new(1.0, 2.0), Complex::new(3.0, 4.0)];
        assert_eq!(floats(&z), [1.0, 2.0, 3.0, 4.0]);
        floats_mut(&mut z)[3] = 5.0;
        assert_eq!(z[1].im, 5.0);
        let mut x = [1.0f64, -0.0];
        assert_eq!(bytes(&x)[..8], 1.0f64.to_ne_bytes());
        bytes_mut(&mut x)[8..].copy_from_slice(&7.25f64.to_ne_bytes());
        assert_eq!(x[1], 7.25);
    }
}
