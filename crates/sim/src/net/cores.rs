//! Cores that ranks share: what one of them does, another waits for.

use crate::Config;
use crate::file::Sharing;

/// When each core is free, of all that ranks of a part use. Work is not interrupted, and done in the order in which the simulation comes
/// to it: ranks that wait for a core take turns by the operation, as processes do that yield when they have nothing to do.
pub(crate) struct Cores {
    /// By pool and core; empty if every rank has a core of its own.
    free: Vec<u64>,
    each: usize,
    /// Ranks of a pool.
    ranks: usize,
}

impl Cores {
    pub(crate) fn new(config: &Config) -> Cores {
        let ranks = match config.host.cores_of {
            Sharing::Node => config.ranks_per_node,
            Sharing::Machine => config.ranks(),
        };
        // With as many as ranks nobody ever waits.
        let each = if config.host.cores < ranks { config.host.cores } else { 0 };
        Cores { free: vec![0; each * config.ranks().div_ceil(ranks)], each, ranks }
    }

    /// When a rank, as numbered in the world, has done work of so many picoseconds that it could begin at a time.
    #[inline]
    pub(crate) fn work(&mut self, rank: u32, at: u64, ps: u64) -> u64 {
        if self.each == 0 || ps == 0 {
            return at + ps;
        }
        let pool = &mut self.free[rank as usize / self.ranks * self.each..][..self.each];
        let core = pool.iter_mut().min().expect("a pool has a core");
        *core = at.max(*core) + ps;
        *core
    }
}
