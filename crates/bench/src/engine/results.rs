//! The named numbers of a job, merged over its ranks.

use crate::kernel::{Merge, NamedNumber};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Numbers by name; a mean is kept as a sum and a count until the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Results(BTreeMap<String, (Merge, f64, f64)>);

impl Results {
    /// One rank's numbers.
    pub fn new(numbers: Vec<NamedNumber>) -> Results {
        Results(numbers.into_iter().map(|n| (n.name, (n.merge, n.value, 1.0))).collect())
    }

    /// Adds those of ranks above.
    pub fn merge(&mut self, other: Results) {
        for (name, (how, value, count)) in other.0 {
            let Some(mine) = self.0.get_mut(&name) else {
                self.0.insert(name, (how, value, count));
                continue;
            };
            mine.1 = match how {
                Merge::First => mine.1,
                Merge::Min => mine.1.min(value),
                Merge::Max => mine.1.max(value),
                Merge::Sum | Merge::Mean => mine.1 + value,
            };
            mine.2 += count;
        }
    }

    /// What the record holds. JSON has no infinities, so a number that is none is left out.
    pub fn finish(self) -> BTreeMap<String, f64> {
        let value = |(how, value, count): (Merge, f64, f64)| if how == Merge::Mean { value / count } else { value };
        self.0.into_iter().map(|(name, x)| (name, value(x))).filter(|(_, x)| x.is_finite()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::{decode, encode};
    use super::*;

    const MERGES: [Merge; 5] = [Merge::First, Merge::Min, Merge::Max, Merge::Sum, Merge::Mean];

    #[test]
    fn ranks_merge_by_their_tags_after_a_journey() {
        let rank = |x: f64| {
            Results::new(MERGES.iter().map(|m| NamedNumber::new(&format!("{m:?}"), x, *m)).collect::<Vec<_>>())
        };
        let mut all = decode::<Results>(&encode(&rank(2.0)));
        all.merge(decode(&encode(&rank(5.0))));
        all.merge(rank(-1.0));
        all.merge(Results::new(vec![NamedNumber::same("late", 7.0), NamedNumber::same("none", f64::NAN)]));
        let got = all.finish();
        let want = [("First", 2.0), ("Max", 5.0), ("Mean", 2.0), ("Min", -1.0), ("Sum", 6.0), ("late", 7.0)];
        assert_eq!(got, want.iter().map(|(n, x)| (n.to_string(), *x)).collect());
    }
}
