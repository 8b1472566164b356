//! How far the counters of one phase are from those of another.

use record::PhaseRecord;

/// What a search aims at: counters of a recorded phase as distributions over nodes, per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Target(Vec<Aim>);

/// One counter of it.
#[derive(Clone, Debug, PartialEq)]
struct Aim {
    /// Its name in the phases that are compared with the target.
    ours: String,
    /// One value per node, rising.
    rates: Vec<f64>,
}

impl Target {
    /// Counters by their name in the recorded phase and their name here. The error names a counter that did not move there.
    pub fn new(phase: &PhaseRecord, counters: &[(String, String)]) -> Result<Target, String> {
        let aim = |(theirs, ours): &(String, String)| match rates(phase, theirs) {
            rates if rates.iter().any(|x| *x > 0.0) => Ok(Aim { ours: ours.clone(), rates }),
            _ => Err(theirs.clone()),
        };
        counters.iter().map(aim).collect::<Result<_, _>>().map(Target)
    }

    /// Whether a phase holds any of the counters.
    pub fn is_counted_in(&self, phase: &PhaseRecord) -> bool {
        self.0.iter().any(|aim| phase.counters.iter().any(|c| c.name == aim.ours))
    }

    /// The mean over counters of the Wasserstein-1 distance between rates of nodes, as a share of the target's mean rate. 0 is the
    /// same distribution; 1 is as far as no traffic at all. It is in units of the counter and sees how far apart values are, where
    /// a Kolmogorov-Smirnov distance would be 1 for any two distributions that do not overlap and give a search no direction.
    pub fn distance(&self, phase: &PhaseRecord) -> f64 {
        let relative = |aim: &Aim| {
            let mean = aim.rates.iter().sum::<f64>() / aim.rates.len() as f64;
            // A counter that no node saw move is not in a record.
            let here = match rates(phase, &aim.ours) {
                rates if rates.is_empty() => vec![0.0],
                rates => rates,
            };
            wasserstein(&aim.rates, &here) / mean
        };
        self.0.iter().map(relative).sum::<f64>() / self.0.len() as f64
    }
}

/// A counter's growth per second on every node, whatever job it ran, rising.
fn rates(phase: &PhaseRecord, name: &str) -> Vec<f64> {
    let of_name = phase.counters.iter().filter(|c| c.name == name);
    let mut rates: Vec<f64> = of_name.flat_map(|c| &c.per_node).map(|x| *x as f64 / phase.elapsed_s).collect();
    rates.sort_by(f64::total_cmp);
    rates
}

/// The Wasserstein-1 distance of two samples in rising order: the area between their quantile functions, which are steps of width
/// 1/n and 1/m.
fn wasserstein(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len(), b.len());
    let (mut i, mut j, mut at, mut area) = (0, 0, 0, 0.0);
    while i < n && j < m {
        // In units of 1/(n m): the next step of either.
        let next = ((i + 1) * m).min((j + 1) * n);
        area += (next - at) as f64 * (a[i] - b[j]).abs();
        at = next;
        i += usize::from(next == (i + 1) * m);
        j += usize::from(next == (j + 1) * n);
    }
    area / (n * m) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::CounterRecord;

    #[test]
    fn distances_known_by_hand() {
        assert_eq!(wasserstein(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), 0.0);
        assert_eq!(wasserstein(&[0.0, 1.0], &[5.0, 6.0]), 5.0);
        // Quantiles: [0,0,0,6,6,6] against [3,3,3,3,3,3] and [0,0,3,3,6,6].
        assert_eq!(wasserstein(&[0.0, 6.0], &[3.0]), 3.0);
        assert_eq!(wasserstein(&[0.0, 6.0], &[0.0, 3.0, 6.0]), 1.0);
        assert_eq!(wasserstein(&[0.0, 3.0, 6.0], &[0.0, 6.0]), 1.0);
    }

    fn phase(elapsed_s: f64, counters: &[(&str, &str, &[u64])]) -> PhaseRecord {
        let counter = |(name, job, values): &(&str, &str, &[u64])| CounterRecord {
            name: name.to_string(),
            job: job.to_string(),
            per_node: values.to_vec(),
        };
        let counters = counters.iter().map(counter).collect();
        PhaseRecord {
            name: "x".into(),
            about: record::About::Load,
            elapsed_s,
            began_s: None,
            jobs: vec![],
            counters,
            counted: Default::default(),
        }
    }

    #[test]
    fn jobs_are_pooled_and_lengths_of_phases_do_not_matter() {
        let same = |n: &str| (n.to_string(), n.to_string());
        let recorded = phase(2.0, &[("b", "x", &[2, 6]), ("b", "y", &[4])]);
        let target = Target::new(&recorded, &[same("b")]).unwrap();
        assert_eq!(target.distance(&recorded), 0.0);
        assert_eq!(target.distance(&phase(1.0, &[("b", "z", &[1, 2, 3])])), 0.0);
        assert_eq!(target.distance(&phase(1.0, &[("b", "z", &[2, 4, 6])])), 1.0);
        assert_eq!(target.distance(&phase(1.0, &[("other", "z", &[9])])), 1.0);
        assert!(!target.is_counted_in(&phase(1.0, &[("other", "z", &[9])])));
        assert_eq!(Target::new(&recorded, &[same("missing")]), Err("missing".into()));
        let renamed = Target::new(&recorded, &[("b".into(), "c".into())]).unwrap();
        assert_eq!(renamed.distance(&phase(1.0, &[("c", "z", &[1, 2, 3])])), 0.0);
    }
}
