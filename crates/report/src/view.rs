//! A record, seen: which phases belong together, what a run means, and what to know before believing it.

use crate::known::{Known, mean, quantile, ratio};
use record::placement::geometric;
use record::{
    About, JobRecord, Load, MachineRecord, Members, Metric, Outcome, PhaseRecord, Role, RunRecord, Status, Summary,
    Tells, Verdict,
};

/// Events that reports list; the record has all.
const EVENTS: usize = 12;
/// A note names so many of the phases that it is about: runs of hundreds of points would fill a page with names.
const MOST_NAMES: usize = 6;

/// A canary in isolation and, if there was load, under it.
#[derive(Clone, Debug)]
pub struct Canary<'a> {
    /// Which test it is.
    pub name: &'a str,
    /// Alone.
    pub isolated: &'a JobRecord,
    /// Under all congestors.
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

/// The same in one placement of roles on nodes, as plain factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacementImpact {
    /// Which, counted from 0.
    pub placement: u32,
    /// Loaded average over isolated average.
    pub average: f64,
    /// Loaded 99 % over isolated 99 %.
    pub tail: f64,
    /// Loaded 99 % over isolated average.
    pub tail_over_average: f64,
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

/// A record, seen.
#[derive(Clone)]
pub struct View<'a> {
    /// What is seen.
    pub record: &'a RunRecord,
    /// Canaries in the order of the plan.
    pub canaries: Vec<Canary<'a>>,
    /// Runs on the same page, this one among them: they share the room for long lists and many pictures.
    pub runs_on_page: usize,
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
        let placed = self.placement_impacts_of(loaded);
        if placed.len() > 1 {
            // Paired: what a placement does to a test alone, it does to it under load, too.
            let over = |pick: fn(&PlacementImpact) -> f64| {
                let (value, interval) = geometric(&placed.iter().map(pick).collect::<Vec<f64>>());
                Known { value, interval }
            };
            let told = isolated.tells_quantile(0.99) && loaded.tells_quantile(0.99);
            let tail = |x: Known| if told { x } else { Known::bare(f64::NAN) };
            return Some(Impact {
                average: over(|p| p.average),
                tail: tail(over(|p| p.tail)),
                tail_over_average: tail(over(|p| p.tail_over_average)),
            });
        }
        Some(Impact {
            average: ratio(metric, mean(isolated), mean(loaded)),
            tail: ratio(metric, quantile(isolated, 0.99), quantile(loaded, 0.99)),
            tail_over_average: ratio(metric, mean(isolated), quantile(loaded, 0.99)),
        })
    }

    /// The impact of all congestors in each placement, if the run covers several.
    pub fn placement_impacts(&self) -> Vec<PlacementImpact> {
        self.loaded.map_or_else(Vec::new, |loaded| self.placement_impacts_of(loaded))
    }

    fn placement_impacts_of(&self, loaded: &JobRecord) -> Vec<PlacementImpact> {
        let metric = self.isolated.metric;
        let tail = |s: &Summary| s.quantile(0.99).map_or(f64::NAN, |q| q.value);
        let pairs = self.isolated.paired(loaded);
        pairs
            .map(|(placement, alone, loaded)| PlacementImpact {
                placement,
                average: metric.impact(alone.mean, loaded.mean),
                tail: metric.impact(tail(alone), tail(loaded)),
                tail_over_average: metric.impact(alone.mean, tail(loaded)),
            })
            .collect()
    }
}

/// Where samples are a result; impacts of how long a test took would mean nothing.
fn sampled(job: &JobRecord) -> bool {
    job.role == Role::Measured && job.tells == Tells::Samples
}

fn measured(phase: &PhaseRecord) -> Option<&JobRecord> {
    phase.jobs.iter().find(|j| sampled(j))
}

/// Tests that ran alone, each with the phases in which it ran under load.
fn canaries(record: &RunRecord) -> Vec<Canary<'_>> {
    let mut all: Vec<Canary<'_>> = Vec::new();
    // Two passes, so that a loaded phase may stand before the one in which its test ran alone.
    for phase in &record.phases {
        if let (About::Alone { test }, Some(isolated)) = (&phase.about, measured(phase)) {
            all.push(Canary { name: test, isolated, loaded: None, congestors: Vec::new(), by: Vec::new() });
        }
    }
    for phase in &record.phases {
        let About::Loaded { test, by } = &phase.about else { continue };
        let canary = all.iter_mut().find(|c| c.name == test);
        let (Some(canary), Some(job)) = (canary, measured(phase)) else { continue };
        match by {
            Load::All if canary.loaded.is_none() => {
                canary.loaded = Some(job);
                canary.congestors = phase.jobs.iter().filter(|j| j.role == Role::Background).collect();
            }
            Load::Only(congestor) => canary.by.push((congestor, job)),
            // Candidates are tries of a search, not the load of the run; of several phases under all load the first counts.
            Load::All | Load::Candidate(_) => {}
        }
    }
    all
}

