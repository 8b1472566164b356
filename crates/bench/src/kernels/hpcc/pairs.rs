//! Which pairs of ranks play ping-pong: all of them, or as many as the time allows, spread over the machine (b_eff R1.5.1).

/// Shortest time that the original's clock is trusted with: ten ticks of a microsecond.
pub const SHORTEST: f64 = 1e-5;

/// A timed loop that was too short is made longer by half.
pub fn longer(loops: u64) -> u64 {
    if loops == 1 { 2 } else { loops + loops / 2 }
}

fn is_prime(n: usize) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// Distance between two clients, from what one exchange between the first and the last rank took.
pub fn stride(ranks: usize, one_way: f64, loops: u64, measurements: u64, budget: f64) -> usize {
    let pair = (one_way * 2.0 * (loops + 1) as f64).max(SHORTEST) * measurements as f64;
    let pings = ((budget / pair) as u64).isqrt().max(5) as usize;
    let stride = ((ranks as f64 / pings as f64 + 0.9) as usize).max(1);
    // The rule of the original: 2 becomes 3 and larger strides the next prime, unless beyond a third of the ranks.
    match stride {
        1 => 1,
        2 => 3,
        3 => 3,
        _ if stride > ranks / 3 => stride,
        _ => (stride..).find(|s| is_prime(*s)).expect("there is always a next prime"),
    }
}

/// Clients in order.
pub fn clients(ranks: usize, stride: usize) -> impl Iterator<Item = usize> + Clone {
    (0..ranks).step_by(stride)
}

/// Servers in order.
pub fn servers(ranks: usize, stride: usize) -> impl Iterator<Item = usize> + Clone {
    (0..ranks).rev().step_by(stride)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_ranks_play_all_pairs_and_many_are_thinned_to_primes() {
        // 8 bytes: loops of 8, 5 measurements, 10 s; one microsecond one way.
        assert_eq!(stride(100, 1e-6, 8, 5, 10.0), 1);
        assert_eq!(stride(1000, 1e-6, 8, 5, 10.0), 3);
        assert_eq!(stride(4000, 1e-6, 8, 5, 10.0), 13);
        // A slow network: five clients at least.
        assert_eq!(stride(64, 1.0, 8, 5, 10.0), 13);
        assert_eq!(stride(10, 1.0, 8, 5, 10.0), 3);
        assert_eq!(clients(7, 3).collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!(servers(8, 3).collect::<Vec<_>>(), [7, 4, 1]);
        assert_eq!([1, 2, 3, 8].map(longer), [2, 3, 4, 12]);
    }
}
