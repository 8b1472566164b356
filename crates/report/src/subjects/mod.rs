//! The table of subjects: what a report can be about. To add one: a file here and a line in [`SUBJECTS`].
//!
//! A subject looks at what the phases of a record are about, and at what the record holds; it says nothing of records that hold
//! nothing of its kind. Formats write what subjects say and know none of them by name.

pub mod contention;
mod counters;
pub mod hpcc;
mod impact;
mod load;
pub mod maxrate;
mod missing;
mod network;
mod series;
mod slow_parts;
mod tests;

use crate::merit::Merit;
use crate::section::Section;
use crate::view::View;
use record::hpcc_systems::System;
pub use slow_parts::has_suspects;

/// Something that a report can be about.
pub struct Subject {
    /// Its name, by which a format says that it has a place for it.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub about: &'static str,
    /// The answer in a few lines of a terminal, instead of its sections there; none where those are short enough.
    pub glance: fn(&View<'_>) -> Option<String>,
    /// Its sections of one record; none of records that hold nothing of its kind.
    pub sections: fn(&View<'_>) -> Vec<Section>,
    /// Its figures of merit.
    pub merits: fn(&View<'_>) -> Vec<Merit>,
    /// What it says of all runs of a page, and of systems that were named, beside each other.
    pub together: fn(&[View<'_>], &[System]) -> Vec<Section>,
}

/// One that has sections only; entries say what they have more.
const fn plain(name: &'static str, about: &'static str, sections: fn(&View<'_>) -> Vec<Section>) -> Subject {
    Subject { name, about, glance: |_| None, sections, merits: |_| Vec::new(), together: |_, _| Vec::new() }
}

/// Every subject, in the order of reports: results that people know, then what they rest on.
pub const SUBJECTS: &[Subject] = &[
    plain("missing", "what was asked for and did not run", missing::sections),
    Subject {
        glance: impact::glance,
        merits: impact::merits,
        together: impact::together,
        ..plain("impact", "tests alone and under load", impact::sections)
    },
    plain("load", "congestors without a test", load::sections),
    Subject { together: hpcc::together, ..plain("hpcc", "the tests of HPC Challenge", hpcc::sections) },
    Subject { merits: maxrate::merits, ..plain("maxrate", "max-rate models of pairs", maxrate::sections) },
    Subject { merits: contention::merits, ..plain("contention", "contention graphs", contention::sections) },
    plain("slow-parts", "every pair of nodes, and which part is slow", slow_parts::sections),
    plain("series", "tests over time", series::sections),
    Subject { merits: tests::merits, ..plain("tests", "tests by themselves", tests::sections) },
    plain("counters", "counters over nodes", counters::sections),
    plain("network", "where a simulated network stalled", network::sections),
];

/// All sections of a record.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    SUBJECTS.iter().flat_map(|s| (s.sections)(view)).collect()
}

/// All figures of merit of a record; only those that are numbers.
pub fn merits(view: &View<'_>) -> Vec<Merit> {
    let mut all: Vec<Merit> = SUBJECTS.iter().flat_map(|s| (s.merits)(view)).collect();
    all.retain(|m| m.known.value.is_finite());
    all
}
