//! What a simulated network did while phases ran: the boxes and cables of its picture, and slices of time.
//!
//! Cables that join the same two boxes one way are one bundle, so a network of any size has a picture and a record of bounded size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The network of a simulated run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkRecord {
    /// Width and height of the space in which the boxes lie.
    pub size: (f64, f64),
    /// Whether a box is a whole group of switches; else it is one switch.
    pub grouped: bool,
    /// What is drawn as one box.
    pub boxes: Vec<BoxRecord>,
    /// When the slices were, in the order of time.
    pub slices: Vec<SliceRecord>,
    /// Bundles of cables: those that stalled longest, then those that sent most.
    pub bundles: Vec<BundleRecord>,
    /// Boxes that only cables join which did nothing, or less than all above: their numbers in pairs.
    #[serde(default, skip_serializing_if = "Series::is_empty")]
    pub others: Series,
}

impl NetworkRecord {
    /// The same as one slice: what a whole phase did.
    pub fn still(mut self) -> NetworkRecord {
        if let (Some(first), Some(last)) = (self.slices.first(), self.slices.last()) {
            self.slices = vec![SliceRecord { phase: first.phase.clone(), from_s: first.from_s, to_s: last.to_s }];
        }
        for series in self.bundles.iter_mut().flat_map(BundleRecord::series) {
            *series = vec![series.iter().sum()];
        }
        self
    }

    /// The same network in another simulation, shown behind this one.
    pub fn then(&mut self, next: NetworkRecord) {
        let (before, all) = (self.slices.len(), self.slices.len() + next.slices.len());
        let begin = self.slices.last().map_or(0.0, |s| s.to_s);
        let later = |s: SliceRecord| SliceRecord { from_s: begin + s.from_s, to_s: begin + s.to_s, ..s };
        self.slices.extend(next.slices.into_iter().map(later));
        self.bundles.iter_mut().flat_map(BundleRecord::series).for_each(|s| s.resize(all, 0));
        for mut bundle in next.bundles {
            for series in bundle.series() {
                series.splice(0..0, std::iter::repeat_n(0, before));
                series.resize(all, 0);
            }
            match self.bundles.iter_mut().find(|b| b.joins(&bundle)) {
                Some(same) => same.add(&mut bundle),
                None => self.bundles.push(bundle),
            }
        }
        self.bundles.sort_by_key(|b| std::cmp::Reverse((b.stalled_ns.sum(), b.bytes.sum())));
        let pairs = |series: &Series| series.0.chunks_exact(2).map(|p| (p[0], p[1])).collect::<Vec<_>>();
        let mut others = [pairs(&self.others), pairs(&next.others)].concat();
        others.sort_unstable();
        others.dedup();
        // What did nothing in one simulation may have carried something in another.
        let ends = |b: &BundleRecord| (u64::from(b.from.min(b.to)), u64::from(b.from.max(b.to)));
        others.retain(|&(a, b)| !self.bundles.iter().any(|bundle| ends(bundle) == (a.min(b), a.max(b))));
        self.others = Series(others.into_iter().flat_map(|(a, b)| [a, b]).collect());
    }
}

/// A switch, or a group of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxRecord {
    /// `switch 3`, `group 7`.
    pub name: String,
    /// Its middle.
    pub x: f64,
    /// Its middle.
    pub y: f64,
    /// Cables to the nearest switch with NICs.
    pub level: u32,
    /// Switches in it.
    pub switches: u32,
    /// NICs attached to them.
    pub nics: u32,
}

/// A slice of virtual time inside a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SliceRecord {
    /// The phase, or the first and the last where a slice holds several.
    pub phase: String,
    /// From when, in seconds of virtual time.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
}

/// Cables of one kind that lead from one box to another, one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BundleRecord {
    /// The box they leave, by number.
    pub from: u32,
    /// The box they reach; the same for cables inside a group and for those of NICs.
    pub to: u32,
    /// `inject` (from NICs), `eject` (to NICs), or the kind of cable.
    pub kind: String,
    /// How many.
    pub cables: u32,
    /// What all of them together carry, in bytes per second.
    pub rate_bytes_per_s: f64,
    /// Bytes sent, headers included, in each slice.
    pub bytes: Series,
    /// Nanoseconds in which packets waited for room beyond a free cable, summed over the cables, in each slice.
    pub stalled_ns: Series,
}

impl BundleRecord {
    fn joins(&self, other: &BundleRecord) -> bool {
        (self.from, self.to, &self.kind) == (other.from, other.to, &other.kind)
    }

    fn series(&mut self) -> [&mut Vec<u64>; 2] {
        [&mut self.bytes.0, &mut self.stalled_ns.0]
    }

    fn add(&mut self, other: &mut BundleRecord) {
        for (mine, theirs) in self.series().into_iter().zip(other.series()) {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += *b);
        }
    }
}

/// Numbers, mostly one per slice. In a file they stand in one text, separated by spaces: an array would take a line for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series(pub Vec<u64>);

impl Series {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sum over all slices.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The value of a slice, 0 where there is none.
    pub fn at(&self, slice: usize) -> u64 {
        self.0.get(slice).copied().unwrap_or(0)
    }
}

impl Serialize for Series {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        out.serialize_str(&numbers.join(" "))
    }
}

impl<'de> Deserialize<'de> for Series {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Series, D::Error> {
        let text = String::deserialize(input)?;
        let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        numbers.map(Series).map_err(|e| serde::de::Error::custom(format!("a series is numbers and spaces: {e}")))
    }
}