impl<'a> View<'a> {
    /// Derives it.
    pub fn new(record: &'a RunRecord) -> View<'a> {
        View { record, canaries: canaries(record), runs_on_page: 1 }
    }

    /// What the run means.
    pub fn outcome(&self) -> Outcome {
        self.record.outcome()
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
                // Name and version; libraries go on with who built them and when, which "What ran" has.
                let library = library.split([',', ';']).next().unwrap_or(library);
                format!("{library} ({})", host.cpu)
            }
            MachineRecord::Local { host } => format!("{} without MPI ({})", host.name, host.cpu),
        }
    }

    /// Nodes and their ranks in words.
    pub fn shape(&self) -> String {
        let l = &self.record.layout;
        let per_node = match (l.min_ranks_per_node, l.max_ranks_per_node) {
            (a, b) if a == b => counted(a, "rank"),
            (a, b) => format!("{a} to {b} ranks"),
        };
        format!("{} x {per_node}", counted(l.nodes, "node"))
    }

    /// The same with all ranks.
    pub fn layout(&self) -> String {
        format!("{} = {}", self.shape(), counted(self.record.layout.ranks, "rank"))
    }

    /// Nodes that a job of the plan uses, if they are a block.
    pub fn nodes_of(&self, job: &str) -> Option<u32> {
        let jobs = self.record.plan.phases.iter().flat_map(|p| &p.jobs);
        jobs.filter(|j| j.name == job).find_map(|j| match j.members {
            Members::Block { nodes, .. } => Some(nodes),
            Members::Places(_) => None,
        })
    }

    /// Whether the table of impacts, or that of each congestor alone, has this phase.
    pub fn in_impacts(&self, phase: &PhaseRecord) -> bool {
        match &phase.about {
            About::Alone { test } => self.has_canary(test) && self.canaries.iter().any(|c| c.loaded.is_some()),
            About::Loaded { test, by: Load::All | Load::Only(_) } => self.has_canary(test),
            _ => false,
        }
    }

    /// Whether this test is one of the canaries.
    pub fn has_canary(&self, test: &str) -> bool {
        self.canaries.iter().any(|c| c.name == test)
    }

    /// Jobs whose samples are a result, with their phases: not those that were skipped (a warning says so), nor pauses, nor those
    /// whose samples are only how long they took.
    pub fn sampled(&self) -> impl Iterator<Item = (&'a PhaseRecord, &'a JobRecord)> + use<'a> {
        let all = self.record.phases.iter().flat_map(|p| p.jobs.iter().map(move |j| (p, j)));
        all.filter(|(_, j)| sampled(j) && j.summary.samples > 0)
    }
}

/// A phase is one of hundreds: a point of a sweep, a repetition of a graph. Models stand for them, and no two are compared by eye.
pub fn is_one_of_many(phase: &PhaseRecord) -> bool {
    matches!(phase.about, About::Point { .. } | About::Graph { .. })
}

fn counted(n: u32, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

impl View<'_> {
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
                let at = phase.label(&job.name);
                if let Verdict::Wrong { checked, wrong, first } = &job.verdict {
                    // Data that were wrong, a result outside its bound, a program that failed: the words of the first say which.
                    all.push(format!("FAILED: {at}: {wrong} of {checked} checks, the first: {first}"));
                }
            }
        }
        all
    }

    /// The jobs' own notes; what many say is said once.
    fn notes(&self) -> Vec<String> {
        // A list and not a map: notes keep the order in which the phases made them.
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

    /// The drain time of the incast that ran while a canary was measured: the fastest one, if there were several.
    ///
    /// Each of the (nodes - 1) x ranks senders keeps one message under way to one node, so this is how long a message may
    /// wait behind all the others. Without congestion control a canary's loaded 99 % latency is 0.4 to 7 times this.
    pub fn drain(&self, canary: &Canary<'_>) -> Option<Drain> {
        let incasts = canary.congestors.iter().filter(|j| j.incast);
        let drains = incasts.filter_map(|job| self.drain_of(job));
        drains.max_by(|a, b| a.ejection.total_cmp(&b.ejection))
    }

    fn drain_of(&self, incast: &JobRecord) -> Option<Drain> {
        let nodes = self.nodes_of(&incast.name)?;
        let slots = f64::from(incast.ranks) / f64::from(nodes);
        let size = spec::parse_bytes(incast.params.get("size")?).ok()? as f64;
        let given = self.record.plan.ejection;
        let ejection = given.unwrap_or(incast.bytes as f64 / incast.elapsed_s);
        let seconds = f64::from(nodes - 1) * slots * size / ejection;
        // An incast that moved nothing, or ran for no time, has no rate to drain at.
        (ejection.is_finite() && ejection > 0.0).then_some(Drain { seconds, ejection, given: given.is_some() })
    }

    /// A canary's drain time, and its loaded 99 % latency in units of it; nothing for rates.
    pub fn drain_ratio(&self, canary: &Canary<'_>) -> Option<(Drain, f64)> {
        let loaded = canary.loaded.filter(|job| job.metric == Metric::Latency && job.summary.samples > 0)?;
        let drain = self.drain(canary)?;
        Some((drain, quantile(loaded, 0.99).value / drain.seconds))
    }
}

/// GPCNeT's title of a canary or congestor row, with its size.
pub fn gpcnet_title(job: &JobRecord) -> String {
    let size = job.params.get("size").and_then(|s| spec::parse_bytes(s).ok()).unwrap_or(0);
    format!("{} ({size} B)", job.title)
}
