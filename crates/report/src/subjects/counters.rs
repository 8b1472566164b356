//! Counters over nodes: where the load is uneven is where to look first. Tables of the largest spread, and violins as in the
//! paper's Figures 8 to 10: one picture per counter, one row per phase and job.

use crate::grid::{Grid, exact};
use crate::section::{Block, Room, Section};
use crate::svg::density::log_density;
use crate::svg::rows::{Rows, Words};
use crate::svg::{Anchor, Scale, Svg};
use crate::view::{View, is_one_of_many};
use record::{About, CounterRecord, Load, PhaseRecord, Role, RunRecord};

/// Rows of the table of the largest spread.
const WIDEST: usize = 8;
/// So many violins are about 200 kB of a page that must stay under 500 kB; `--format csv` has every counter.
const VIOLINS: usize = 120;
/// So many rows of numbers are about 100 kB.
const ROWS: usize = 500;

/// Of so few nodes every one is a dot; a density would show a shape that they do not have.
const DOTS: usize = 12;

/// What counters count, by the ends of their names.
const WORDS: [(&str, &str); 14] = [
    ("tx_bytes", "bytes sent"),
    ("rx_bytes", "bytes received"),
    ("tx_packets", "packets sent"),
    ("rx_packets", "packets received"),
    ("tx_stalled_ps", "picoseconds in which something waited to be sent and the network took nothing"),
    ("forwarded_bytes", "bytes that the node's switch sent to other switches"),
    (
        "stalled_ps",
        "picoseconds in which packets waited for a cable from the node's switch to another that had no room, of all cables",
    ),
    (
        "waiting_byte_ns",
        "bytes that waited in the node's switch, but for the packet that is next at each output, times nanoseconds: over the length of the phase it is how many waited on average",
    ),
    ("tx_dropped", "packets thrown away before they were sent"),
    ("rx_dropped", "packets thrown away after they came"),
    ("port_xmit_data_bytes", "bytes sent"),
    ("port_rcv_data_bytes", "bytes received"),
    ("port_xmit_wait", "ticks in which something waited to be sent and the network took nothing"),
    ("RetransSegs", "segments that TCP sent again"),
];

type Counted<'a> = (&'a PhaseRecord, &'a CounterRecord);

/// The sections of a record with counters.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    let mut all = Vec::new();
    let spread = widest(view);
    if !spread.rows.is_empty() {
        let mut section = Section::with_room(Room::Verbose, "Counters of loaded phases");
        let said = words(spread.rows.iter().map(|row| row[0].as_str()));
        section.list(spread);
        section.say("Over nodes, largest spread first; the record holds all counters.");
        section.blocks.extend(said.map(Block::Say));
        all.push(section);
    }
    // Words that stand above already are not said again.
    all.extend(violins(view, all.is_empty()));
    all
}

/// What those of these counters count that have words.
fn words<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let ends: Vec<&str> = names.map(|name| name.rsplit('.').next().unwrap_or(name)).collect();
    let known = WORDS.iter().filter(|(end, _)| ends.contains(end));
    let said: Vec<String> = known.map(|(end, words)| format!("{end}: {words}")).collect();
    (!said.is_empty()).then(|| format!("{}.", said.join("; ")))
}

/// The counters of phases under load, those with the largest spread first.
fn widest(view: &View<'_>) -> Grid {
    let mut rows: Vec<(f64, Vec<String>)> = Vec::new();
    for phase in view.record.phases.iter().filter(|p| p.jobs.iter().any(|j| j.role == Role::Background)) {
        for counter in phase.counters.iter().filter(|c| c.per_node.len() > 1) {
            let (mut row, values) =
                (vec![counter.name.clone(), counter.job.clone(), phase.name.clone()], counter.rising());
            // Phases differ in length, so only growth per second can be compared between them.
            row.extend([0.0, 0.5, 1.0].map(|q| short(at(&values, q) / phase.elapsed_s)));
            row.push(alone(view, phase, counter).map_or("-".into(), |x| format!("{} x", crate::table::digits(x))));
            row.push(phase.node_of_most(counter).map_or("-".into(), |node| view.record.host(node)));
            rows.push((spread(counter), row));
        }
    }
    // A stable sort keeps the order of phases among equals, so the same record gives the same table.
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let header = ["Counter, per second", "nodes of", "during", "min", "median", "max", "median, of alone", "max on"];
    let mut grid = Grid::new("Counters of loaded phases", &header);
    rows.into_iter().take(WIDEST).for_each(|(_, row)| grid.row(row));
    // Runs that measure nothing have nothing alone.
    let column = header.len() - 2;
    if grid.rows.iter().all(|row| row[column] == "-") {
        grid.header.remove(column);
        grid.rows.iter_mut().for_each(|row| drop(row.remove(column)));
    }
    grid
}

