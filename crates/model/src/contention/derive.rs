//! The inverse: penalties from measurements.
//!
//! From completion times, as the paper does: after the first flow has ended the others are a smaller graph, whose own
//! penalties are known from measuring that graph by itself. With tau_j the time of the j-th end,
//! later_i = sum over j >= 2 of (tau_j - tau_{j-1}) / (alpha rho_{i,j}) bytes are sent after the first step, and
//! rho_{i,1} = tau_1 / (alpha (m - later_i)). Index slips of the printed formulas are corrected here.
//!
//! From steady rates, which is better: rho = rate alone / rate, without recursion and without amplified errors.

use super::canonical::{canonical, components};
use super::graph::Graph;
use crate::numeric::stats::{deviation, mean, median};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// How to derive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeriveSettings {
    /// Seconds per byte of a flow alone.
    pub alpha: f64,
    /// Which ends are one step.
    pub tie: Tie,
    /// A flow of which less than this share was sent in the first step gets no penalty: its error is amplified too much.
    pub least_share: f64,
    /// Whether a graph that was not measured may be put together from its components, as if they did not meet.
    pub split: bool,
}

impl DeriveSettings {
    /// Ties as wide as the noise, at least a tenth in the first step.
    pub fn new(alpha: f64) -> DeriveSettings {
        // A tenth sent first amplifies an error of the time tenfold.
        DeriveSettings { alpha, tie: Tie::Noise, least_share: 0.1, split: false }
    }
}

/// How close two ends must be to be one step: noise reorders near ties, and a step that only noise made is taken for a
/// sub-graph that never was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Tie {
    /// As close as the scatter of the repetitions makes equal ends: three standard errors of the difference of two.
    #[default]
    Noise,
    /// Closer than this share.
    Share(f64),
}

/// Standard errors of a difference that equal ends seldom exceed.
const SURE: f64 = 3.0;
/// Ends closer than this are one step even without noise, and where one repetition does not show the noise: one step is
/// latency and rounding, too.
// Within the 1 to 2 % of specification B5.
const LEAST_TIE: f64 = 0.015;

impl Tie {
    /// The share. The errors of all ends of a graph are pooled: one of five repetitions is itself known to a third only.
    fn share(self, timed: &[Timed]) -> f64 {
        match self {
            Tie::Share(share) => share,
            Tie::Noise => {
                let squares: Vec<f64> = timed.iter().filter_map(|t| t.1).map(|e| e * e).collect();
                // The difference of two ends has twice the variance of one.
                let difference = (2.0 * mean(&squares).unwrap_or(0.0)).sqrt();
                (SURE * difference).max(LEAST_TIE)
            }
        }
    }
}

/// A derived penalty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Derived {
    /// The penalty with all flows under way; none if too little of the flow was sent then.
    pub penalty: Option<f64>,
    /// Its relative standard error from the scatter of the repetitions; none if one repetition shows no scatter.
    pub error: Option<f64>,
    /// By how much an error of the completion time is amplified: m / (bytes sent in the first step).
    pub amplification: f64,
}

/// Why nothing was derived.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DeriveError {
    /// A graph must be measured first.
    #[error("the sub-graph `{}` has not been measured", super::parse::write(.0).trim().replace('\n', "; "))]
    Missing(Box<Graph>),
    /// The procedure needs equal flows that start together.
    #[error("flow `{0}` differs in size or start; completion times are inverted for equal flows that start together")]
    Unequal(String),
    /// Times that are none.
    #[error("flow `{0}`: completion times must be finite and above zero, at least one per flow")]
    Times(String),
    /// The number of lists does not fit.
    #[error("{found} lists of times for {flows} flows")]
    Count {
        /// Lists.
        found: usize,
        /// Flows.
        flows: usize,
    },
    /// The graph is none.
    #[error("{0}")]
    Graph(String),
    /// Alpha is not a time per byte.
    #[error("alpha = {0} s/B: measure the flow alone first")]
    Alpha(f64),
    /// The graph has no canonical form to remember it by.
    #[error("a graph of {0} flows is too large or too symmetric to be remembered; derive from steady rates instead")]
    Form(usize),
}

/// Completion times that were measured, found again for any graph of the same form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Store {
    /// For each canonical key the times of each flow in canonical order.
    times: BTreeMap<String, Vec<Vec<f64>>>,
}

