//! Samples in a bounded space: a histogram with three significant digits that merges without loss.
//!
//! A wrapper of `hdrhistogram` that keeps one layout for every value, so that any two histograms can be added. In a record it
//! is the text of HdrHistogram's own compressed V2 format, which the tools of that family read.
//!
//! While few values differ they are kept with their counts, which takes a small part of the hundred kilobytes of a layout, and travel
//! so between ranks: to lay them out and to read the layout again is most of what merging them would cost. Where many differ ranks send
//! the bytes of HdrHistogram's format that is not compressed.

use crate::few::{DIFFERENT, Few};
use crate::metric::Metric;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::OnceLock;

/// Values closer than 64 ticks are one value: 64 ps, 64 B/s. It saves six of HdrHistogram's powers of two per histogram.
const LOWEST: u64 = 64;
/// Two hours in picoseconds; larger values are counted here.
// Of rates it is 7.2 PB/s.
const HIGHEST: u64 = 7_200_000_000_000_000;
/// Relative resolution of 0.1 %.
const DIGITS: u8 = 3;

type Layout = hdrhistogram::Histogram<u64>;

/// A distribution of values of one metric.
#[derive(Clone, Debug)]
pub struct Histogram {
    values: Values,
    /// Its text in a record, once somebody has asked for it: a record is saved after every phase, with all that came before.
    text: OnceLock<Box<str>>,
}

#[derive(Clone, Debug)]
enum Values {
    /// Lower edges of buckets.
    Few(Few),
    Many(Layout),
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::of(Values::Few(Few::default()))
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        // Not by variant: how values are kept, and in which order they came, is no part of the distribution.
        self.layout() == other.layout()
    }
}

fn empty() -> Layout {
    // The least upper bound that HdrHistogram takes: the table then grows only as far as values reach.
    let mut layout = Layout::new_with_bounds(LOWEST, 2 * LOWEST, DIGITS).expect("constant bounds are valid");
    layout.auto(true);
    layout
}

fn add(layout: &mut Layout, ticks: u64, times: u64) {
    layout.record_n(ticks, times).expect("an auto-resizing histogram takes every value up to its limit");
}

/// The lower edge of a value's bucket.
fn edge(ticks: u64) -> u64 {
    static EMPTY: OnceLock<Layout> = OnceLock::new();
    EMPTY.get_or_init(empty).lowest_equivalent(ticks)
}

/// A histogram that could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a histogram: {0}")]
pub struct HistogramError(String);

impl Histogram {
    fn of(values: Values) -> Histogram {
        Histogram { values, text: OnceLock::new() }
    }

    /// Adds a value, in base units of the metric.
    pub fn record(&mut self, metric: Metric, value: f64) {
        // NaN passes the clamp and the cast makes it 0: what is out of range is counted, not lost.
        let ticks = (value / metric.tick()).round().clamp(0.0, HIGHEST as f64) as u64;
        self.text.take();
        let room = match &mut self.values {
            Values::Few(few) => few.add(edge(ticks)),
            Values::Many(layout) => {
                add(layout, ticks, 1);
                true
            }
        };
        if !room {
            self.laid_out();
        }
    }

