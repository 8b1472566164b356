//! What the delayed receiver found: from which size on a send waits for its receiver. The search itself is the kernel
//! `eager-limit`; a record holds its three numbers.

use super::phases::Break;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EagerLimit {
    /// Sends of `from` bytes and more wait for the receiver; those of `below` and less do not.
    Blocks {
        /// The smallest size known to block.
        from: u64,
        /// The largest size known not to block.
        below: u64,
        /// Sizes whose votes were not unanimous: the machine was noisy or the limit is a matter of credits.
        split_votes: u32,
    },
    /// Even the smallest size blocks.
    Always {
        /// That size.
        bytes: u64,
    },
    /// Not even the largest size blocks.
    Never {
        /// That size.
        bytes: u64,
    },
    /// Nothing was measured.
    Invalid,
}

impl EagerLimit {
    /// From the named numbers of the kernel `eager-limit`.
    pub fn from_results(results: &BTreeMap<String, f64>) -> EagerLimit {
        let number = |name: &str| results.get(name).filter(|x| x.is_finite() && **x >= 0.0).map(|x| *x as u64);
        match (number("passes_to_bytes"), number("blocks_from_bytes"), number("split_votes")) {
            (Some(0), Some(bytes), _) if bytes > 0 => EagerLimit::Always { bytes },
            (Some(bytes), Some(0), _) if bytes > 0 => EagerLimit::Never { bytes },
            (Some(below), Some(from), Some(votes)) if below < from => {
                EagerLimit::Blocks { from, below, split_votes: votes as u32 }
            }
            _ => EagerLimit::Invalid,
        }
    }

    /// Whether a change of protocol seen in the times is the end of eager sends: the limit lies between its two sizes.
    pub fn confirms(&self, cut: &Break) -> bool {
        matches!(*self, EagerLimit::Blocks { from, below, .. } if from > cut.after_bytes && below < cut.bytes)
    }
}

impl std::fmt::Display for EagerLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            EagerLimit::Blocks { from, below, split_votes } => {
                write!(f, "sends of {from} bytes and more wait for their receiver, those of {below} do not")?;
                match split_votes {
                    0 => Ok(()),
                    n => write!(f, " (votes on {n} sizes were split)"),
                }
            }
            EagerLimit::Always { bytes } => write!(f, "even {bytes} bytes wait for their receiver"),
            EagerLimit::Never { bytes } => write!(f, "no size up to {bytes} bytes waits for its receiver"),
            EagerLimit::Invalid => write!(f, "nothing was measured"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(passes: f64, blocks: f64, votes: f64) -> EagerLimit {
        let list = [("passes_to_bytes", passes), ("blocks_from_bytes", blocks), ("split_votes", votes)];
        EagerLimit::from_results(&list.map(|(n, v)| (n.to_string(), v)).into())
    }

    #[test]
    fn numbers_become_words() {
        assert_eq!(of(8192.0, 8196.0, 1.0), EagerLimit::Blocks { from: 8196, below: 8192, split_votes: 1 });
        assert!(of(8192.0, 8196.0, 1.0).to_string().contains("split"));
        assert_eq!(of(0.0, 64.0, 0.0), EagerLimit::Always { bytes: 64 });
        assert_eq!(of(1024.0, 0.0, 0.0), EagerLimit::Never { bytes: 1024 });
        for bad in
            [of(f64::NAN, 1.0, 0.0), of(9.0, 8.0, 0.0), of(0.0, 0.0, 0.0), EagerLimit::from_results(&BTreeMap::new())]
        {
            assert_eq!(bad, EagerLimit::Invalid);
        }
    }

    #[test]
    fn a_limit_confirms_the_cut_that_it_lies_in() {
        let cut = |after_bytes, bytes| Break { bytes, after_bytes, jumps: vec![], protocol: true };
        let limit = of(8192.0, 8196.0, 0.0);
        assert!(limit.confirms(&cut(8192, 9742)) && limit.confirms(&cut(4096, 16384)));
        assert!(!limit.confirms(&cut(512, 1024)) && !limit.confirms(&cut(9000, 10000)));
        assert!(!of(1024.0, 0.0, 0.0).confirms(&cut(512, 4096)));
    }
}
