//! The table of formats. To add one: a file here and a line in [`FORMATS`].

mod csv;
mod dat;
mod gpcnet;
mod hpcc;
mod json;
mod markdown;
mod openmetrics;
mod text;

use crate::html;
use crate::subjects::SUBJECTS;
use crate::view::View;
use spec::near::unknown;
use std::slice::from_ref;

pub use dat::{DataFile, data_files};

/// Writes one view.
pub type Write = fn(&View<'_>) -> Result<String, String>;
/// Writes several views as one document.
pub type Together = fn(&[View<'_>]) -> Result<String, String>;

/// One way to write a view.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The subjects that it has a place for, where it does not take all: another program's layout. A run with none of them is refused.
    pub only: Option<&'static [&'static str]>,
    /// Writes one record that it has a place for.
    pub one: Write,
    /// Writes several records as one document, where they are not just one after the other: a page, a table with one header.
    pub together: Option<Together>,
}

/// One that takes every record and writes several one after the other; entries say what is different.
const fn plain(name: &'static str, about: &'static str, one: Write) -> Format {
    Format { name, about, only: None, one, together: None }
}

/// Every format, in the order of the help.
pub const FORMATS: &[Format] = &[
    plain("text", "the answer for people, in a few lines, and a RESULT line", text::write),
    plain("long", "every table that a terminal holds; --verbose is the same", text::write_long),
    plain("fom", "figures of merit for scripts, FOM NAME VALUE UNIT, and a RESULT line", text::write_merits),
    plain("json", "the record itself", json::write),
    Format {
        together: Some(|views| Ok(html::page(views))),
        ..plain("html", "one self-contained page with pictures", |view| Ok(html::page(from_ref(view))))
    },
    plain("markdown", "tables for issues and wikis", markdown::write),
    Format {
        together: Some(csv::write),
        ..plain("csv", "every number, one a line", |view| csv::write(from_ref(view)))
    },
    Format {
        together: Some(openmetrics::write),
        ..plain("openmetrics", "gauges for the monitoring of a site", |view| openmetrics::write(from_ref(view)))
    },
    Format { only: Some(&["impact"]), ..plain("gpcnet", "the tables of GPCNeT 1.3, to the letter", gpcnet::write) },
    Format {
        only: Some(&["impact"]),
        ..plain(
            "gpcnet-verbose",
            "the same as built with -DVERBOSE: seven columns and congestor rows",
            gpcnet::write_verbose,
        )
    },
    Format {
        only: Some(&["hpcc"]),
        ..plain("hpcc", "the summary section of HPC Challenge's hpccoutf.txt", hpcc::write)
    },
];

impl Format {
    /// Why it has no place for a record, if it has none.
    pub fn refuses(&self, view: &View<'_>) -> Option<String> {
        let only = self.only?;
        let places: Vec<_> = SUBJECTS.iter().filter(|s| only.contains(&s.name)).collect();
        if places.iter().any(|s| !(s.sections)(view).is_empty()) {
            return None;
        }
        let shows: Vec<&str> = places.iter().map(|s| s.about).collect();
        let (name, shows, suite) = (self.name, shows.join(" and "), &view.record.plan.suite);
        Some(format!("--format {name} shows {shows}, and this run of {suite} has none; use --format text"))
    }

    /// One record, unless it is refused.
    pub fn write(&self, view: &View<'_>) -> Result<String, String> {
        self.refuses(view).map_or_else(|| (self.one)(view), Err)
    }
}

/// All views in one format: as one document where the format can, else one after the other.
pub fn write_all(format: &Format, views: &[View<'_>]) -> Result<String, String> {
    match format.together {
        // Formats that write records together take every record, so none has to be refused here.
        Some(together) => together(views),
        None => views.iter().map(|view| format.write(view)).collect(),
    }
}

/// The format of this name, or what to say when there is none.
pub fn format(name: &str) -> Result<&'static Format, String> {
    let found = FORMATS.iter().find(|f| f.name == name);
    found.ok_or_else(|| unknown("format", name, FORMATS.iter().map(|f| f.name)))
}