impl Store {
    /// Remembers the times of a graph: for each flow its repetitions in seconds since the common start.
    pub fn insert(&mut self, graph: &Graph, times: &[Vec<f64>]) -> Result<(), DeriveError> {
        let flows = graph.flows.len();
        if times.len() != flows {
            return Err(DeriveError::Count { found: times.len(), flows });
        }
        let bad = |t: &Vec<f64>| t.is_empty() || t.iter().any(|x| !(x.is_finite() && *x > 0.0));
        if let Some(i) = times.iter().position(bad) {
            return Err(DeriveError::Times(graph.flows[i].name.clone()));
        }
        let form = canonical(&graph.edges()).ok_or(DeriveError::Form(flows))?;
        self.times.insert(form.key, form.order.iter().map(|&e| times[e].clone()).collect());
        Ok(())
    }
}

/// Derives the penalties of a graph from the times in a store. [`DeriveError::Missing`] names the next graph to measure; put it
/// into the store and ask again. There are at most as many as steps.
pub fn from_times(graph: &Graph, store: &Store, settings: &DeriveSettings) -> Result<Vec<Derived>, DeriveError> {
    if !(settings.alpha.is_finite() && settings.alpha > 0.0) {
        return Err(DeriveError::Alpha(settings.alpha));
    }
    graph.check().map_err(|e| DeriveError::Graph(e.1.to_string()))?;
    let bytes = graph.flows[0].bytes;
    let unequal = |f: &&super::graph::Flow| f.bytes != bytes || f.start != 0.0 || f.after.is_some() || bytes <= 0.0;
    if let Some(flow) = graph.flows.iter().find(unequal) {
        return Err(DeriveError::Unequal(flow.name.clone()));
    }
    Inverse { store, settings, memo: BTreeMap::new() }.penalties(graph, bytes)
}

struct Inverse<'a> {
    store: &'a Store,
    settings: &'a DeriveSettings,
    memo: BTreeMap<String, Vec<Derived>>,
}

/// A flow's completion time and its relative standard error, which one repetition does not show.
type Timed = (f64, Option<f64>);

impl Inverse<'_> {
    fn penalties(&mut self, graph: &Graph, bytes: f64) -> Result<Vec<Derived>, DeriveError> {
        let form = canonical(&graph.edges()).ok_or(DeriveError::Form(graph.flows.len()))?;
        // A graph that was measured whole comes first: its parts may hinder each other after all.
        if self.settings.split && !self.store.times.contains_key(&form.key) {
            let parts = components(&graph.edges());
            if parts.len() > 1 {
                return self.by_parts(graph, &parts, bytes);
            }
        }
        let ordered = match self.memo.get(&form.key) {
            Some(known) => known.clone(),
            None => {
                let times =
                    self.store.times.get(&form.key).ok_or_else(|| DeriveError::Missing(Box::new(graph.clone())))?;
                let timed: Vec<Timed> = times.iter().map(|t| locate(t)).collect();
                let found = self.first_step(&graph.part(&form.order), &timed, bytes)?;
                self.memo.insert(form.key.clone(), found.clone());
                found
            }
        };
        let mut derived = ordered.clone();
        form.order.iter().zip(ordered).for_each(|(&e, d)| derived[e] = d);
        Ok(derived)
    }

    fn by_parts(&mut self, graph: &Graph, parts: &[Vec<usize>], bytes: f64) -> Result<Vec<Derived>, DeriveError> {
        let mut derived = vec![Derived { penalty: None, error: None, amplification: 1.0 }; graph.flows.len()];
        for part in parts {
            let found = self.penalties(&graph.part(part), bytes)?;
            part.iter().zip(found).for_each(|(&f, d)| derived[f] = d);
        }
        Ok(derived)
    }

    /// The penalties of the first step of a graph whose times are known, flows in the order of the times.
    fn first_step(&mut self, graph: &Graph, timed: &[Timed], bytes: f64) -> Result<Vec<Derived>, DeriveError> {
        let (steps, ends) = group(timed, self.settings.tie.share(timed));
        let alpha = self.settings.alpha;
        let mut later = vec![0.0; timed.len()];
        // Squared absolute error, in bytes, of what was sent later; none once a nested error is unknown.
        let mut spread: Vec<Option<f64>> = vec![Some(0.0); timed.len()];
        let mut known = vec![true; timed.len()];
        for j in 1..ends.len() {
            let active: Vec<usize> = (0..timed.len()).filter(|&i| steps[i] >= j).collect();
            let nested = self.penalties(&graph.part(&active), bytes)?;
            for (&i, d) in active.iter().zip(&nested) {
                let sent = d.penalty.map(|rho| (ends[j] - ends[j - 1]) / (alpha * rho));
                known[i] &= sent.is_some();
                later[i] += sent.unwrap_or(0.0);
                let error = sent.zip(d.error).map(|(sent, error)| sent * error);
                spread[i] = spread[i].zip(error).map(|(sum, error)| sum + error * error);
            }
        }
        let one = |i: usize| {
            let first = bytes - later[i];
            let amplification = if first > 0.0 { bytes / first } else { f64::MAX };
            if !known[i] || first < self.settings.least_share * bytes {
                return Derived { penalty: None, error: None, amplification };
            }
            let own = timed[i].1.map(|error| amplification * error);
            let nested = spread[i].map(|sum| sum.sqrt() / first);
            let error = own.zip(nested).map(|(own, nested)| own.hypot(nested));
            Derived { penalty: Some(ends[0] / (alpha * first)), error, amplification }
        };
        Ok((0..timed.len()).map(one).collect())
    }
}

