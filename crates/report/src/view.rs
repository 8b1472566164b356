//! Every number that a report shows, derived once.

use crate::hpcc::timed_only;
use record::{Interval, JobRecord, MachineRecord, Members, Metric, PhaseRecord, Role, RunRecord, Status, Verdict};

/// Events that reports list; the record has all.
const EVENTS: usize = 12;

/// What a run means in one word, and the exit code that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything ran and all data were right.
    Pass,
    /// Wrong data were seen.
    Fail,
    /// Something planned is missing.
    Incomplete,
}

impl Outcome {
    /// The word on the last line of every report.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "PASS",
            Outcome::Fail => "FAIL",
            Outcome::Incomplete => "INCOMPLETE",
        }
    }
}

/// A value with its 95 % interval, in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The value.
    pub value: f64,
    /// How well it is known, if that can be said.
    pub interval: Option<Interval>,
}

/// A canary in isolation and, if there was load, under it.
#[derive(Clone, Debug)]
pub struct Canary<'a> {
    /// Its name in the plan.
    pub name: &'a str,
    /// Alone.
    pub isolated: &'a JobRecord,
    /// Under congestors.
    pub loaded: Option<&'a JobRecord>,
    /// The congestors of the loaded phase.
    pub congestors: Vec<&'a JobRecord>,
    /// Under each congestor alone: its name and the canary.
    pub by: Vec<(&'a str, &'a JobRecord)>,
}

/// How much worse a canary is under load: 1 is no harm. GPCNeT §3.3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// Loaded average over isolated average.
    pub average: Known,
    /// Loaded 99 % over isolated 99 %, as GPCNeT's program prints.
    pub tail: Known,
    /// Loaded 99 % over isolated average, as the paper's Figure 11 shows.
    pub tail_over_average: Known,
}

/// A record, seen.
pub struct View<'a> {
    /// What is seen.
    pub record: &'a RunRecord,
    /// Canaries in the order of the plan.
    pub canaries: Vec<Canary<'a>>,
}

/// The value of a quantile with its interval.
pub fn quantile(job: &JobRecord, q: f64) -> Known {
    let found = job.summary.quantile(q);
    found.map_or(Known { value: f64::NAN, interval: None }, |x| Known { value: x.value, interval: x.interval })
}

/// The mean with its interval.
pub fn mean(job: &JobRecord) -> Known {
    Known { value: job.summary.mean, interval: job.summary.mean_interval }
}

/// The interval of a ratio of two independent values, by adding relative half-widths in quadrature.
fn ratio(metric: Metric, isolated: Known, loaded: Known) -> Known {
    let value = metric.impact(isolated.value, loaded.value);
    let interval = isolated.interval.zip(loaded.interval).map(|(i, l)| {
        let spread = i.relative(isolated.value).hypot(l.relative(loaded.value)).min(1.0);
        Interval { low: value * (1.0 - spread), high: value * (1.0 + spread) }
    });
    Known { value, interval }
}

impl<'a> Canary<'a> {
    /// The congestion impact, if there was load and samples on both sides.
    pub fn impact(&self) -> Option<Impact> {
        self.impact_of(self.loaded?)
    }

    /// The impact of a load under which the canary measured `loaded`.
    pub fn impact_of(&self, loaded: &JobRecord) -> Option<Impact> {
        let (isolated, metric) = (self.isolated, self.isolated.metric);
        if isolated.summary.samples == 0 || loaded.summary.samples == 0 {
            return None;
        }
        Some(Impact {
            average: ratio(metric, mean(isolated), mean(loaded)),
            tail: ratio(metric, quantile(isolated, 0.99), quantile(loaded, 0.99)),
            tail_over_average: ratio(metric, mean(isolated), quantile(loaded, 0.99)),
        })
    }
}

