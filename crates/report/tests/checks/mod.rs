//! What must hold for every subject and every format, as functions that say what is wrong. `tests/every.rs` iterates the tables with
//! them, and shows that they catch entries that are wrong.

pub mod tables;

use record::RunRecord;
use tables::{Table, number, of_html, of_markdown, of_text};
use tailback_report::section::Room;
use tailback_report::{Format, Merit, Subject, View, merits};

/// Numbers that were found in a text and agree.
pub type Compared = usize;

/// A format writes something of a record or refuses it by its own field, and every figure of merit that it shows is the right one.
pub fn format(format: &Format, record: &RunRecord) -> Result<Compared, String> {
    let view = View::new(record);
    let text = match format.write(&view) {
        Ok(text) => text,
        Err(why) if format.only.is_some() && why.contains(format.name) => return Ok(0),
        Err(why) => return Err(format!("refused without a reason in its entry: {why}")),
    };
    if text.trim().is_empty() {
        return Err("nothing is written".into());
    }
    if format.only.is_none() {
        has_every_subject(format.name, &text, &view)?;
    }
    let all = merits(&view);
    match format.name {
        "text" => rows_of_tests(&text, &view),
        "long" => by_table(&all, &of_text(&text), record),
        "fom" => by_name(&all, &fom_lines(&text)),
        "csv" => by_name(&all, &merit_rows(&text)),
        "openmetrics" => by_name(&all, &merit_gauges(&text)),
        "markdown" => by_table(&all, &of_markdown(&text), record),
        "html" => by_table(&all, &of_html(&text), record),
        _ => Ok(0),
    }
}

/// People's formats have the title of every section that a terminal has room for; data have every measured phase.
fn has_every_subject(name: &str, text: &str, view: &View<'_>) -> Result<(), String> {
    // These two leave most of it out.
    if matches!(name, "text" | "fom") {
        return if text.contains("RESULT: ") { Ok(()) } else { Err("the result is missing".into()) };
    }
    if matches!(name, "long" | "markdown" | "html") {
        for section in tailback_report::subjects::sections(view).iter().filter(|s| s.room == Room::Terminal) {
            if !text.contains(section.title.as_str()) {
                return Err(format!("the section `{}` is missing", section.title));
            }
        }
        return Ok(());
    }
    let missing = view.record.phases.iter().find(|p| !text.contains(&p.name));
    missing.map_or(Ok(()), |p| Err(format!("the phase `{}` is missing", p.name)))
}

/// A subject's sections have something in them, and its figures of merit are numbers that agree with its own tables.
pub fn subject(subject: &Subject, record: &RunRecord) -> Result<Compared, String> {
    let view = View::new(record);
    let mut text = String::new();
    for section in (subject.sections)(&view) {
        if section.title.is_empty() || section.blocks.is_empty() {
            return Err(format!("the section `{}` is empty", section.title));
        }
        text += &section.text();
    }
    let merits = (subject.merits)(&view);
    if !merits.is_empty() && text.is_empty() {
        return Err("figures of merit without a section".into());
    }
    by_table(&merits, &of_text(&text), record)
}

/// The short text has a row for each test under load, with its impact.
fn rows_of_tests(text: &str, view: &View<'_>) -> Result<Compared, String> {
    let mut found = 0;
    for canary in view.canaries.iter().filter(|_| view.canaries.iter().any(|c| c.impact().is_some())) {
        let row = text.lines().find(|l| l.trim_start().starts_with(canary.name) && l.starts_with("  "));
        let row = row.ok_or(format!("no row of {}", canary.name))?;
        let Some(impact) = canary.impact() else { continue };
        let (value, interval) = (impact.average.value, impact.average.interval);
        // Two digits or three.
        let within = if interval.is_some_and(|i| i.relative(value) > 0.1) { 0.06 } else { 0.006 };
        let near = |word: &str| word.parse::<f64>().is_ok_and(|x| (x / value - 1.0).abs() < within);
        if !row.split_whitespace().any(near) {
            return Err(format!("its row has no {:.3}: {row}", impact.average.value));
        }
        found += 1;
    }
    Ok(found)
}

fn fom_lines(text: &str) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    for line in text.lines().filter_map(|l| l.strip_prefix("FOM ")) {
        let mut words = line.split(' ');
        found.push((words.next().unwrap().to_string(), words.next().unwrap().parse().unwrap()));
    }
    found
}

