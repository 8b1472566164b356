//! Everything that is said of a set of max-rate measurements, computed once for commands and reports.

use super::advice::{self, Halo, Split};
use super::analysis::{Options, Report, analyse};
use super::data::{Location, Pattern, Sample, Weighting, points};
use super::loggp::{self, LogGp};
use super::overlap::Overlapped;
use super::probe::EagerLimit;
use super::queue::{self, QueueFit};
use super::recorded::Recorded;
use super::tables::{self, ErrorRow, HeatMap, RateCell};
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// How to study.
#[derive(Clone, Debug, PartialEq)]
pub struct StudySettings {
    /// The weights of the fits.
    pub weighting: Weighting,
    /// What stands for several trials.
    pub location: Location,
    /// The sizes at which phases begin; none to find them.
    pub phase_starts: Option<Vec<u64>>,
    /// Replicates of the bootstrap; 0 for no intervals.
    pub replicates: usize,
    /// Advice for sending so much of a node's data.
    pub split_bytes: u64,
    /// Advice for a halo exchange with messages of this size.
    pub halo_bytes: u64,
    /// Neighbours of the halo exchange.
    pub neighbours: u32,
}

impl Default for StudySettings {
    fn default() -> StudySettings {
        StudySettings {
            weighting: Weighting::default(),
            location: Location::default(),
            phase_starts: None,
            replicates: 200,
            split_bytes: 1 << 20,
            halo_bytes: 64 << 10,
            neighbours: 6,
        }
    }
}

/// Times of one class of pairs and one pattern, fitted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fitted {
    /// The class of pairs.
    pub class: String,
    /// What the pairs did.
    pub pattern: Pattern,
    /// Phases and models.
    pub report: Report,
    /// The paper's Table 2.
    pub errors: Vec<ErrorRow>,
    /// The paper's Figure 2: the chosen models, then the paper's.
    pub heat: Vec<HeatMap>,
    /// Aggregate rates, measured and by the chosen models.
    pub rates: Vec<RateCell>,
    /// How many processes fill the node, or why that is not known.
    pub saturating: Result<u32, String>,
    /// How to split a node's data.
    pub split: Split,
    /// What a halo exchange costs.
    pub halo: Halo,
}

/// The delayed receiver of one class.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Probed {
    /// The class of pairs.
    pub class: String,
    /// What it found.
    pub outcome: EagerLimit,
}

/// LogGP's parameters of one class.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tripped {
    /// The class of pairs.
    pub class: String,
    /// The parameters, or why there are none.
    pub fit: Result<LogGp, String>,
}

/// The message-count sweep of one class and order.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Queued {
    /// The class of pairs.
    pub class: String,
    /// Order of the receives.
    pub order: String,
    /// The price, or why there is none.
    pub fit: Result<QueueFit, String>,
}

/// Messages beside work of one class, size and number of pairs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BesideWork {
    /// The class of pairs.
    pub class: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// Pairs at the same time.
    pub pairs: u32,
    /// What was seen.
    pub seen: Overlapped,
}

/// All of it.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Study {
    /// Fits, by class and pattern.
    pub fits: Vec<Fitted>,
    /// Delayed receivers.
    pub probes: Vec<Probed>,
    /// LogGP.
    pub trips: Vec<Tripped>,
    /// Many messages.
    pub queues: Vec<Queued>,
    /// Messages beside work.
    pub overlaps: Vec<BesideWork>,
    /// What a reader must know before believing a number.
    pub notes: Vec<String>,
}

/// Why there is no study.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{at}: {reason}")]
pub struct StudyError {
    /// The class and pattern, or the option.
    pub at: String,
    /// Why.
    pub reason: String,
}

/// The seed of the bootstrap: equal data give equal intervals.
const SEED: u64 = 1;

/// Studies what was recorded.
pub fn study(data: &Recorded, settings: &StudySettings) -> Result<Study, StudyError> {
    let mut found = Study { notes: data.notes.clone(), ..Study::default() };
    for ((class, pattern), samples) in &data.samples {
        found.fits.push(fitted(class, *pattern, samples, settings)?);
    }
    for (class, &outcome) in &data.probes {
        found.probes.push(Probed { class: class.clone(), outcome });
    }
    for (class, trips) in &data.trips {
        let fit = loggp::derive(trips).map_err(|e| e.to_string());
        found.trips.push(Tripped { class: class.clone(), fit });
    }
    for ((class, order), times) in &data.queues {
        let fit = queue::fit(times).map_err(|e| e.to_string());
        found.queues.push(Queued { class: class.clone(), order: order.clone(), fit });
    }
    for (&(ref class, bytes, pairs), timed) in &data.overlaps {
        let seen = timed.look(settings.replicates);
        found.overlaps.extend(seen.map(|seen| BesideWork { class: class.clone(), bytes, pairs, seen }));
    }
    Ok(found)
}

fn fitted(class: &str, pattern: Pattern, samples: &[Sample], settings: &StudySettings) -> Result<Fitted, StudyError> {
    let at = || format!("{class}/{}", pattern.name());
    let bad = |e: &dyn std::fmt::Display| StudyError { at: at(), reason: e.to_string() };
    let options = Options {
        pattern,
        weighting: settings.weighting,
        location: settings.location,
        phase_starts: settings.phase_starts.clone(),
        replicates: settings.replicates,
        seed: SEED,
    };
    // The first trial is dropped: it pays for connections and page faults.
    let points = points(samples, options.location, true).map_err(|e| bad(&e))?;
    let report = analyse(&points, &options).map_err(|e| bad(&e))?;
    let most = points.iter().map(|p| p.pairs).max().unwrap_or(1);
    let option = |name: &str, e: advice::AdviceError| StudyError { at: format!("--{name}"), reason: e.to_string() };
    Ok(Fitted {
        class: class.into(),
        pattern,
        errors: tables::errors(&report),
        heat: tables::heat_maps(&report, &points),
        rates: tables::rates(&report, &points),
        saturating: advice::saturating_processes(&report),
        split: advice::split(&report, settings.split_bytes, most).map_err(|e| option("split", e))?,
        halo: advice::halo(&report, settings.halo_bytes, settings.neighbours, most).map_err(|e| option("halo", e))?,
        report,
    })
}