    /// The values in HdrHistogram's layout.
    fn layout(&self) -> Cow<'_, Layout> {
        match &self.values {
            Values::Many(layout) => Cow::Borrowed(layout),
            Values::Few(few) => {
                let mut layout = empty();
                few.iter().for_each(|(ticks, times)| add(&mut layout, ticks, times));
                Cow::Owned(layout)
            }
        }
    }

    /// The same, kept so from now on.
    fn laid_out(&mut self) -> &mut Layout {
        if matches!(self.values, Values::Few(_)) {
            self.values = Values::Many(self.layout().into_owned());
        }
        match &mut self.values {
            Values::Many(layout) => layout,
            Values::Few(_) => unreachable!("just laid out"),
        }
    }

    /// Adds all values of another.
    pub fn merge(&mut self, other: &Histogram) {
        self.text.take();
        match (&mut self.values, &other.values) {
            (Values::Few(mine), Values::Few(theirs)) => {
                if !mine.merge(theirs) {
                    self.laid_out();
                }
            }
            (Values::Many(mine), Values::Few(theirs)) => {
                theirs.iter().for_each(|(ticks, times)| add(mine, ticks, times));
            }
            (_, Values::Many(theirs)) => {
                self.laid_out().add(theirs).expect("one layout for all, resized as needed");
            }
        }
    }

    /// How many values.
    pub fn len(&self) -> u64 {
        match &self.values {
            Values::Few(few) => few.len(),
            Values::Many(layout) => layout.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value that a share `q` of all values is at or below, in base units; 0 if there are none.
    pub fn quantile(&self, metric: Metric, q: f64) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        // HdrHistogram answers with the upper edge of the value's bucket; the middle is free of bias.
        let layout = self.layout();
        let v = layout.value_at_quantile(q);
        let (low, high) = (layout.lowest_equivalent(v), layout.highest_equivalent(v));
        ((low as f64 + high as f64) / 2.0).clamp(layout.min() as f64, layout.max() as f64) * metric.tick()
    }

    /// Smallest value (to three digits), in base units.
    pub fn min(&self, metric: Metric) -> f64 {
        self.quantile(metric, 0.0)
    }

    /// Largest value (to three digits), in base units.
    pub fn max(&self, metric: Metric) -> f64 {
        self.quantile(metric, 1.0)
    }

    /// Mean of the values (to three digits), in base units.
    pub fn mean(&self, metric: Metric) -> f64 {
        if self.is_empty() { 0.0 } else { self.layout().mean() * metric.tick() }
    }

    /// The share of values above `value`.
    pub fn share_above(&self, metric: Metric, value: f64) -> f64 {
        let ticks = (value / metric.tick()).round().clamp(0.0, HIGHEST as f64) as u64;
        1.0 - self.layout().quantile_below(ticks)
    }

    /// The filled buckets in rising order: lower edge, upper edge (base units) and count.
    pub fn buckets(&self, metric: Metric) -> Vec<(f64, f64, u64)> {
        let edge = |ticks: u64| ticks as f64 * metric.tick();
        let layout = self.layout();
        layout
            .iter_recorded()
            .map(|step| {
                let v = step.value_iterated_to();
                (edge(layout.lowest_equivalent(v)), edge(layout.highest_equivalent(v) + 1), step.count_at_value())
            })
            .collect()
    }

    /// For sending between ranks: compact, not compressed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.layout(), &mut bytes).expect("writing to memory");
        bytes
    }

    /// The inverse of [`Histogram::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Histogram, HistogramError> {
        let mut inner: Layout =
            Deserializer::new().deserialize(&mut &bytes[..]).map_err(|e| HistogramError(format!("{e:?}")))?;
        // What is laid out otherwise could not be added without loss. The upper bound may differ, because it grows.
        if (inner.low(), inner.sigfig()) != (LOWEST, DIGITS) {
            return Err(HistogramError(format!(
                "resolution {} and {} digits, not {LOWEST} and {DIGITS}",
                inner.low(),
                inner.sigfig()
            )));
        }
        inner.auto(true);
        Ok(Histogram::of(Values::Many(inner)))
    }

    /// HdrHistogram's compressed format as text.
    fn encoded(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.layout(), &mut bytes).expect("writing to memory");
        STANDARD.encode(&bytes)
    }

    /// In little room again if few values differ: a record of a sweep holds thousands of histograms.
    fn compact(self) -> Histogram {
        let Values::Many(layout) = &self.values else { return self };
        let values = layout.iter_recorded().map(|v| (edge(v.value_iterated_to()), v.count_at_value()));
        let counted: Vec<(u64, u64)> = values.take(DIFFERENT + 1).collect();
        if counted.len() > DIFFERENT { self } else { Histogram::of(Values::Few(Few::of(counted))) }
    }
}

/// A histogram between ranks.
#[derive(Serialize, Deserialize)]
enum Sent<'a> {
    /// By how many resolutions each value is above the one before, and how often it came.
    Few(Vec<(u64, u64)>),
    Many(Cow<'a, [u8]>),
}