/// How much faster a counter grew on the median node than in the same test alone: the paper's Figures 8 to 10 are normalised so.
fn alone(view: &View<'_>, loaded: &PhaseRecord, counter: &CounterRecord) -> Option<f64> {
    let About::Loaded { test, .. } = &loaded.about else { return None };
    let quiet = |p: &&PhaseRecord| matches!(&p.about, About::Alone { test: other } if other == test);
    let quiet = view.record.phases.iter().find(quiet)?;
    let same = quiet.counters.iter().find(|c| (&c.name, &c.job) == (&counter.name, &counter.job))?;
    let median = |phase: &PhaseRecord, c: &CounterRecord| at(&c.rising(), 0.5) / phase.elapsed_s;
    let (before, now) = (median(quiet, same), median(loaded, counter));
    (before > 0.0).then(|| now / before)
}

/// Alone and under all load is what a reader compares first; idle nodes and single congestors are left to the table. One node has
/// no distribution.
fn is_drawn((phase, counter): &Counted<'_>) -> bool {
    let single = matches!(phase.about, About::Loaded { by: Load::Only(_), .. });
    !single && counter.job != "idle" && counter.per_node.len() > 1
}

fn violins(view: &View<'_>, in_words: bool) -> Option<Section> {
    let (most, rows) = (VIOLINS / view.runs_on_page, ROWS / view.runs_on_page);
    let mut all: Vec<Counted<'_>> = Vec::new();
    // Runs of hundreds of points have no two phases to compare; the CSV format has their counters.
    for phase in view.record.phases.iter().filter(|p| !is_one_of_many(p)) {
        all.extend(phase.counters.iter().map(|c| (phase, c)));
    }
    let mut groups: Vec<(&str, Vec<Counted<'_>>)> = Vec::new();
    for &one in all.iter().filter(|c| is_drawn(c)) {
        match groups.iter_mut().find(|(name, _)| *name == one.1.name) {
            Some((_, group)) => group.push(one),
            None => groups.push((&one.1.name, vec![one])),
        }
    }
    // A logarithmic axis needs a value above 0.
    groups.retain(|(_, group)| group.iter().any(|(_, c)| c.per_node.iter().any(|&v| v > 0)));
    let mut grid = Grid::new(
        "Growth of counters during a phase, over the nodes of a job",
        &["Counter", "phase", "job", "nodes", "nodes at 0", "min", "10%", "50%", "90%", "max", "sum", "max on"],
    );
    all.iter().take(rows).for_each(|(phase, counter)| grid.row(row(view.record, phase, counter)));
    if grid.rows.is_empty() {
        return None;
    }
    let (mut drawn, mut pictures) = (0, Vec::new());
    for (name, group) in &groups {
        drawn += group.len();
        // A counter is drawn with all its rows or not at all: they are there to be compared.
        if drawn > most {
            break;
        }
        pictures.push(picture(name, group));
    }
    let left = groups.len() - pictures.len() + all.len().saturating_sub(rows);
    let more = if left > 0 { " More counters than fit here are in the CSV format of the report." } else { "" };
    let caption = format!(
        "How each counter grew on the nodes of a job during a phase; of up to {DOTS} nodes each is a \
         dot, of more the density (computed in the logarithm) is drawn and the smallest, the median and the largest node. Nodes at 0 are counted beside the row. Idle nodes and single \
         congestors are in the table only.{more}"
    );
    let mut section = Section::with_room(Room::OwnPage, "Counters over nodes");
    let said = words(groups.iter().map(|(name, _)| *name)).filter(|_| in_words);
    section.blocks.extend(said.map(Block::Say));
    section.figure(caption, pictures, vec![grid]);
    Some(section)
}

/// The value of the node at this share of them, of values in rising order.
fn at(rising: &[u64], share: f64) -> f64 {
    let last = rising.len().saturating_sub(1);
    rising.get((share * last as f64).round() as usize).map_or(f64::NAN, |&v| v as f64)
}

fn row(record: &RunRecord, phase: &PhaseRecord, counter: &CounterRecord) -> Vec<String> {
    let most = phase.node_of_most(counter).map_or("-".into(), |node| record.host(node));
    let zeros = counter.per_node.iter().filter(|&&v| v == 0).count();
    let sum: u128 = counter.per_node.iter().map(|&v| u128::from(v)).sum();
    let mut row = vec![counter.name.clone(), phase.name.clone(), counter.job.clone()];
    row.extend([counter.per_node.len().to_string(), zeros.to_string()]);
    let values = counter.rising();
    row.extend([0.0, 0.1, 0.5, 0.9, 1.0].map(|q| exact(at(&values, q))));
    row.push(sum.to_string());
    row.push(most);
    row
}

fn picture(name: &str, counters: &[Counted<'_>]) -> Svg {
    let positive =
        |c: &CounterRecord| c.rising().into_iter().filter(|&v| v > 0).map(|v| v as f64).collect::<Vec<f64>>();
    let values: Vec<Vec<f64>> = counters.iter().map(|(_, c)| positive(c)).collect();
    let (low, high) = values.iter().flatten().fold((f64::INFINITY, 0.0f64), |(a, b), &v| (a.min(v), b.max(v)));
    let mut names = Vec::new();
    for (phase, counter) in counters {
        let zeros = counter.per_node.iter().filter(|&&v| v == 0).count();
        let zeros = if zeros > 0 { format!(" ({zeros} at 0)") } else { String::new() };
        names.push((format!("{}{zeros}", phase.label(&counter.job)), ""));
    }
    let about = format!("Nodes of {name}, one row per phase and job; the table has the numbers.");
    let words = Words { title: name, about: &about, axis: "growth during the phase" };
    let mut rows = Rows::new(words, Scale::log(low, high), &names, 22.0);
    for (row, values) in values.iter().enumerate() {
        let (Some(first), Some(last)) = (values.first(), values.last()) else { continue };
        if values.len() <= DOTS {
            values.iter().for_each(|v| rows.dot(row, 0.0, "s3", *v, None, &format!("{name}: {}", short(*v))));
            continue;
        }
        let density = log_density(values.iter().map(|&v| (v, v, 1)));
        rows.violin(row, "s3", &density, &[*first, values[values.len() / 2], *last]);
    }
    rows.svg.text("value", (8.0, 14.0), Anchor::Start, name);
    rows.svg
}

/// The coefficient of variation: standard deviation over mean. 0 where all nodes are alike or none counted.
fn spread(counter: &CounterRecord) -> f64 {
    let n = counter.per_node.len() as f64;
    let mean = counter.per_node.iter().map(|x| *x as f64).sum::<f64>() / n;
    let variance = counter.per_node.iter().map(|x| (*x as f64 - mean).powi(2)).sum::<f64>() / n;
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}

/// Three digits with a decimal prefix.
fn short(x: f64) -> String {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match prefixes.iter().find(|(scale, _)| x >= *scale) {
        Some((scale, prefix)) => format!("{} {prefix}", crate::table::digits(x / scale)),
        None => crate::table::digits(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_and_nodes_known_by_hand() {
        let counter = |values: &[u64]| CounterRecord { name: "a".into(), job: "b".into(), per_node: values.to_vec() };
        assert_eq!(spread(&counter(&[5, 5, 5])), 0.0);
        assert_eq!(spread(&counter(&[0, 0])), 0.0);
        assert_eq!(spread(&counter(&[0, 10])), 1.0);
        assert_eq!([0.0, 0.5, 1.0].map(|q| at(&counter(&[2, 9, 1]).rising(), q)), [1.0, 2.0, 9.0]);
        assert_eq!(words(["net.eth0.rx_bytes", "x.unheard"].into_iter()).as_deref(), Some("rx_bytes: bytes received."));
        assert_eq!(words(["x.unheard"].into_iter()), None);
        assert_eq!([short(0.0), short(12.0), short(1.5e9)], ["0", "12.0", "1.50 G"]);
    }
}
