//! The simulated network drawn, its cables coloured by stalled time, with a slider over the slices of the run.

use super::Page;
use crate::grid::{Grid, exact};
use crate::svg::escape;
use crate::svg::network::{Bar, MEANING, network};
use crate::view::View;
use record::{BundleRecord, NetworkRecord};
use std::fmt::Write;

/// Bundles of a page that are drawn one by one, each about 150 bytes of a page that must stay under 500 kB.
const DRAWN: usize = 600;
/// Rows of the table of bundles, on a page of one run.
const ROWS: usize = 160;

pub(super) fn write(page: &mut Page, view: &View<'_>, of: &str, pages: usize) {
    let Some(record) = &view.record.network else { return };
    let bars = bars(record);
    let Some(shown) = (0..bars.len()).max_by(|&a, &b| bars[a].share.total_cmp(&bars[b].share).then(b.cmp(&a))) else {
        return;
    };
    page.section(&format!("Where the network stalled{of}"));
    let what = if record.grouped {
        "A box is a group of switches, coloured by the cables inside it"
    } else {
        "A box is a switch"
    };
    let caption = format!(
        "The simulated network. Each line is all cables from one box to another, one way, coloured by the share of time in which \
         packets waited for room beyond a free cable: traffic keeps to the right of its way. {what}; the strip below it tells of its \
         NICs. The bars are the slices of the run, high where cables stalled; a stroke below them is the beginning of a phase."
    );
    page.figures += 1;
    let id = format!("figure{}", page.figures);
    let _ = writeln!(page.body, "<figure class=\"film\"><figcaption>{}</figcaption>", escape(&caption));
    let _ = writeln!(
        page.body,
        "<p class=\"slider\" hidden><label for=\"{id}-slider\">Slice of the run</label> \
         <input type=\"range\" id=\"{id}-slider\" min=\"1\" max=\"{}\" value=\"{}\" aria-valuetext=\"{text}\"></p>\n\
         <p><output for=\"{id}-slider\" aria-live=\"off\">{text}</output></p>\n<div class=\"panels whole\">",
        bars.len(),
        shown + 1,
        text = escape(&bars[shown].text)
    );
    let about = format!("{}. The tables have the numbers of all slices.", bars[shown].text);
    let picture = network("The network and where it stalled", &about, record, &bars, (shown, DRAWN / pages.max(1)));
    page.body.push_str(&picture.finish(&format!("{id}-1")));
    page.body.push_str("</div>\n<p class=\"key\">Stalled time:");
    for (level, words) in MEANING.iter().enumerate() {
        let _ = write!(page.body, " <span><i class=\"k{level}\"></i>{words}</span>");
    }
    page.body.push_str("</p>\n");
    for (i, grid) in [slices(record), bundles(record, ROWS / pages.max(1))].iter().enumerate() {
        let _ = writeln!(page.body, "<details><summary>Numbers: {}</summary>", escape(&grid.caption));
        page.save(grid, &format!("{id}-numbers{}", i + 1));
        page.body.push_str("</details>\n");
    }
    page.body.push_str("</figure>\n");
}

/// The share of a slice in which the cables stalled: the mean over all that are recorded, those into NICs left out, which never do.
fn mean(record: &NetworkRecord, slice: usize) -> f64 {
    let (mut stalled, mut cables) = (0.0, 0.0);
    for bundle in record.bundles.iter().filter(|b| b.kind != "eject") {
        stalled += bundle.stalled(&record.slices, slice) * f64::from(bundle.cables);
        cables += f64::from(bundle.cables);
    }
    stalled / f64::max(cables, 1.0)
}

/// The bundle that stalled most in a slice, with its share.
fn worst(record: &NetworkRecord, slice: usize) -> Option<(&BundleRecord, f64)> {
    let all = record.bundles.iter().map(|b| (b, b.stalled(&record.slices, slice))).filter(|(_, share)| *share > 0.0);
    all.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn ms(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e3)
}

fn percent(share: f64) -> String {
    exact((share * 1e4).round() / 1e2)
}

fn bars(record: &NetworkRecord) -> Vec<Bar> {
    let text = |i: usize, share: f64| {
        let slice = &record.slices[i];
        let worst =
            worst(record, i).map_or(String::new(), |(b, share)| format!("; {} {} %", record.name(b), percent(share)));
        let (from, to) = (ms(slice.from_s), ms(slice.to_s));
        format!("{}, {from} to {to} ms: cables stalled {} % of the time{worst}", slice.phase, percent(share))
    };
    let bar = |i: usize| {
        let share = mean(record, i);
        Bar { share, text: text(i, share), begins: i == 0 || record.slices[i - 1].phase != record.slices[i].phase }
    };
    (0..record.slices.len()).map(bar).collect()
}

fn slices(record: &NetworkRecord) -> Grid {
    let header = ["Slice", "phase", "from ms", "to ms", "sent by NICs, bytes", "stalled %", "worst", "stalled there %"];
    let mut grid = Grid::new("What the network did in each slice of virtual time", &header);
    for (i, slice) in record.slices.iter().enumerate() {
        let sent: u64 = record.bundles.iter().filter(|b| b.kind == "inject").map(|b| b.bytes.at(i)).sum();
        let (where_, share) = worst(record, i).map_or(("-".into(), 0.0), |(b, share)| (record.name(b), share));
        let mut row =
            vec![(i + 1).to_string(), slice.phase.clone(), ms(slice.from_s), ms(slice.to_s), sent.to_string()];
        row.extend([percent(mean(record, i)), where_, percent(share)]);
        grid.row(row);
    }
    grid
}

fn bundles(record: &NetworkRecord, rows: usize) -> Grid {
    let left = record.bundles.len().saturating_sub(rows);
    let more = if left > 0 { format!("; {left} more are in the record") } else { String::new() };
    let header = ["Cables", "number", "bytes", "load %", "stalled %", "worst slice", "stalled then %"];
    let mut grid = Grid::new(&format!("Cables by stalled time over all slices{more}"), &header);
    let seconds: f64 = record.slices.iter().map(|s| s.to_s - s.from_s).sum();
    for b in record.bundles.iter().take(rows) {
        let share = |i: usize| b.stalled(&record.slices, i);
        let at = record.worst_slice(b);
        let load = b.bytes.sum() as f64 / (b.rate_bytes_per_s * seconds).max(1e-9);
        let mut row = vec![record.name(b), b.cables.to_string(), b.bytes.sum().to_string(), percent(load)];
        row.extend([percent(b.stalled_in_all(&record.slices)), (at + 1).to_string(), percent(share(at))]);
        grid.row(row);
    }
    grid
}