/// Median and its relative standard error, 1.2533 sigma/sqrt(n) for normal noise.
fn locate(times: &[f64]) -> Timed {
    let middle = median(times).unwrap_or(0.0);
    // 1.2533 is the root of pi / 2.
    let error = || 1.2533 * deviation(times) / (times.len() as f64).sqrt() / middle;
    (middle, (times.len() > 1).then(error))
}

/// Groups ends that are closer than a tie: for each flow its step, and the mean end of each step.
fn group(timed: &[Timed], tie: f64) -> (Vec<usize>, Vec<f64>) {
    let mut order: Vec<usize> = (0..timed.len()).collect();
    order.sort_by(|&a, &b| timed[a].0.total_cmp(&timed[b].0));
    let (mut steps, mut groups): (Vec<usize>, Vec<Vec<f64>>) = (vec![0; timed.len()], Vec::new());
    for i in order {
        let time = timed[i].0;
        // Compared with the first of its group, so that a chain of near ties does not grow into one step.
        match groups.last_mut() {
            Some(g) if time <= g[0] * (1.0 + tie) => g.push(time),
            _ => groups.push(vec![time]),
        }
        steps[i] = groups.len() - 1;
    }
    (steps, groups.iter().map(|g| g.iter().sum::<f64>() / g.len() as f64).collect())
}

