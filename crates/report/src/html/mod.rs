//! One self-contained page: no network, no fonts, no libraries; light, dark and on paper.
//!
//! A page's own policy forbids it to load anything. Every picture stands in a `figure` with the numbers behind it in a table,
//! which a small script offers as CSV; without the script nothing but that button is missing.

mod balance;
mod counters;
mod distributions;
mod history;
mod hpcc;
mod key;
mod network;
mod systems;
mod what;

use crate::grid::Grid;
use crate::section::{Block, Section};
use crate::svg::{self, Svg, escape};
use crate::view::View;
pub use history::page as history;
use record::hpcc_systems::System;
use std::fmt::Write;
pub use what::command;
pub(crate) use what::{facts, verdict};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// A page under construction: what stands in `main`, and its contents.
pub struct Page {
    body: String,
    contents: Vec<(String, String)>,
    figures: usize,
}

impl Page {
    /// Begins a section.
    fn section(&mut self, title: &str) {
        let id = format!("s{}", self.contents.len() + 1);
        if !self.contents.is_empty() {
            self.body.push_str("</section>\n");
        }
        let _ = writeln!(
            self.body,
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{}</h2>",
            escape(title)
        );
        self.contents.push((id, title.to_string()));
    }

    /// A paragraph of plain text.
    fn say(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
    }

    /// Pictures with a caption and the numbers behind them.
    fn figure(&mut self, caption: &str, pictures: Vec<Svg>, numbers: &[Grid]) {
        self.figures += 1;
        let id = format!("figure{}", self.figures);
        let _ = writeln!(self.body, "<figure><figcaption>{}</figcaption><div class=\"panels\">", escape(caption));
        for (i, picture) in pictures.into_iter().enumerate() {
            self.body.push_str(&picture.finish(&format!("{id}-{}", i + 1)));
        }
        self.body.push_str("</div>\n");
        for (i, grid) in numbers.iter().enumerate() {
            let _ = writeln!(self.body, "<details><summary>Numbers: {}</summary>", escape(&grid.caption));
            self.save(grid, &format!("{id}-numbers{}", i + 1));
            self.body.push_str("</details>\n");
        }
        self.body.push_str("</figure>\n");
    }

    /// A section that every format has.
    fn write(&mut self, section: Section, of: &str) {
        self.section(&format!("{}{of}", section.title));
        for block in section.blocks {
            match block {
                Block::Say(text) => self.say(&text),
                Block::Warn(text) => {
                    let _ = writeln!(self.body, "<p class=\"note\"><strong>Note:</strong> {}</p>", escape(&text));
                }
                Block::Table(grid) => self.table(&grid),
                Block::Figure { caption, pictures, numbers } => self.figure(&caption, pictures, &numbers),
            }
        }
    }

    /// A table in full view.
    fn table(&mut self, grid: &Grid) {
        self.figures += 1;
        let id = format!("table{}", self.figures);
        self.save(grid, &id);
    }

    fn save(&mut self, grid: &Grid, id: &str) {
        self.body.push_str(&grid.html(id));
        let _ = writeln!(self.body, "<button type=\"button\" data-table=\"{id}\" hidden>Save as CSV</button>");
    }
}

/// A page stays below this, so that it can be mailed and opens at once.
const LIMIT: usize = 500_000;

/// What a page of many runs leaves out of each, one after the other, until it is small enough.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Left {
    Nothing,
    CountersAndNetwork,
    Distributions,
}

/// One page for one record or several.
pub fn page(views: &[View<'_>]) -> String {
    page_beside(views, &[])
}

/// The same, with these systems beside runs of HPC Challenge.
pub fn page_beside(views: &[View<'_>], systems: &[System]) -> String {
    let tries = [Left::Nothing, Left::CountersAndNetwork, Left::Distributions];
    let mut pages = tries.into_iter().map(|left| page_without(views, systems, left));
    let first = pages.next().expect("there is a first try");
    // One run has nothing to give up: its parts have limits of their own.
    if first.len() < LIMIT || views.len() == 1 {
        return first;
    }
    pages.reduce(|page, smaller| if page.len() < LIMIT { page } else { smaller }).unwrap_or(first)
}

fn page_without(views: &[View<'_>], systems: &[System], left: Left) -> String {
    let mut page = Page { body: String::new(), contents: Vec::new(), figures: 0 };
    match left {
        Left::Nothing => {}
        Left::CountersAndNetwork => page.say(
            "So many runs do not fit one page: their counters and networks are left out here and are on the pages of each run.",
        ),
        Left::Distributions => page.say(
            "So many runs do not fit one page: their distributions, counters and networks are left out here and are on the pages of each run.",
        ),
    }
    for (i, view) in views.iter().enumerate() {
        let of = if views.len() > 1 { format!(" of run {}", i + 1) } else { String::new() };
        let sections = crate::section::sections(view);
        let told = !sections.is_empty();
        key::write(&mut page, view, &of, told);
        sections.into_iter().for_each(|section| page.write(section, &of));
        if left < Left::Distributions {
            distributions::write(&mut page, view, &of);
        }
        // Runs of hundreds of points have no two phases to compare; the CSV format has their counters.
        if !told && left < Left::CountersAndNetwork {
            network::write(&mut page, view, &of, views.len());
            counters::write(&mut page, view, &of, views.len());
        }
    }
    hpcc::write(&mut page, views, systems);
    systems::write(&mut page, views);
    for (i, view) in views.iter().enumerate() {
        let of = if views.len() > 1 { format!(", run {}", i + 1) } else { String::new() };
        what::write(&mut page, view, &of);
    }
    let title = match views {
        [one] => format!("{} on {}", one.record.plan.suite, one.machine()),
        several => format!("{} runs", several.len()),
    };
    let mut heads = String::new();
    for view in views {
        let word = view.outcome().word();
        let about = format!("{}, {}, seed {}", view.machine(), view.layout(), view.record.plan.seed);
        let _ = writeln!(heads, "<p><span class=\"badge {word}\">{word}</span> {}</p>", escape(&about));
    }
    let version = views.first().map(|v| v.record.tailback.as_str()).unwrap_or_default();
    let made = format!(
        "Made by Tailback {} from the record of the run; it can be made again with <code>tailback report --format html</code>.",
        escape(version)
    );
    whole(&title, &heads, &made, page)
}

/// The document around what stands in `main`; heads and foot are HTML.
fn whole(title: &str, heads: &str, made: &str, page: Page) -> String {
    let mut links = String::new();
    for (id, title) in &page.contents {
        let _ = write!(links, "<li><a href=\"#{id}\">{}</a></li>", escape(title));
    }
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<title>Tailback: {title}</title>\n\
         <style>\n{}{STYLE}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n\
         <header><h1>{title}</h1>\n{heads}</header>\n<nav aria-label=\"Contents\"><ul>{links}</ul></nav>\n\
         <main id=\"main\">\n{}</section>\n</main>\n\
         <footer>{made}</footer>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        svg::STYLE,
        page.body
    )
}