fn merit_rows(text: &str) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    for line in text.lines().filter(|l| l.contains(",merit,")) {
        // Cells before the name may hold commas in quotes; those after it hold none.
        let rest = line.split_once(",merit,").unwrap().1;
        let cells: Vec<&str> = rest.split(',').collect();
        found.push((cells[0].to_string(), cells[4].parse().unwrap()));
    }
    found
}

fn merit_gauges(text: &str) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    for line in text.lines().filter(|l| l.starts_with("tailback_merit{") && l.contains("bound=\"estimate\"")) {
        let name = line.split("name=\"").nth(1).unwrap().split('"').next().unwrap();
        found.push((name.to_string(), line.rsplit(' ').next().unwrap().parse().unwrap()));
    }
    found
}

/// Every figure is there under its name.
fn by_name(merits: &[Merit], found: &[(String, f64)]) -> Result<Compared, String> {
    for merit in merits {
        let Some((_, x)) = found.iter().find(|(name, _)| *name == merit.name) else {
            return Err(format!("{} is missing", merit.name));
        };
        // Six decimals, or seven digits of what is small.
        if (x - merit.known.value).abs() > 1e-6 * merit.known.value.abs().max(1.0) {
            return Err(format!("{} is {}, shown is {x}", merit.name, merit.known.value));
        }
    }
    Ok(merits.len())
}

/// Where a table shows a figure, it shows the right number.
fn by_table(merits: &[Merit], tables: &[Table], record: &RunRecord) -> Result<Compared, String> {
    let mut compared = 0;
    // What is not known is a dash in a table and no figure.
    for merit in merits.iter().filter(|m| m.known.value.is_finite()) {
        let Some((caption, row, column, scale)) = place(merit, record) else { continue };
        let found = tables.iter().filter(|t| t.caption.starts_with(caption));
        let cells: Vec<&str> = found.filter_map(|t| t.cell(&row, column)).collect();
        // A terminal shows some rows of a large table; where the row is missing there is nothing to compare.
        let Some(cell) = cells.first() else { continue };
        let (shown, half) = number(cell).ok_or_else(|| format!("{}: `{cell}` is no number", merit.name))?;
        if (shown - merit.known.value * scale).abs() > half {
            return Err(format!("{} is {}, its table has `{cell}`", merit.name, merit.known.value * scale));
        }
        compared += 1;
    }
    Ok(compared)
}

/// The table, row and column in which a figure of merit stands, and what its value is multiplied by there.
fn place(merit: &Merit, record: &RunRecord) -> Option<(&'static str, String, &'static str, f64)> {
    let name = merit.name.strip_prefix(&format!("{}.", record.plan.suite))?;
    if let Some(rules) = name.strip_suffix(".error") {
        return Some(("Errors in %", rules.into(), "mean", 1.0));
    }
    for (result, row, scale) in [
        ("mpi.hpl.flops_per_s", "G-HPL", 1e-12),
        ("mpi.ptrans.bytes_per_s", "G-PTRANS", 1e-9),
        ("mpi.random-access.updates_per_s", "G-RandomAccess", 1e-9),
        ("mpi.ring-latency.random_latency_s", "RandomRing latency", 1e6),
    ] {
        if name == result {
            return Some(("The columns of the results page", row.into(), "value", scale));
        }
    }
    for (suffix, column) in [
        (".isolated.avg", "alone: avg"),
        (".isolated.p99", "alone: 99%"),
        (".loaded.avg", "loaded: avg"),
        (".loaded.p99", "loaded: 99%"),
    ] {
        if let Some(test) = name.strip_suffix(suffix) {
            return Some(("Impact of congestion", test.into(), column, 1.0));
        }
    }
    if let Some((test, rest)) = name.split_once(".by.") {
        let (congestor, statistic) = rest.rsplit_once('.')?;
        let column = record.phases.iter().flat_map(|p| &p.jobs).find(|j| j.name == congestor)?;
        let caption = if statistic == "impact" { "Impact, average" } else { "Impact, 99%" };
        // Names of congestors are few: leaking them keeps the columns' names static.
        return Some((caption, test.into(), column.name.clone().leak(), 1.0));
    }
    for (suffix, column) in [(".impact", "impact: avg"), (".impact99", "impact: 99%")] {
        if let Some(test) = name.strip_suffix(suffix) {
            return Some(("Impact of congestion", test.into(), column, 1.0));
        }
    }
    let key = name.strip_suffix(".avg")?;
    let phase = record.phases.iter().find(|p| p.about.key() == key)?;
    Some(("Tests", phase.name.clone(), "avg", 1.0))
}
