//! Which congestors give the network the counters of a recorded run (GPCNeT §4.5).
//!
//! A candidate is a share of the nodes, ranks per node and weights of congestors. Each runs for a short phase; its counters over nodes
//! are compared with the recorded ones, and the next candidate depends on what was found.
//!
//! Different loads can leave the same counters: where the network is full, more ranks per node add nothing that a NIC could count.
//! And chance (which nodes, which order) moves counters, too. The answer is a load that looks alike, not proof of what ran.

use super::Experiment;
pub use super::distance::Target;
pub use super::search::Candidate;
use super::search::Search;
use crate::site::Site;
use crate::suites::gpcnet::GPCNET;
use crate::suites::{self, SuiteError};
use record::{About, Load, Members, NodeOrder, Payload, Phase, PhaseRecord, Plan, Role, RunRecord};
use spec::Params;

/// What a candidate's distance is called in the record.
const DISTANCE: &str = "distance";

/// The search.
pub struct Tune {
    /// What to come near to.
    pub target: Target,
    /// The counters' names, for messages.
    pub counters: Vec<String>,
    /// What is measured meanwhile.
    pub canary: String,
    /// What may load the network.
    pub congestors: Vec<String>,
    /// How long a candidate runs; none for the default of the machine.
    pub time: Option<String>,
    /// Candidates at most.
    pub candidates: usize,
}

/// One candidate that ran.
pub struct Tried {
    /// The load.
    pub candidate: Candidate,
    /// How far its counters are from those wanted.
    pub distance: f64,
    /// Who takes part in which job: candidates with the same members are the same.
    members: Vec<Members>,
}

/// How long a candidate runs on a real machine and on a simulated one.
const TIME: [&str; 2] = ["10s", "2ms"];

impl Tune {
    /// The phase that a candidate runs; none if too few nodes are left for a congestor, or to measure.
    fn phase(&self, candidate: &Candidate, site: &Site, plan: &Plan) -> Result<Option<Phase>, SuiteError> {
        if !suites::share_fits(site.layout.nodes, f64::from(candidate.share) / 100.0) {
            return Ok(None);
        }
        let time = self.time.clone().unwrap_or_else(|| TIME[usize::from(site.simulated)].into());
        let given: Params = [
            ("canaries", self.canary.clone()),
            ("congestors", candidate.congestors(&self.congestors)),
            ("share", format!("{}%", candidate.share)),
            ("slots", candidate.slots.to_string()),
            ("time", time),
            // A candidate's distance is of one placement, and chance is part of the answer's error.
            ("placements", "1".to_string()),
            // As many blocks as the time holds.
            ("rounds", GPCNET.card.param("rounds").default.to_string()),
        ]
        .map(|(name, value)| (name.to_string(), value))
        .into();
        let made = GPCNET.plan_on(&given, site, plan.seed, plan.payload)?;
        Ok(made.phases.into_iter().find(|p| matches!(p.about, About::Loaded { .. })))
    }

    /// What was tried, by the record; and the phase of the candidate that comes next, if one does. The search is gone through again:
    /// it is told the same distances and asks for the same candidates.
    pub fn so_far(&self, site: &Site, record: &RunRecord) -> Result<(Vec<Tried>, Option<Phase>), SuiteError> {
        let mut search = Search::new(self.congestors.len(), site.layout.min_ranks_per_node);
        let mut tried: Vec<Tried> = Vec::new();
        while let Some(candidate) = search.next() {
            let Some(mut phase) = self.phase(&candidate, site, &record.plan)? else {
                // It can never be the best, and the search goes on to others.
                search.found(candidate, f64::INFINITY);
                continue;
            };
            let members: Vec<Members> = phase.jobs.iter().map(|j| j.members.clone()).collect();
            if let Some(same) = tried.iter().find(|t| t.members == members) {
                // On few nodes shares and weights round to the same load: its distance is known and costs no phase.
                search.found(candidate, same.distance);
                continue;
            }
            if tried.len() == self.candidates {
                break;
            }
            let Some(distance) = record.phases.get(tried.len()).and_then(distance) else {
                let by = Load::Candidate(tried.len() as u32 + 1);
                phase = Phase::new(About::Loaded { test: self.canary.clone(), by }, phase.jobs);
                return Ok((tried, Some(phase)));
            };
            search.found(candidate.clone(), distance);
            tried.push(Tried { candidate, distance, members });
        }
        Ok((tried, None))
    }
}

/// The distance that was noted with a phase.
fn distance(phase: &PhaseRecord) -> Option<f64> {
    phase.jobs.first()?.results.get(DISTANCE).copied()
}

/// Names of a phase's counters, each once.
pub fn counter_names(phase: &PhaseRecord) -> Vec<&str> {
    let mut names: Vec<&str> = phase.counters.iter().map(|c| c.name.as_str()).collect();
    // A record keeps the sets of jobs of one counter together, so equal names are neighbours.
    names.dedup();
    names
}

impl Experiment for Tune {
    fn name(&self) -> &str {
        "tune"
    }

    fn plan(&self, site: &Site, seed: u64, payload: Payload) -> Result<Plan, SuiteError> {
        let plan = Plan::new("tune", seed, NodeOrder::Shuffled, payload, Vec::new());
        // The first candidate depends on nothing that is measured, so mistakes in names show before anything runs.
        let first = Search::new(self.congestors.len(), site.layout.min_ranks_per_node).next();
        if let Some(candidate) = first {
            self.phase(&candidate, site, &plan)?;
        }
        if site.layout.nodes < 4 {
            let say = format!("{} nodes leave none for congestors; at least 4 are needed", site.layout.nodes);
            return Err(SuiteError::TooSmall(say));
        }
        Ok(plan)
    }

    fn decides(&self) -> bool {
        true
    }

    fn next(&self, site: &Site, record: &mut RunRecord) -> Result<Vec<Phase>, String> {
        if let Some(phase) = record.phases.last_mut() {
            if !self.target.is_counted_in(phase) {
                let (theirs, here) = (self.counters.join(", "), counter_names(phase).join(", "));
                return Err(format!(
                    "no node here counts {theirs}; give --counter THERE=HERE with one of these: {here}"
                ));
            }
            let distance = self.target.distance(phase);
            if let Some(job) = phase.jobs.iter_mut().find(|j| j.role == Role::Measured) {
                job.results.insert(DISTANCE.into(), distance);
            }
        }
        let (tried, next) = self.so_far(site, record).map_err(|e| e.to_string())?;
        if tried.is_empty() && next.is_none() {
            return Err(format!("{} nodes leave none for congestors; at least 4 are needed", site.layout.nodes));
        }
        Ok(next.into_iter().collect())
    }
}
