//! The simulated network: which cables stalled longest, and a film of all of them, coloured by stalled time.

use crate::grid::{Grid, exact};
use crate::section::{Block, Room, Section};
use crate::svg::network::{Bar, network};
use crate::table::digits;
use crate::view::{View, is_one_of_many};
use record::{BundleRecord, NetworkRecord};

/// Bundles of a page that are drawn one by one, each about 150 bytes of a page that must stay under 500 kB.
const DRAWN: usize = 600;
/// Rows of the table of bundles, on a page of one run.
const ROWS: usize = 160;
/// Rows of the short table, and the share of time from which a bundle is worth one.
const WORST: usize = 5;
const WORTH: f64 = 0.01;

/// The sections of a record with a simulated network.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    let Some(record) = &view.record.network else { return Vec::new() };
    let mut all = Vec::new();
    let stalls = stalls(record);
    if !stalls.rows.is_empty() {
        let mut section = Section::with_room(Room::Verbose, "Cables that stalled longest");
        section.list(stalls);
        section.say("Share of the time in which packets waited for room beyond a free cable; the page draws all of them over time.");
        all.push(section);
    }
    // Runs of hundreds of points have no two phases to compare.
    if !view.record.phases.iter().all(is_one_of_many) {
        all.extend(film(record, view.runs_on_page));
    }
    all
}

/// The cables that stalled longest, if any did for long.
fn stalls(network: &NetworkRecord) -> Grid {
    let mut worth = Vec::new();
    for bundle in &network.bundles {
        let share = bundle.stalled_in_all(&network.slices);
        if share >= WORTH {
            worth.push((bundle, share));
        }
    }
    worth.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut grid = Grid::new("Cables that stalled longest", &["Cables", "number", "stalled", "at worst", "during"]);
    let percent = |share: f64| format!("{} %", digits(share * 100.0));
    for (bundle, share) in worth.into_iter().take(WORST) {
        let at = network.worst_slice(bundle);
        let worst = percent(bundle.stalled(&network.slices, at));
        let during = network.slices[at].phase.clone();
        grid.row([network.name(bundle), bundle.cables.to_string(), percent(share), worst, during]);
    }
    grid
}

fn film(record: &NetworkRecord, runs: usize) -> Option<Section> {
    let bars = bars(record);
    // `max_by` keeps the last of equals; turning the order round shows the first.
    let shown = (0..bars.len()).max_by(|&a, &b| bars[a].share.total_cmp(&bars[b].share).then(b.cmp(&a)))?;
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
    let about = format!("{}. The tables have the numbers of all slices.", bars[shown].text);
    let mut section = Section::with_room(Room::OwnPage, "Where the network stalled");
    section.blocks.push(Block::Film {
        caption,
        picture: network("The network and where it stalled", &about, record, &bars, (shown, DRAWN / runs)),
        times: bars.into_iter().map(|b| b.text).collect(),
        shown,
        numbers: vec![slices(record), bundles(record, ROWS / runs)],
    });
    Some(section)
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
        // Slices of no length would divide by 0.
        let load = b.bytes.sum() as f64 / (b.rate_bytes_per_s * seconds).max(1e-9);
        let mut row = vec![record.name(b), b.cables.to_string(), b.bytes.sum().to_string(), percent(load)];
        row.extend([percent(b.stalled_in_all(&record.slices)), (at + 1).to_string(), percent(share(at))]);
        grid.row(row);
    }
    grid
}
