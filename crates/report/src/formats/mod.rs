//! The table of formats. To add one: a file here and a line in [`FORMATS`].

mod counters;
mod csv;
mod gpcnet;
mod hpcc;
mod html;
mod json;
mod markdown;
mod openmetrics;
mod text;

use crate::view::View;
use spec::near::unknown;

/// One way to write a view.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Writes it.
    pub write: fn(&View<'_>) -> Result<String, String>,
}

/// Every format, in the order of the help.
pub const FORMATS: &[Format] = &[
    Format {
        name: "text",
        about: "tables for people, with FOM lines and a RESULT line for scripts",
        write: text::write,
    },
    Format { name: "json", about: "the record itself", write: json::write },
    Format { name: "html", about: "one self-contained page with pictures", write: html::write },
    Format { name: "markdown", about: "tables for issues and wikis", write: markdown::write },
    Format { name: "csv", about: "every number, one a line", write: csv::write },
    Format { name: "openmetrics", about: "gauges for the monitoring of a site", write: openmetrics::write },
    Format { name: "gpcnet", about: "the tables of GPCNeT 1.3, to the letter", write: gpcnet::write },
    Format {
        name: "gpcnet-verbose",
        about: "the same as built with -DVERBOSE: seven columns and congestor rows",
        write: gpcnet::write_verbose,
    },
    Format { name: "hpcc", about: "the summary section of HPC Challenge's hpccoutf.txt", write: hpcc::write },
];

/// Writes several views as one document.
pub type Together = fn(&[View<'_>]) -> Result<String, String>;

/// Formats in which several records are one document, not one after the other: a page, a table with one header.
pub const TOGETHER: &[(&str, Together)] =
    &[("html", html::write_all), ("csv", csv::write_all), ("openmetrics", openmetrics::write_all)];

/// All views in one format: as one document where the format can, else one after the other.
pub fn write_all(format: &Format, views: &[View<'_>]) -> Result<String, String> {
    match TOGETHER.iter().find(|(name, _)| *name == format.name) {
        Some((_, together)) => together(views),
        None => views.iter().map(|view| (format.write)(view)).collect(),
    }
}

/// The format of this name, or what to say when there is none.
pub fn format(name: &str) -> Result<&'static Format, String> {
    let found = FORMATS.iter().find(|f| f.name == name);
    found.ok_or_else(|| unknown("format", name, FORMATS.iter().map(|f| f.name)))
}