impl<'a> View<'a> {
    /// Derives it.
    pub fn new(record: &'a RunRecord) -> View<'a> {
        let measured_in = |phase: &'a record::PhaseRecord| phase.jobs.iter().find(|j| j.role == Role::Measured);
        let measured = |name: &str| {
            let phase = record.phase(name)?;
            measured_in(phase).map(|job| (phase, job))
        };
        let canary = |phase: &'a record::PhaseRecord| {
            let name = phase.name.strip_prefix("isolated/")?;
            let isolated = measured_in(phase)?;
            let alone = |p: &'a record::PhaseRecord| {
                let congestor = p.name.strip_suffix(name)?.strip_suffix('/')?.strip_prefix("loaded-by-")?;
                Some((congestor, measured_in(p)?))
            };
            let loaded = measured(&format!("loaded/{name}"));
            let congestors = loaded.iter().flat_map(|(phase, _)| &phase.jobs).filter(|j| j.role == Role::Background);
            Some(Canary {
                name,
                isolated,
                loaded: loaded.map(|(_, job)| job),
                congestors: congestors.collect(),
                by: record.phases.iter().filter_map(alone).collect(),
            })
        };
        View { record, canaries: record.phases.iter().filter_map(canary).collect() }
    }

    /// What the run means.
    pub fn outcome(&self) -> Outcome {
        if self.record.has_wrong_data() {
            return Outcome::Fail;
        }
        match self.record.status {
            Status::Complete => Outcome::Pass,
            Status::Incomplete { .. } => Outcome::Incomplete,
        }
    }

    /// The machine in one line.
    pub fn machine(&self) -> String {
        match &self.record.machine {
            MachineRecord::Simulated { name, facts, .. } => {
                let topology = facts.get("topology").map(|t| format!(", {t}")).unwrap_or_default();
                format!("{name} (simulated{topology})")
            }
            MachineRecord::Mpi { facts, host } => {
                let library = facts.get("library").map_or("unknown MPI", |l| l.as_str());
                format!("{library} ({})", host.cpu)
            }
            MachineRecord::Local { host } => format!("{} without MPI ({})", host.name, host.cpu),
        }
    }

    /// Nodes and ranks in words.
    pub fn layout(&self) -> String {
        let l = &self.record.layout;
        let per_node = match (l.min_ranks_per_node, l.max_ranks_per_node) {
            (a, b) if a == b => counted(a, "rank"),
            (a, b) => format!("{a} to {b} ranks"),
        };
        format!("{} x {per_node} = {}", counted(l.nodes, "node"), counted(l.ranks, "rank"))
    }

    /// Nodes that a job of the plan uses, if they are a block.
    pub fn nodes_of(&self, job: &str) -> Option<u32> {
        let jobs = self.record.plan.phases.iter().flat_map(|p| &p.jobs);
        jobs.filter(|j| j.name == job).find_map(|j| match j.members {
            Members::Block { nodes, .. } => Some(nodes),
            Members::Places(_) => None,
        })
    }

    /// Everything a reader must know before believing a number.
    pub fn warnings(&self) -> Vec<String> {
        let mut all = self.record.warnings.clone();
        all.extend(self.record.plan.notes.iter().cloned());
        if let Status::Incomplete { reason } = &self.record.status {
            all.push(format!("incomplete: {reason}"));
        }
        all.extend(self.record.events.iter().take(EVENTS).map(|event| format!("during the run: {event}")));
        let more = self.record.events.len().saturating_sub(EVENTS);
        if more > 0 {
            all.push(format!("during the run {more} more things happened to the machine; the record lists them"));
        }
        all.extend(self.notes());
        for phase in &self.record.phases {
            for job in &phase.jobs {
                let at = match phase.name.strip_suffix(&job.name) {
                    Some(_) => phase.name.clone(),
                    None => format!("{} in {}", job.name, phase.name),
                };
                all.extend(job.skipped.iter().map(|why| format!("{at} was skipped: {why}")));
                if let Verdict::Wrong { checked, wrong, first } = &job.verdict {
                    all.push(format!("WRONG DATA: {at}: {wrong} of {checked} values, first {first}"));
                }
            }
        }
        all
    }
}

fn counted(n: u32, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

impl<'a> View<'a> {
    /// Jobs that a table of measurements lists, with their phases: not those that were skipped (a warning says so), nor pauses, nor
    /// those whose samples are only how long they took.
    pub(crate) fn told(&self) -> impl Iterator<Item = (&'a PhaseRecord, &'a JobRecord)> + use<'a> {
        let told =
            |j: &JobRecord| j.role == Role::Measured && j.summary.samples > 0 && j.kernel != "pause" && !timed_only(j);
        let all = self.record.phases.iter().flat_map(|p| p.jobs.iter().map(move |j| (p, j)));
        all.filter(move |(_, j)| told(j))
    }
}

