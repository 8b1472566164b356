//! The input of the FFT tests: the generator of Bailey and Crandall (Experimental Mathematics 11, 2002), pieces of 53 bits of
//! the binary expansion of alpha_{2,3} = sum over k of 1 / (3^k 2^(3^k)), which is proven normal. Any part of the stream can
//! be made without the rest.
//!
//! With p = 3^k the number at index a is d / p, d = 2^(a - p) floor(p / 2) mod p, and the next one, 53 bits on, has
//! `d <- 2^53 d mod p`.

/// Start indices below this are raised by it, so that small seeds may be given: 3^33 + 100.
const LEAST: u64 = 5_559_060_566_555_523 + 100;

/// A place in the stream.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    p: u64,
    d: u64,
}

impl Stream {
    /// The stream at bit `a`; the k-th number of the stream of a = 0 is at a = 53 k.
    ///
    /// # Panics
    /// Above 2^53, where the generator is not defined.
    pub fn at(a: u64) -> Self {
        assert!(a <= 1 << 53, "start index {a} of the FFT's generator is above 2^53; choose a smaller transform");
        let a = if a < LEAST { a + LEAST } else { a };
        let mut p = 1u64;
        // Ends with the largest power of three that is at most a.
        while p <= a / 3 {
            p *= 3;
        }
        Self { p, d: mul(pow2(a - p, p), p / 2, p) }
    }

    /// The next numbers, in (0, 1).
    pub fn fill(&mut self, out: &mut [f64]) {
        let p = self.p;
        // The original multiplies by the rounded reciprocal instead of dividing, and so must we to get the same last bit.
        let reciprocal = 1.0 / p as f64;
        let ratio = (1u64 << 53) as f64 * reciprocal;
        for x in out {
            *x = self.d as f64 * reciprocal;
            // The quotient of 2^53 d by p from a float is off by a few at most, and so is the remainder, modulo 2^64, by a few p.
            let quotient = (self.d as f64 * ratio) as u64;
            let mut rest = (self.d << 53).wrapping_sub(quotient.wrapping_mul(p)) as i64;
            while rest < 0 {
                rest += p as i64;
            }
            while rest >= p as i64 {
                rest -= p as i64;
            }
            self.d = rest as u64;
        }
    }
}

fn mul(a: u64, b: u64, p: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(p)) as u64
}

/// 2^k mod p.
fn pow2(mut k: u64, p: u64) -> u64 {
    let (mut result, mut square) = (1 % p, 2 % p);
    while k > 0 {
        if k & 1 == 1 {
            result = mul(result, square, p);
        }
        square = mul(square, square, p);
        k >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_slow_arithmetic() {
        // The definition, with 128-bit remainders at every step.
        let p = 3u128.pow(33);
        let a = 3u128.pow(33) + 100;
        let mut d = (0..(a - p)).fold(p / 2, |d, _| 2 * d % p);
        let mut got = vec![0.0; 5000];
        Stream::at(0).fill(&mut got);
        for x in got {
            assert_eq!(x.to_bits(), (d as f64 * (1.0 / p as f64)).to_bits());
            assert!(x > 0.0 && x < 1.0);
            d = (d << 53) % p;
        }
    }

    #[test]
    fn far_parts_join_the_stream() {
        for start in [1u64, 1000, 1 << 23, 31_415_926_535_897] {
            let (mut one, mut two) = ([0.0; 300], [0.0; 200]);
            Stream::at(53 * start).fill(&mut one);
            Stream::at(53 * (start + 100)).fill(&mut two);
            assert_eq!(one[100..], two);
        }
    }

    #[test]
    fn the_largest_power_of_three_is_found() {
        assert_eq!(Stream::at(LEAST).p, 3u64.pow(33));
        assert_eq!(Stream::at(0).p, 3u64.pow(33));
        assert_eq!(LEAST, 3u64.pow(33) + 100);
    }
}