/// Penalties from steady rates in bytes per second: for each flow its repetitions, and those of a flow alone. Errors are
/// relative standard errors of both medians together.
pub fn from_rates(alone: &[f64], rates: &[Vec<f64>]) -> Result<Vec<Derived>, DeriveError> {
    let good = |r: &[f64]| !r.is_empty() && r.iter().all(|x| x.is_finite() && *x > 0.0);
    if !good(alone) {
        return Err(DeriveError::Times("alone".into()));
    }
    if let Some(i) = rates.iter().position(|r| !good(r)) {
        return Err(DeriveError::Times(super::graph::letters(i)));
    }
    let (reference, reference_error) = locate(alone);
    let one = |r: &Vec<f64>| {
        let (rate, error) = locate(r);
        let error = error.zip(reference_error).map(|(error, reference)| error.hypot(reference));
        Derived { penalty: Some(reference / rate), error, amplification: 1.0 }
    };
    Ok(rates.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::super::published::{self, T_REF};
    use super::super::rules::{evaluate, start};
    use super::super::solver::{Options, solve};
    use super::*;
    use crate::numeric::stats::normal;
    use spec::{Params, Rng};

    /// Measures by the solver what the procedure asks for, with noise; returns the penalties and how much was measured.
    fn drive(name: &str, noise: f64, repeats: usize, seed: u64) -> (Vec<Derived>, usize) {
        let graph = published::find(name).unwrap();
        let rules = start("paper", &Params::new()).unwrap();
        let alpha = T_REF / graph.flows[0].bytes;
        let mut rng = Rng::new(seed, "derive", 0);
        let mut store = Store::default();
        let settings = DeriveSettings::new(alpha);
        loop {
            match from_times(&graph, &store, &settings) {
                Err(DeriveError::Missing(sub)) => {
                    let ends = solve(&sub, &*rules, &Options { alpha, ..Options::rate(1.0) }).unwrap().end_s;
                    let mut repeat = |t: &f64| (0..repeats).map(|_| t * (1.0 + noise * normal(&mut rng))).collect();
                    let times: Vec<Vec<f64>> = ends.iter().map(&mut repeat).collect();
                    store.insert(&sub, &times).unwrap();
                }
                other => return (other.unwrap(), store.times.len()),
            }
        }
    }

    #[test]
    fn exact_on_noise_free_data() {
        let rules = start("paper", &Params::new()).unwrap();
        for (name, measured) in [("fig3", 3), ("fig4a", 3), ("fig4b", 2), ("g1", 1), ("g4", 2)] {
            let (derived, graphs) = drive(name, 0.0, 1, 1);
            let truth = evaluate(&*rules, &published::find(name).unwrap()).unwrap();
            for (d, t) in derived.iter().zip(truth) {
                assert!((d.penalty.unwrap() / t - 1.0).abs() < 1e-9, "{name} {derived:?}");
                assert_eq!(d.error, None, "one repetition shows no scatter");
            }
            assert_eq!(graphs, measured, "{name}");
        }
    }

    #[test]
    fn error_bars_are_of_the_size_of_the_errors() {
        let truth = [3.5, 3.5, 3.5, 10.0 / 3.0, 10.0 / 3.0, 1.5];
        let (mut squares, mut bars, runs) = ([0.0; 6], [0.0; 6], 60);
        for seed in 0..runs {
            for (i, d) in drive("fig3", 0.02, 5, seed).0.iter().enumerate() {
                squares[i] += (d.penalty.unwrap() / truth[i] - 1.0f64).powi(2) / runs as f64;
                bars[i] += d.error.unwrap() / runs as f64;
            }
        }
        let scatter = squares.map(f64::sqrt);
        // The first to end is known to about 1 %, the last ones to several (specification B5).
        assert!(scatter[5] < 0.015 && scatter[0] > 0.015 && scatter[0] < 0.07, "{scatter:?}");
        for (s, b) in scatter.iter().zip(bars) {
            assert!(b > 0.3 * s && b < 3.0 * s, "{scatter:?} {bars:?}");
        }
    }

    #[test]
    fn a_tie_follows_the_scatter_unless_it_is_given() {
        let quiet = [(1.0, Some(0.0)), (1.02, Some(0.0))];
        let noisy = [(1.0, Some(0.01)), (1.02, Some(0.01))];
        let once = [(1.0, None), (1.02, None)];
        let steps = |timed: &[Timed], tie: Tie| group(timed, tie.share(timed)).1.len();
        assert_eq!([&quiet, &noisy, &once].map(|t| steps(t, Tie::Noise)), [2, 1, 2]);
        assert_eq!([&quiet, &noisy, &once].map(|t| steps(t, Tie::Share(0.03))), [1, 1, 1]);
    }

    #[test]
    fn rates_give_penalties_directly() {
        let d = from_rates(&[100.0, 102.0, 98.0], &[vec![50.0], vec![25.0, 25.0]]).unwrap();
        assert_eq!((d[0].penalty, d[1].penalty, d[0].amplification), (Some(2.0), Some(4.0), 1.0));
        assert!(d[0].error.is_none() && d[1].error.is_some_and(|e| e > 0.0), "{d:?}");
        assert!(from_rates(&[], &[]).is_err() && from_rates(&[1.0], &[vec![f64::NAN]]).is_err());
    }

    #[test]
    fn bad_input_is_named() {
        let graph = published::find("g1").unwrap();
        let mut store = Store::default();
        assert!(store.insert(&graph, &[vec![1.0]]).is_err());
        assert!(store.insert(&graph, &[vec![1.0], vec![], vec![1.0]]).is_err());
        assert!(matches!(from_times(&graph, &store, &DeriveSettings::new(f64::NAN)), Err(DeriveError::Alpha(_))));
        let e = from_times(&graph, &store, &DeriveSettings::new(1.0)).unwrap_err().to_string();
        assert!(e.contains("a -> b") && e.contains("; "), "{e}");
        let mut late = graph.clone();
        late.flows[1].start = 1.0;
        assert!(matches!(from_times(&late, &store, &DeriveSettings::new(1.0)), Err(DeriveError::Unequal(_))));
    }
}
