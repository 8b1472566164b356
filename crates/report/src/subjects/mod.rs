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
mod network;
mod tests;

use crate::merit::Merit;
use crate::section::Section;
use crate::view::View;
use record::hpcc_systems::System;

/// Something that a report can be about.
pub struct Subject {
    /// Its name, by which a format says that it has a place for it.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub about: &'static str,
    /// Its sections of one record; none of records that hold nothing of its kind.
    pub sections: fn(&View<'_>) -> Vec<Section>,
    /// Its figures of merit.
    pub merits: fn(&View<'_>) -> Vec<Merit>,
    /// What it says of all runs of a page, and of systems that were named, beside each other.
    pub together: fn(&[View<'_>], &[System]) -> Vec<Section>,
}

/// One that has sections only; others say what they have more.
const PLAIN: Subject =
    Subject { name: "", about: "", sections: |_| Vec::new(), merits: |_| Vec::new(), together: |_, _| Vec::new() };

/// Every subject, in the order of reports: results that people know, then what they rest on.
pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "impact",
        about: "tests alone and under load",
        sections: impact::sections,
        merits: impact::merits,
        together: impact::together,
    },
    Subject { name: "load", about: "congestors without a test", sections: load::sections, ..PLAIN },
    Subject {
        name: "hpcc",
        about: "the tests of HPC Challenge",
        sections: hpcc::sections,
        together: hpcc::together,
        ..PLAIN
    },
    Subject {
        name: "maxrate",
        about: "postal and max-rate models of pairs",
        sections: maxrate::sections,
        merits: maxrate::merits,
        ..PLAIN
    },
    Subject {
        name: "contention",
        about: "contention graphs and the rules that predict them",
        sections: contention::sections,
        merits: contention::merits,
        ..PLAIN
    },
    Subject { name: "tests", about: "tests by themselves", sections: tests::sections, merits: tests::merits, ..PLAIN },
    Subject { name: "counters", about: "counters over nodes", sections: counters::sections, ..PLAIN },
    Subject { name: "network", about: "where a simulated network stalled", sections: network::sections, ..PLAIN },
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
