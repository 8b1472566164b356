//! Whether the data that arrived were the data that were sent. A wrong result is data, not an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome of checking results, from best to worst.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Verdict {
    /// So many values were checked and all were right.
    Right {
        /// Values checked.
        checked: u64,
    },
    /// Nothing was checked, and why.
    Unchecked {
        /// Why not.
        reason: String,
    },
    /// Some were wrong.
    Wrong {
        /// Values checked.
        checked: u64,
        /// Values that were wrong.
        wrong: u64,
        /// The first wrong one, in words.
        first: String,
    },
}

impl Verdict {
    /// Whether wrong data were seen.
    pub fn is_wrong(&self) -> bool {
        matches!(self, Verdict::Wrong { .. })
    }

    /// Both outcomes together: counts add up, and wrong beats right beats unchecked.
    pub fn and(self, other: Verdict) -> Verdict {
        use Verdict::*;
        match (self, other) {
            (Right { checked: a }, Right { checked: b }) => Right { checked: a + b },
            (Unchecked { .. }, decided @ (Right { .. } | Wrong { .. })) => decided,
            (decided, Unchecked { .. }) => decided,
            (Wrong { checked, wrong, first }, Right { checked: more })
            | (Right { checked: more }, Wrong { checked, wrong, first }) => {
                Wrong { checked: checked + more, wrong, first }
            }
            (Wrong { checked: a, wrong: v, first }, Wrong { checked: b, wrong: w, .. }) => {
                Wrong { checked: a + b, wrong: v + w, first }
            }
        }
    }
}

/// How much of what arrived in messages was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// Messages that arrived, warm-ups among them.
    pub messages: u64,
    /// Messages of which every byte was compared.
    pub whole: u64,
    /// Bytes of all messages.
    pub bytes: u64,
    /// Bytes that were compared.
    pub seen_bytes: u64,
}

impl std::ops::AddAssign for Coverage {
    fn add_assign(&mut self, more: Coverage) {
        self.messages += more.messages;
        self.whole += more.whole;
        self.bytes += more.bytes;
        self.seen_bytes += more.seen_bytes;
    }
}

impl Coverage {
    /// Both together, where either is known.
    pub fn both(mine: Option<Coverage>, theirs: Option<Coverage>) -> Option<Coverage> {
        match (mine, theirs) {
            (Some(mut all), Some(more)) => {
                all += more;
                Some(all)
            }
            (mine, theirs) => mine.or(theirs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_beats_right_beats_unchecked() {
        let right = Verdict::Right { checked: 3 };
        let unchecked = Verdict::Unchecked { reason: "lengths only".into() };
        let wrong = Verdict::Wrong { checked: 2, wrong: 1, first: "byte 0".into() };
        assert_eq!(right.clone().and(unchecked.clone()), right);
        assert_eq!(unchecked.clone().and(right.clone()), right);
        assert_eq!(right.clone().and(wrong.clone()), Verdict::Wrong { checked: 5, wrong: 1, first: "byte 0".into() });
        assert!(unchecked.and(wrong).is_wrong());
    }
}
