//! What a record says of a machine, one number for each job that was measured.

use record::{About, JobRecord, Metric, PairPattern, PhaseRecord, Role, RunRecord, Tells};
use spec::show_bytes;

/// A measured number.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Phase and job, by which the same number is found in another record of the same plan.
    pub what: String,
    /// The same for people: what differs most comes first, and the job only where its phase has others.
    pub label: String,
    /// What its samples are.
    pub metric: Metric,
    /// The mean of the samples' deciles, in base units; of what fills a node's way in, the mean of all samples.
    pub value: f64,
    /// How well it is known: a standard deviation of its logarithm.
    pub error: f64,
    /// Whether it was measured under load: held back from a fit, to test it.
    pub loaded: bool,
}

/// Nobody believes a single measurement of a network to better than this, and no twin has to repeat it better.
const LEAST_ERROR: f64 = 0.01;
/// Half of a 95 % interval in standard deviations.
const HALF: f64 = 1.96;

/// What a number is called.
pub fn what(phase: &str, job: &str) -> String {
    format!("{phase}: {job}")
}

/// A phase for people: of a point its class comes last, and bytes are counted as people do.
fn label(phase: &PhaseRecord) -> String {
    let About::Point { class, bytes, .. } = &phase.about else { return phase.name.clone() };
    let text = phase.about.to_string();
    let rest = text.strip_prefix(&format!("{class}/")).unwrap_or(&text);
    let rest = rest.replace(&format!("n={bytes}"), &show_bytes(*bytes)).replace('/', " ");
    format!("{rest} {class}")
}

/// Everything that a record says, in its order.
pub fn seen(record: &RunRecord) -> Vec<Seen> {
    record.phases.iter().flat_map(of_phase).collect()
}

fn of_phase(phase: &PhaseRecord) -> Vec<Seen> {
    // The search for a threshold tells its own steps, and work beside messages the processor.
    let told = !matches!(
        phase.about,
        About::Rest { .. }
            | About::Load
            | About::Point { pattern: PairPattern::EagerLimit | PairPattern::Overlap { .. }, .. }
    );
    let loaded = matches!(phase.about, About::Loaded { .. });
    // Where all pairs met the slow ones are told, and nothing else.
    let measured = |j: &&JobRecord| {
        j.role == Role::Measured && j.tells == Tells::Samples && j.skipped.is_none() && j.pairs.is_none()
    };
    let several = phase.jobs.iter().filter(measured).count() > 1;
    let number = |job: &JobRecord| {
        let what = what(&phase.name, &job.name);
        let label = if several { format!("{} {}", job.name, label(phase)) } else { label(phase) };
        // Senders of an incast see their own buffers most of the time; what arrives is what they have on average.
        let incast = matches!(phase.about, About::Baseline { .. });
        let value = if incast { job.summary.mean } else { middle(job) };
        let error = error(job).max(LEAST_ERROR);
        (value > 0.0 && value.is_finite()).then_some(Seen { what, label, metric: job.metric, value, error, loaded })
    };
    phase.jobs.iter().filter(|_| told).filter(measured).filter_map(number).collect()
}

/// A mean that a few samples cannot move far, as one late process does to a mean, and that does not jump where samples are of two kinds,
/// as a median does.
fn middle(job: &JobRecord) -> f64 {
    let deciles = (1..10).map(|i| job.samples.quantile(job.metric, f64::from(i) / 10.0));
    deciles.sum::<f64>() / 9.0
}

/// How well the middle is known: by the interval of the mean, or by the spread of the samples over the blocks, if those are too few.
fn error(job: &JobRecord) -> f64 {
    let quantile = |q: f64| job.samples.quantile(job.metric, q);
    // From the first to the ninth decile of a normal distribution there are 2.56 standard deviations.
    let spread = (quantile(0.9) / quantile(0.1)).ln() / 2.56 / (job.summary.blocks.max(1) as f64).sqrt();
    let told = job.summary.mean_interval.map(|i| i.relative(job.summary.mean) / HALF);
    told.filter(|e| e.is_finite()).unwrap_or(spread).min(1.0)
}

/// What another record of the same plan says of the same things, in the same order; nothing where it does not.
pub fn again(wanted: &[Seen], record: &RunRecord) -> Vec<Option<f64>> {
    let found: std::collections::BTreeMap<String, f64> = seen(record).into_iter().map(|s| (s.what, s.value)).collect();
    wanted.iter().map(|s| found.get(&s.what).copied()).collect()
}
