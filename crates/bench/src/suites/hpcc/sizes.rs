//! How large each test is: everything derives from the matrix of HPL, as in HPC Challenge 1.5.0.

use crate::kernels::hpcc::grid::squarest;

/// What the original assumes of a process when nobody says.
pub const DEFAULT_MEMORY: u64 = 64 << 20;
/// Longest vectors and transforms of the original.
const LONGEST: u64 = 1 << 30;

/// The order of the system that fills a share of the memory of all ranks of a grid, a multiple of `nb`.
pub fn order(share: f64, memory: u64, ranks: usize, nb: u64) -> u64 {
    // Eight bytes per element of an n x n matrix; the right-hand side is not counted, as in the original.
    let n = (share * ranks as f64 * memory as f64 / 8.0).sqrt() as u64;
    // Memory for less than one block still gives a system, if only of order 1.
    (n / nb * nb).max(nb.min(n).max(1))
}

/// A block size that keeps fast kernels busy without starving the grid.
pub fn block(n: u64) -> u64 {
    match n {
        // Chosen here: the original takes 80 for every order.
        0..256 => 16,
        256..4000 => 64,
        _ => 192,
    }
}

/// The grid of so many ranks. A prime above 20 leaves a rank out rather than take a single row, as the original.
pub fn grid(ranks: usize) -> (usize, usize) {
    let (p, q) = squarest(ranks);
    if p == 1 && ranks > 20 { squarest(ranks - 1) } else { (p, q) }
}

/// Bytes of the largest matrix on a rank: the one number from which the other tests' sizes come.
pub fn matrix_bytes(n: u64, ranks: usize) -> u64 {
    // In 128 bits, because 8 n^2 leaves 64 bits from n = 1.5e9 on, and an input file may ask for that.
    (8 * u128::from(n) * u128::from(n) / ranks as u128).min(u128::from(u64::MAX)) as u64
}

/// Order of DGEMM's matrices: three of them fill it.
pub fn dgemm(bytes: u64) -> u64 {
    // The original's formula; it solves n (n + 1) = bytes / 24.
    (((bytes / 8 / 3) as f64 + 0.25).sqrt() - 0.5) as u64
}

/// Elements of STREAM's vectors: three of them fill it.
pub fn stream(bytes: u64) -> u64 {
    (bytes / 8 / 3).min(LONGEST)
}

/// Logarithm of the words of RandomAccess's table.
pub fn random_access(bytes: u64, ranks: usize) -> u32 {
    (u128::from(bytes) * ranks as u128 / 8).max(1).ilog2()
}

/// Elements of the local transform: input and output fill it.
pub fn fft(bytes: u64) -> u64 {
    // An element is a complex number of 16 bytes.
    (1 << (bytes / 16 / 2).max(1).ilog2()).min(LONGEST)
}

/// Ranks of the global transform, and its elements.
pub fn fft_mpi(bytes: u64, ranks: usize) -> (usize, u64) {
    let p = 1u64 << ranks.ilog2();
    // A rank holds local x p elements, and the original leaves room for four vectors of them.
    let local = 1u64 << (bytes / 16 / (4 * p)).max(1).ilog2();
    (p as usize, local * p * p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the original's documentation: N = 8000 on a 1 x 2 grid.
    #[test]
    fn sizes_equal_the_originals() {
        let bytes = matrix_bytes(8000, 2);
        assert_eq!(bytes, 256_000_000);
        assert_eq!((dgemm(bytes), stream(bytes)), (3265, 10_666_666));
        assert_eq!((random_access(bytes, 1), random_access(bytes, 2)), (24, 25));
        assert_eq!((fft(bytes), fft_mpi(bytes, 2)), (1 << 22, (2, 1 << 22)));
        assert_eq!(fft_mpi(bytes, 3).0, 2);
    }

    #[test]
    fn orders_fill_the_share() {
        assert_eq!(order(0.8, DEFAULT_MEMORY, 4, 80), 5120);
        assert_eq!([(1), (4), (7), (23), (24)].map(grid), [(1, 1), (2, 2), (1, 7), (2, 11), (4, 6)]);
        for n in [1, 100, 1000, 100_000] {
            assert!(order(1.0, 8 * n * n, 1, block(n)) <= n);
        }
    }
}