impl JsonSchema for Series {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Series".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^([0-9]+( [0-9]+)*)?$",
            "description": "Numbers, mostly one per slice, separated by spaces."
        })
    }
}

impl NetworkRecord {
    /// A bundle in words.
    pub fn name(&self, bundle: &BundleRecord) -> String {
        let name = |b: u32| self.boxes.get(b as usize).map_or("?", |b| b.name.as_str());
        match bundle.kind.as_str() {
            "inject" => format!("NICs of {}", name(bundle.from)),
            "eject" => format!("{} to its NICs", name(bundle.from)),
            kind if bundle.from == bundle.to => format!("inside {} ({kind})", name(bundle.from)),
            kind => format!("{} to {} ({kind})", name(bundle.from), name(bundle.to)),
        }
    }

    /// The first slice in which a bundle stalled most.
    pub fn worst_slice(&self, bundle: &BundleRecord) -> usize {
        let share = |i: usize| bundle.stalled(&self.slices, i);
        // `max_by` returns the last of equals; the reversed index makes it the first.
        (0..self.slices.len()).max_by(|&a, &b| share(a).total_cmp(&share(b)).then(b.cmp(&a))).unwrap_or(0)
    }
}

impl BundleRecord {
    /// The share of a slice in which its cables stalled, from 0 to 1.
    pub fn stalled(&self, slices: &[SliceRecord], slice: usize) -> f64 {
        share(self.stalled_ns.at(slice), self.cables, slices.get(slice).map_or(0.0, |s| s.to_s - s.from_s))
    }

    /// The share of all slices in which its cables stalled, from 0 to 1.
    pub fn stalled_in_all(&self, slices: &[SliceRecord]) -> f64 {
        share(self.stalled_ns.sum(), self.cables, slices.iter().map(|s| s.to_s - s.from_s).sum())
    }
}

/// A stall begins and ends within the simulator's look-ahead of a slice's ends, so a share may come out a little too large.
fn share(stalled_ns: u64, cables: u32, seconds: f64) -> f64 {
    let possible = f64::from(cables) * seconds * 1e9;
    if possible > 0.0 { (stalled_ns as f64 / possible).min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_one_line_and_comes_back() {
        for numbers in [vec![], vec![0], vec![1, 0, u64::MAX]] {
            let text = serde_json::to_string(&Series(numbers.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Series>(&text).unwrap().0, numbers);
        }
        assert_eq!(serde_json::to_string(&Series(vec![1, 20])).unwrap(), "\"1 20\"");
        assert!(serde_json::from_str::<Series>("\"1 x\"").is_err());
    }

    #[test]
    fn shares_are_of_all_cables_and_never_more_than_the_whole() {
        let slices = [(0.0, 1e-6), (1e-6, 3e-6)].map(|(from_s, to_s)| SliceRecord { phase: "p".into(), from_s, to_s });
        let mut bundle = BundleRecord {
            from: 0,
            to: 1,
            kind: "up".into(),
            cables: 2,
            rate_bytes_per_s: 1e9,
            bytes: Series::default(),
            stalled_ns: Series(vec![1000, 1000]),
        };
        assert!((bundle.stalled(&slices, 0) - 0.5).abs() < 1e-9 && (bundle.stalled(&slices, 1) - 0.25).abs() < 1e-9);
        assert!((bundle.stalled_in_all(&slices) - 1.0 / 3.0).abs() < 1e-9);
        bundle.stalled_ns = Series(vec![2010]);
        assert_eq!((bundle.stalled(&slices, 0), bundle.stalled(&slices, 7)), (1.0, 0.0));
    }

    /// Two simulations of one network: cables are matched by their ends, and those that only one of them shows have been idle in the other.
    #[test]
    fn simulations_follow_each_other_in_one_film() {
        let bundle = |from, to, bytes: &[u64], stalled: &[u64]| BundleRecord {
            from,
            to,
            kind: "up".into(),
            cables: 1,
            rate_bytes_per_s: 1e9,
            bytes: Series(bytes.to_vec()),
            stalled_ns: Series(stalled.to_vec()),
        };
        let film = |phase: &str, bundles: Vec<BundleRecord>, others: &[u64]| NetworkRecord {
            size: (1.0, 1.0),
            grouped: false,
            boxes: Vec::new(),
            slices: [(0.0, 1.0), (1.0, 2.0)]
                .map(|(from_s, to_s)| SliceRecord { phase: phase.into(), from_s, to_s })
                .into(),
            bundles,
            others: Series(others.to_vec()),
        };
        let mut all = film("a", vec![bundle(0, 1, &[5, 6], &[0, 0])], &[0, 2, 3, 4]).still();
        all.then(film("b", vec![bundle(2, 0, &[1, 2], &[3, 4]), bundle(0, 1, &[7, 0], &[0, 0])], &[3, 4]).still());
        let slices: Vec<_> = all.slices.iter().map(|s| (s.phase.as_str(), s.from_s, s.to_s)).collect();
        assert_eq!(slices, [("a", 0.0, 2.0), ("b", 2.0, 4.0)]);
        assert_eq!(all.bundles, [bundle(2, 0, &[0, 3], &[0, 7]), bundle(0, 1, &[11, 7], &[0, 0])]);
        assert_eq!(all.others.0, [3, 4], "what moved something is no idle cable");
    }
}