impl Sent<'_> {
    fn of(histogram: &Histogram) -> Sent<'static> {
        let counted = match &histogram.values {
            Values::Few(few) => Some(few.counted()).filter(|counted| counted.len() <= DIFFERENT),
            Values::Many(_) => None,
        };
        let Some(counted) = counted else { return Sent::Many(histogram.to_bytes().into()) };
        let mut before = 0;
        let above = |&(value, times): &(u64, u64)| ((value - std::mem::replace(&mut before, value)) / LOWEST, times);
        Sent::Few(counted.iter().map(above).collect())
    }

    fn received(self) -> Result<Histogram, HistogramError> {
        match self {
            Sent::Few(mut counted) => {
                let mut value = 0;
                for (above, _) in &mut counted {
                    value += *above * LOWEST;
                    *above = value;
                }
                Ok(Histogram::of(Values::Few(Few::of(counted))))
            }
            Sent::Many(bytes) => Histogram::from_bytes(&bytes).map(Histogram::compact),
        }
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        if !out.is_human_readable() {
            return Sent::of(self).serialize(out);
        }
        self.text.get_or_init(|| self.encoded().into()).serialize(out)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Histogram, D::Error> {
        if !input.is_human_readable() {
            return Sent::deserialize(input)?.received().map_err(serde::de::Error::custom);
        }
        let text = Cow::<'de, str>::deserialize(input)?;
        let bytes =
            STANDARD.decode(text.as_bytes()).map_err(|_| serde::de::Error::custom("a histogram is base64 text"))?;
        Histogram::from_bytes(&bytes).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Histogram {
    fn schema_name() -> Cow<'static, str> {
        "Histogram".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "contentEncoding": "base64",
            "description": "HdrHistogram, compressed V2 format; values are ticks of the job's metric (ps, B/s, ...)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const L: Metric = Metric::Latency;

    fn of(values: &[f64]) -> Histogram {
        let mut h = Histogram::default();
        values.iter().for_each(|&v| h.record(L, v));
        h
    }

    #[test]
    fn three_digits_from_100_ns_to_an_hour() {
        for exponent in -7..=3 {
            let v = 1.2345 * 10f64.powi(exponent);
            let h = of(&[v]);
            assert!((h.quantile(L, 0.5) / v - 1.0).abs() < 1e-3, "{v} {}", h.quantile(L, 0.5));
        }
    }

    #[test]
    fn out_of_range_is_counted_not_lost() {
        let h = of(&[f64::NAN, -1.0, 1e9, 1e-6]);
        assert_eq!(h.len(), 4);
        assert!(h.max(L) >= 7000.0);
    }

    #[test]
    fn few_and_many_values_are_treated_alike() {
        let values: Vec<f64> = (1..=3 * DIFFERENT).map(|i| i as f64 * 1e-7).collect();
        for n in [DIFFERENT - 1, DIFFERENT, DIFFERENT + 1, 3 * DIFFERENT] {
            let mut laid_out = Histogram::default();
            laid_out.laid_out();
            values[..n].iter().for_each(|&v| laid_out.record(L, v));
            let mut merged = of(&values[..n / 3]);
            merged.merge(&of(&values[n / 3..n]));
            for h in [of(&values[..n]), merged] {
                assert_eq!(h, laid_out, "{n}");
                assert_eq!(
                    (h.len(), h.mean(L), h.quantile(L, 0.99)),
                    (n as u64, laid_out.mean(L), laid_out.quantile(L, 0.99))
                );
                assert_eq!(Histogram::from_bytes(&h.to_bytes()).unwrap(), laid_out);
            }
        }
    }

    proptest! {
        #[test]
        fn merging_loses_nothing(a in proptest::collection::vec(1e-9..1e2f64, 0..200), b in proptest::collection::vec(1e-9..1e2f64, 0..200)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let all: Vec<f64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(merged.buckets(L), of(&all).buckets(L));
            prop_assert_eq!(merged.len() as usize, all.len());
        }

        #[test]
        fn text_and_bytes_give_it_back(a in proptest::collection::vec(1e-9..1e2f64, 0..200)) {
            let h = of(&a);
            let json = serde_json::to_string(&h).unwrap();
            let back: Histogram = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(back.buckets(L), h.buckets(L));
            prop_assert_eq!(Histogram::from_bytes(&h.to_bytes()).unwrap().buckets(L), h.buckets(L));
        }
    }

    #[test]
    fn what_is_written_follows_what_is_added() {
        let mut h = Histogram::default();
        let mut texts = Vec::new();
        for value in [1e-6, 2e-6] {
            h.record(Metric::Latency, value);
            texts.push(serde_json::to_string(&h).unwrap());
        }
        h.merge(&h.clone());
        texts.push(serde_json::to_string(&h).unwrap());
        let lengths = texts.iter().map(|t| serde_json::from_str::<Histogram>(t).unwrap().len());
        assert_eq!(lengths.collect::<Vec<_>>(), [1, 2, 4]);
    }

    #[test]
    fn foreign_text_is_refused() {
        for text in ["\"\"", "\"!!\"", "\"AAAA\"", "7"] {
            assert!(serde_json::from_str::<Histogram>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn few_values_take_little_room_after_their_way_and_are_the_same() {
        for n in [1, 7, DIFFERENT, DIFFERENT + 1] {
            let mut sent = Histogram::default();
            (0..n).for_each(|i| sent.record(Metric::Latency, 1e-6 * 1.002f64.powi((i * 7 % n) as i32)));
            let bytes = postcard::to_allocvec(&sent).unwrap();
            let came: Histogram = postcard::from_bytes(&bytes).unwrap();
            assert_eq!(came, sent);
            assert_eq!(matches!(came.values, Values::Few(_)), n <= DIFFERENT, "{n}");
            for q in [0.0, 0.3, 0.99, 1.0] {
                assert_eq!(came.quantile(Metric::Latency, q), sent.quantile(Metric::Latency, q), "{n} {q}");
            }
            assert_eq!(came.mean(Metric::Latency), sent.mean(Metric::Latency));
        }
    }
}
