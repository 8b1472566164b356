//! The page of one run or several: what its subjects say, what they say of all together, and what ran.

use super::page::{Page, whole};
use crate::facts::{command, facts};
use crate::runs::labels;
use crate::section::{Room, Section};
use crate::subjects::{SUBJECTS, sections};
use crate::svg::escape;
use crate::view::View;
use record::MachineRecord;
use record::hpcc_systems::System;
use std::fmt::Write;

/// A page stays below this, so that it can be mailed and opens at once.
const LIMIT: usize = 500_000;

/// One page for one record or several.
pub fn page(views: &[View<'_>]) -> String {
    page_beside(views, &[])
}

/// The same, with these systems beside runs that they can be compared with.
pub fn page_beside(views: &[View<'_>], systems: &[System]) -> String {
    let views: Vec<View<'_>> = views.iter().map(|v| View { runs_on_page: views.len(), ..v.clone() }).collect();
    let whole = page_with(&views, systems, Room::OwnPage);
    // One run has nothing to give up: its parts have limits of their own.
    if whole.len() < LIMIT || views.len() == 1 {
        return whole;
    }
    let smaller = page_with(&views, systems, Room::Page);
    if smaller.len() < LIMIT { smaller } else { page_with(&views, systems, Room::Document) }
}

fn page_with(views: &[View<'_>], systems: &[System], room: Room) -> String {
    let mut page = Page::default();
    let left_out = match room {
        Room::OwnPage => None,
        Room::Page => Some("counters, networks and lists of tests"),
        Room::Terminal | Room::Verbose | Room::Document => Some("tails, counters, networks and lists of tests"),
    };
    if let Some(parts) = left_out {
        page.say(&format!(
            "So many runs do not fit one page: their {parts} are left out here and are on the pages of each run."
        ));
    }
    let together: Vec<Section> = SUBJECTS.iter().flat_map(|s| (s.together)(views, systems)).collect();
    let alone = together.is_empty();
    if let [one] = views {
        run(&mut page, one, room);
    }
    for section in together {
        page.section(&section.title);
        page.blocks(section);
    }
    if views.len() > 1 {
        // Several runs are read side by side first; what each says alone is folded below, unless nothing stands above it.
        views.iter().zip(labels(views)).for_each(|(view, label)| folded(&mut page, view, &label, room, alone));
    }
    for (i, view) in views.iter().enumerate() {
        let of = if views.len() > 1 { format!(", run {}", i + 1) } else { String::new() };
        what_ran(&mut page, view, &of);
    }
    document(views, page)
}

/// All that one of several runs says, folded.
fn folded(page: &mut Page, view: &View<'_>, label: &str, room: Room, open: bool) {
    page.section(&upper(label));
    warnings(&mut page.body, &view.warnings());
    let sections: Vec<Section> = sections(view).into_iter().filter(|s| s.room <= room).collect();
    if sections.is_empty() {
        return page.say("Nothing that was measured is in this record.");
    }
    // Of very many runs only what stands side by side fits, unless nothing does.
    if room < Room::Page && !open {
        return page.say("Its numbers stand side by side with the others above; all of them are on its own page.");
    }
    let open = if open { " open" } else { "" };
    let _ = writeln!(page.body, "<details{open}><summary>All that this run says</summary>");
    for section in sections {
        let _ = writeln!(page.body, "<h3>{}</h3>", escape(&section.title));
        page.blocks(section);
    }
    page.body.push_str("</details>\n");
}

/// With a capital, as a heading begins.
fn upper(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// The sections of a run; warnings stand in the first, before any number.
fn run(page: &mut Page, view: &View<'_>, room: Room) {
    let mut warned = false;
    for section in sections(view).into_iter().filter(|s| s.room <= room) {
        page.section(&section.title);
        if !warned {
            warnings(&mut page.body, &view.warnings());
            warned = true;
        }
        page.blocks(section);
    }
    if !warned {
        page.section("No results");
        warnings(&mut page.body, &view.warnings());
        page.say("Nothing that was measured is in this record.");
    }
}

/// What to know before believing a number; folded when there is much of it.
fn warnings(out: &mut String, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let open = if warnings.len() <= 3 { " open" } else { "" };
    let _ =
        writeln!(out, "<details class=\"warnings\"{open}><summary>Read this first ({})</summary><ul>", warnings.len());
    for warning in warnings {
        let _ = writeln!(out, "<li>{}</li>", escape(warning));
    }
    out.push_str("</ul></details>\n");
}

/// Everything about what ran, so that a page found in a drawer can be believed and repeated.
fn what_ran(page: &mut Page, view: &View<'_>, of: &str) {
    page.section(&format!("What ran{of}"));
    page.body.push_str("<dl>");
    for (name, value) in facts(view) {
        let _ = writeln!(page.body, "<dt>{}</dt><dd>{}</dd>", escape(&name), escape(&value));
    }
    page.body.push_str("</dl>\n");
    page.say("The command that repeats it:");
    let _ = writeln!(page.body, "<pre><code>{}</code></pre>", escape(&command(&view.record.command)));
    if let MachineRecord::Simulated { file, .. } = &view.record.machine {
        let _ = writeln!(
            page.body,
            "<details><summary>The machine file</summary><pre><code>{}</code></pre></details>",
            escape(file)
        );
    }
}

fn document(views: &[View<'_>], page: Page) -> String {
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