/// How long one incast needs to drain, by which loaded latencies of networks of any size can be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drain {
    /// T = (nodes - 1) x ranks per node x message size / ejection rate, in seconds.
    pub seconds: f64,
    /// The rate at which the root's node took what was sent, in bytes per second.
    pub ejection: f64,
    /// Whether the user gave that rate; else the incast itself measured it.
    pub given: bool,
}

impl View<'_> {
    /// The drain time of the incast that ran while a canary was measured: the fastest one, if there were several.
    ///
    /// Each of the (nodes - 1) x ranks senders keeps one message under way to one node, so this is how long a message may
    /// wait behind all the others. Without congestion control a canary's loaded 99 % latency is 0.4 to 7 times this.
    pub fn drain(&self, canary: &Canary<'_>) -> Option<Drain> {
        let incasts = canary.congestors.iter().filter(|j| matches!(j.kernel.as_str(), "p2p-incast" | "put-incast"));
        let drains = incasts.filter_map(|job| {
            let nodes = self.nodes_of(&job.name)?;
            let slots = f64::from(job.ranks) / f64::from(nodes);
            let size = spec::parse_bytes(job.params.get("size")?).ok()? as f64;
            let given = self.record.plan.ejection;
            let ejection = given.unwrap_or(job.bytes as f64 / job.elapsed_s);
            let seconds = f64::from(nodes - 1) * slots * size / ejection;
            (ejection.is_finite() && ejection > 0.0).then_some(Drain { seconds, ejection, given: given.is_some() })
        });
        drains.max_by(|a, b| a.ejection.total_cmp(&b.ejection))
    }

    /// A canary's drain time, and its loaded 99 % latency in units of it; nothing for rates.
    pub fn drain_ratio(&self, canary: &Canary<'_>) -> Option<(Drain, f64)> {
        let loaded = canary.loaded.filter(|job| job.metric == Metric::Latency && job.summary.samples > 0)?;
        let drain = self.drain(canary)?;
        Some((drain, quantile(loaded, 0.99).value / drain.seconds))
    }

    /// The jobs' own notes; what many say is said once.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
        for phase in &self.record.phases {
            for note in phase.jobs.iter().flat_map(|j| &j.notes) {
                match notes.iter_mut().find(|(text, _)| text == note) {
                    Some((_, phases)) => phases.push(&phase.name),
                    None => notes.push((note, vec![&phase.name])),
                }
            }
        }
        let named = |phases: &[&str]| match phases.len() {
            n if n > MOST_NAMES => format!("{} and {} more", phases[..MOST_NAMES].join(", "), n - MOST_NAMES),
            _ => phases.join(", "),
        };
        notes.into_iter().map(|(text, phases)| format!("{text} ({})", named(&phases))).collect()
    }
}

/// A note names so many of the phases that it is about: runs of hundreds of points would fill a page with names.
const MOST_NAMES: usize = 20;

/// GPCNeT's title of a canary or congestor row, with its size.
pub fn gpcnet_title(job: &JobRecord) -> String {
    let size = job.params.get("size").and_then(|s| spec::parse_bytes(s).ok()).unwrap_or(0);
    format!("{} ({size} B)", gpcnet_name(job))
}

/// GPCNeT's name of a canary or congestor.
pub fn gpcnet_name(job: &JobRecord) -> &str {
    let natural = job.params.get("order").is_some_and(|o| o == "natural");
    match (job.kernel.as_str(), job.role) {
        ("p2p-lat", _) => "RR Two-sided Lat",
        ("get-lat", _) => "RR Get Lat",
        ("p2p-bw", _) if natural => "Nat Two-sided BW",
        ("p2p-bw", _) => "RR Two-sided BW",
        ("put-bw", _) => "RR Put BW",
        ("p2p-bw-sync", _) => "RR Two-sided BW+Sync",
        ("allreduce", Role::Measured) => "Multiple Allreduce",
        ("allreduce", Role::Background) => "Allreduce",
        ("alltoall", _) => "Multiple Alltoall",
        ("a2a", _) => "Alltoall",
        ("p2p-incast", _) => "Two-sided Incast",
        ("put-incast", _) => "Put Incast",
        ("get-bcast", _) => "Get Bcast",
        ("p2p-bcast", _) => "Two-sided Bcast",
        (other, _) => other,
    }
}
