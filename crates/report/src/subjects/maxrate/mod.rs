//! Max-rate: rates measured and modelled with the protocol's regions, parameters, errors as the paper's Table 2 and Figure 2, and advice.

mod answer;
mod pictures;

use crate::grid::Grid;
use crate::known::Known;
use crate::merit::{Merit, of_phase};
use crate::section::{Block, Room, Section};
use crate::table::digits;
use crate::view::View;
use model::maxrate::models::{Estimate, Limit};
use model::maxrate::probe::EagerLimit;
use model::maxrate::study::{BesideWork, Fitted, Queued, Study, Tripped};
use model::maxrate::{Fit, Pattern, Recorded, StudySettings, study};
use record::{About, Direction, Interval};

/// The sections of a record of max-rate.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    let data = Recorded::read(view.record, false);
    if data.is_empty() {
        return Vec::new();
    }
    match study(&data, &StudySettings::default()) {
        Ok(found) => of_study(&found),
        Err(why) => {
            let mut section = Section::new("Max-rate");
            section.warn(format!("no model could be fitted: {why}"));
            vec![section]
        }
    }
}

/// Replicates of the intervals of figures of merit; enough to tell what changed.
const REPLICATES: usize = 50;

/// Figures of merit: the parameters of models, which stand for hundreds of points; where none can be fitted, the points. Points
/// beside contention graphs only tell those their capacities.
pub fn merits(view: &View<'_>) -> Vec<Merit> {
    let modelled = of_models(view);
    let phases = &view.record.phases;
    if !modelled.is_empty() || phases.iter().any(|p| matches!(p.about, About::Graph { .. })) {
        return modelled;
    }
    let points = phases.iter().filter(|p| matches!(p.about, About::Point { .. }));
    points.flat_map(|p| of_phase(&view.record.plan.suite, p)).collect()
}

/// Model (3) of the largest messages, which every run has, the latency of the smallest, and the eager limit.
fn of_models(view: &View<'_>) -> Vec<Merit> {
    let data = Recorded::read(view.record, false);
    let settings = StudySettings { replicates: REPLICATES, ..StudySettings::default() };
    let Ok(found) = study(&data, &settings) else { return Vec::new() };
    let mut all = Vec::new();
    for fitted in &found.fits {
        let place = format!("maxrate.{}.{}", fitted.class, fitted.pattern.name());
        let phases = &fitted.report.phases;
        let large = phases.last().and_then(|p| p.fit("m3"));
        let small = phases.first().map(|p| p.chosen());
        for (name, fit, estimate, scale, unit, better) in [
            ("alpha", small, "alpha", 1e6, "usec", Direction::LowerIsBetter),
            ("rate_core", large, "rate_core", 1e-9, "GB/s", Direction::HigherIsBetter),
            ("rate_node", large, "rate_node", 1e-9, "GB/s", Direction::HigherIsBetter),
        ] {
            let Some(e) = fit.and_then(|f| f.estimates.iter().find(|e| e.name == estimate)) else { continue };
            // A rate that was not reached, or that the data do not show, is no figure.
            let unknown = name == "rate_node" && fit.is_some_and(|f| f.undetermined().next().is_some());
            let Some(value) = e.value.filter(|_| !unknown && !e.at_least) else { continue };
            let interval = e.low.zip(e.high).map(|(low, high)| Interval { low: low * scale, high: high * scale });
            all.push(Merit {
                name: format!("{place}.{name}"),
                known: Known { value: value * scale, interval },
                unit,
                better,
            });
        }
    }
    for probed in &found.probes {
        // `Always` and `Never` only bound the limit by the sizes tried, so they give no figure.
        if let EagerLimit::Blocks { below, .. } = probed.outcome {
            let known = Known::bare(below as f64);
            let name = format!("maxrate.{}.eager_limit", probed.class);
            all.push(Merit { name, known, unit: "B", better: Direction::HigherIsBetter });
        }
    }
    all
}

/// The sections of a study, for reports and for `fit`.
pub fn of_study(found: &Study) -> Vec<Section> {
    let mut all: Vec<Section> = answer::section(found).into_iter().collect();
    if let Some(answer) = all.first_mut() {
        hidden(&found.overlaps).into_iter().for_each(|said| answer.say(said));
    }
    all.extend(found.fits.iter().map(|fitted| of_fit(fitted, found)));
    all.extend(of_single_pairs(found));
    all.extend(of_overlaps(&found.overlaps, found.fits.is_empty()));
    if let Some(first) = all.first_mut() {
        // Each goes to the very front, so taking them in reverse keeps their order.
        let notes = found.notes.iter().rev().map(|n| Block::Warn(n.clone()));
        notes.for_each(|n| first.blocks.insert(0, n));
    }
    all
}

/// Pictures of so many fits show all of the paper's models; with more the page would be too large.
const FEW_FITS: usize = 2;

fn of_fit(fitted: &Fitted, found: &Study) -> Section {
    let title = format!("Max-rate: {}, {}", fitted.class, fitted.pattern.name());
    let mut section = Section::with_room(Room::Verbose, title);
    section.say(format!("Here {}.", fitted.pattern.times_are()));
    protocol(&mut section, fitted, found.probes.iter().find(|p| p.class == fitted.class).map(|p| p.outcome));
    section.table(parameters(fitted));
    one_way(&mut section, fitted);
    limits(&mut section, fitted);
    section.figure(
        format!(
            "Aggregate rate k n/T of k pairs: dots are measured, lines are the model chosen in each region. {}. Dashed lines \
             part the protocol's regions.",
            capital(fitted.pattern.node_rate_means())
        ),
        pictures::rates(fitted),
        vec![rates(fitted)],
    );
    section.table(errors(fitted));
    let few = found.fits.len() <= FEW_FITS;
    let maps = fitted.heat.iter().filter(|m| few || matches!(m.model.as_str(), "chosen" | "m3" | "postal-one-pair"));
    let (drawn, numbers) = maps.map(|m| pictures::heat(m, &fitted.report)).unzip();
    section.figure(
        "Relative error (f-T)/T of every size and number of pairs, as the paper's Figure 2: the models chosen here, then the paper's.",
        drawn,
        numbers,
    );
    advice(&mut section, fitted);
    section
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn protocol(section: &mut Section, fitted: &Fitted, probe: Option<EagerLimit>) {
    let cuts: Vec<_> = fitted.report.breaks.iter().filter(|b| b.protocol).collect();
    for cut in &cuts {
        let confirmed = match probe {
            Some(limit) if limit.confirms(cut) => "; the delayed receiver confirms it as the end of eager sends",
            _ => "",
        };
        section.say(format!("The protocol changes between {} and {} bytes{confirmed}.", cut.after_bytes, cut.bytes));
    }
    if let Some(limit) = probe {
        section.say(format!("Delayed receiver: {limit}."));
        // Regions come from jumps in the times alone, so a limit without a jump must not look forgotten.
        if matches!(limit, EagerLimit::Blocks { .. }) && !cuts.iter().any(|c| limit.confirms(c)) {
            section.say("The times show no jump there, so no region begins there.");
        }
    }
}

/// The columns of parameters: estimates that stand in one, unit and scale.
const COLUMNS: [(&str, &[&str], f64); 6] = [
    ("alpha us", &["alpha"], 1e6),
    ("alpha per pair us", &["alpha_step"], 1e6),
    // Model (4) has R_Cb, the rate of a first core, where the others have R_C: one column serves both.
    ("R_C (R_Cb) GB/s", &["rate_core", "rate_base"], 1e-9),
    ("R_Ci GB/s", &["rate_increment"], 1e-9),
    ("R_N GB/s", &["rate_node"], 1e-9),
    ("R_N/R_C", &["saturation"], 1.0),
];

fn shown(estimate: &Estimate, scale: f64) -> String {
    estimate.words(&|x| digits(x * scale))
}

fn parameters(fitted: &Fitted) -> Grid {
    let fits: Vec<(String, &Fit)> = fitted
        .report
        .phases
        .iter()
        .flat_map(|p| {
            let region = format!("{} to {} B", p.from_bytes, p.to_bytes);
            let wanted = p.fits.iter().filter(|f| f.model == p.chosen || f.model == "m3");
            wanted.map(move |f| (format!("{region}{}", if f.model == p.chosen { " *" } else { "" }), f))
        })
        .collect();
    let find = |fit: &Fit, names: &[&str], scale: f64| {
        fit.estimates.iter().find(|e| names.contains(&e.name.as_str())).map(|e| shown(e, scale))
    };
    let used: Vec<_> = COLUMNS.iter().filter(|c| fits.iter().any(|(_, f)| find(f, c.1, c.2).is_some())).collect();
    let header: Vec<&str> = ["Region", "model"].into_iter().chain(used.iter().map(|c| c.0)).chain(["BIC"]).collect();
    let mut grid = Grid::new("Parameters by region, with 95 % intervals; * is the model of the smallest BIC", &header);
    for (region, fit) in &fits {
        let cells = used.iter().map(|c| find(fit, c.1, c.2).unwrap_or_else(|| "-".into()));
        grid.row([region.clone(), fit.model.clone()].into_iter().chain(cells).chain([format!("{:.0}", fit.bic)]));
    }
    grid
}

/// One-way values of a ping-pong, derived once and named as such.
fn one_way(section: &mut Section, fitted: &Fitted) {
    // Only ping-pongs are timed as whole round trips; times of the other patterns are one way already.
    if fitted.pattern != Pattern::PingPong {
        return;
    }
    for phase in &fitted.report.phases {
        let fit = phase.chosen();
        let latency = fit.value("alpha").map(|a| fitted.pattern.one_way_seconds(a));
        let core = fit.value("rate_core").or(fit.value("rate_base")).map(|r| fitted.pattern.one_way_core_rate(r));
        if let (Some(latency), Some(core)) = (latency, core) {
            section.say(format!(
                "From {} B, one way: alpha {} us, R_C {} GB/s; R_N is {}.",
                phase.from_bytes,
                digits(latency * 1e6),
                digits(core * 1e-9),
                fitted.pattern.node_rate_means()
            ));
        }
    }
}

fn limits(section: &mut Section, fitted: &Fitted) {
    for phase in &fitted.report.phases {
        let fits = [Some(phase.chosen()), phase.fit("m3")];
        let mut all: Vec<String> = fits.into_iter().flatten().flat_map(|f| &f.limits).map(Limit::to_string).collect();
        all.dedup();
        all.iter().for_each(|l| section.warn(format!("from {} B: {l}", phase.from_bytes)));
        for (model, why) in &phase.skipped {
            section.warn(format!("from {} B: {model} was not fitted: {why}", phase.from_bytes));
        }
    }
}

fn regions(fitted: &Fitted) -> Vec<String> {
    fitted.report.phases.iter().map(|p| format!("from {} B", p.from_bytes)).collect()
}

fn errors(fitted: &Fitted) -> Grid {
    let mut grid =
        Grid::new("Errors, as the paper's Table 2: sum (max) of |T-f|/T over all sizes and pairs", &["Model"]);
    grid.header.extend(regions(fitted));
    for row in &fitted.errors {
        let cells =
            row.phases.iter().map(|c| c.map_or("-".into(), |c| format!("{} ({})", digits(c.sum), digits(c.max))));
        grid.row(std::iter::once(row.model.clone()).chain(cells));
    }
    grid
}

/// The values of a table over sizes and pairs, and the names of its rows and columns.
struct Crossed<T> {
    sizes: Vec<u64>,
    pairs: Vec<u32>,
    cells: Vec<Vec<Option<T>>>,
}

fn cross<T: Copy>(all: impl Iterator<Item = (u64, u32, T)>) -> Crossed<T> {
    let list: Vec<(u64, u32, T)> = all.collect();
    let mut sizes: Vec<u64> = list.iter().map(|c| c.0).collect();
    let mut pairs: Vec<u32> = list.iter().map(|c| c.1).collect();
    sizes.sort_unstable();
    sizes.dedup();
    pairs.sort_unstable();
    pairs.dedup();
    let mut cells = vec![vec![None; pairs.len()]; sizes.len()];
    for (n, k, value) in list {
        let place = |found: Result<usize, usize>| found.expect("collected above");
        cells[place(sizes.binary_search(&n))][place(pairs.binary_search(&k))] = Some(value);
    }
    Crossed { sizes, pairs, cells }
}

/// Which region a size lies in, from 1.
fn region(fitted: &Fitted, bytes: u64) -> usize {
    // A size below the first region belongs to it, as in the models.
    fitted.report.phases.iter().filter(|p| p.from_bytes <= bytes).count().max(1)
}

fn rates(fitted: &Fitted) -> Grid {
    let crossed = cross(fitted.rates.iter().map(|c| (c.bytes, c.pairs, (c.measured, c.modelled))));
    let mut grid = Grid::new(
        "Aggregate rate k n/T in GB/s, measured (modelled), with the region of the protocol",
        &["Bytes", "region"],
    );
    grid.header.extend(crossed.pairs.iter().map(|k| format!("k={k}")));
    for (n, cells) in crossed.sizes.iter().zip(&crossed.cells) {
        let cell = |c: &Option<(f64, f64)>| {
            c.map_or("-".into(), |(m, f)| format!("{} ({})", digits(m * 1e-9), digits(f * 1e-9)))
        };
        grid.row([n.to_string(), region(fitted, *n).to_string()].into_iter().chain(cells.iter().map(cell)));
    }
    grid
}

fn advice(section: &mut Section, fitted: &Fitted) {
    section.say(match &fitted.saturating {
        Ok(k) => format!("Advice: {k} communicating processes fill the node."),
        Err(why) => format!("Advice: how many processes fill the node is not known: {why}."),
    });
    let split = &fitted.split;
    section.say(format!(
        "Sending {} bytes of a node: {} processes are enough (best {}), {} times faster than one.",
        split.bytes,
        split.enough,
        split.best,
        digits(split.gain)
    ));
    let halo = &fitted.halo;
    let postal =
        halo.postal_s.map_or(String::new(), |p| format!("; the postal model of one pair says {} us", digits(p * 1e6)));
    section.say(format!(
        "Halo exchange: {} us neighbour by neighbour, {} us overlapped{postal}.",
        digits(halo.in_turn_s * 1e6),
        digits(halo.overlapped_s * 1e6)
    ));
    halo.notes.iter().for_each(|n| section.warn(format!("halo exchange: {n}")));
}

/// What is measured with one pair: the delayed receiver where nothing else was measured, LogGP, many messages.
fn of_single_pairs(found: &Study) -> Option<Section> {
    let room = if found.fits.is_empty() { Room::Terminal } else { Room::Verbose };
    let mut section = Section::with_room(room, "Max-rate: what one pair shows");
    for probed in found.probes.iter().filter(|p| !found.fits.iter().any(|f| f.class == p.class)) {
        section.say(format!("Delayed receiver, {}: {}.", probed.class, probed.outcome));
    }
    loggp(&mut section, &found.trips);
    queues(&mut section, &found.queues);
    (!section.blocks.is_empty()).then_some(section)
}

fn loggp(section: &mut Section, trips: &[Tripped]) {
    let mut grid = Grid::new("LogGP by parametrised round trips", &["Class", "L us", "g us", "G ns/B", "1/G GB/s"]);
    let mut overheads = Grid::new("LogGP: overhead o of a send by size, in us", &["Class", "bytes", "o us"]);
    for tripped in trips {
        match &tripped.fit {
            Ok(p) => {
                // Without a cost per byte the rate would be infinite.
                let inverse = if p.gap_per_byte_s > 0.0 { digits(1e-9 / p.gap_per_byte_s) } else { "-".into() };
                let numbers = [p.latency_s * 1e6, p.gap_s * 1e6, p.gap_per_byte_s * 1e9].map(digits);
                grid.row(std::iter::once(tripped.class.clone()).chain(numbers).chain([inverse]));
                for (bytes, o) in &p.overhead_s {
                    overheads.row([tripped.class.clone(), bytes.to_string(), digits(o * 1e6)]);
                }
                p.notes.iter().for_each(|n| section.warn(format!("LogGP, {}: {n}", tripped.class)));
            }
            Err(why) => section.warn(format!("LogGP, {}: {why}", tripped.class)),
        }
    }
    section.table(grid);
    section.table(overheads);
}

fn queues(section: &mut Section, queues: &[Queued]) {
    let header = [
        "Class",
        "order",
        "constant us",
        "per message us",
        "per squared number ns",
        "search dominates from",
        "error up to %",
    ];
    let mut grid = Grid::new("Many messages at once: T = c + a m + gamma m^2", &header);
    for queued in queues {
        match &queued.fit {
            Ok(q) => grid.row([
                queued.class.clone(),
                queued.order.clone(),
                digits(q.constant_s * 1e6),
                digits(q.per_message_s * 1e6),
                digits(q.search_s * 1e9),
                q.search_dominates_from.map_or("never".into(), digits),
                digits(100.0 * q.error_max),
            ]),
            Err(why) => section.warn(format!("many messages, {}, {} order: {why}", queued.class, queued.order)),
        }
    }
    section.table(grid);
}

/// How far messages hide behind work, in a sentence.
fn hidden(all: &[BesideWork]) -> Option<String> {
    let least = all.iter().min_by(|a, b| a.seen.hidden.total_cmp(&b.seen.hidden))?;
    let most = all.iter().max_by(|a, b| a.seen.hidden.total_cmp(&b.seen.hidden))?;
    let at = |one: &BesideWork| {
        let share = percent(one.seen.hidden);
        format!("{share} ({} B, k={}, {})", one.bytes, one.pairs, one.class)
    };
    Some(format!(
        "Messages beside work: of the shorter of the two {} to {} is hidden behind the other.",
        at(least),
        at(most)
    ))
}

/// Messages, work, and one beside the other.
fn of_overlaps(all: &[BesideWork], alone: bool) -> Option<Section> {
    let said = hidden(all)?;
    let mut section =
        Section::with_room(if alone { Room::Terminal } else { Room::Verbose }, "Max-rate: messages beside work");
    // Where there is an answer above, it is said there.
    if alone {
        section.say(said);
    }
    let header = ["Class", "bytes", "k", "messages us", "work us", "both us", "hidden", "95 %"];
    let mut grid = Grid::new("Messages, work, and both at once (the paper's section 3.1)", &header);
    for BesideWork { class, bytes, pairs, seen } in all {
        let times = [seen.messages_s, seen.work_s, seen.both_s].map(|s| digits(s * 1e6));
        let between =
            seen.hidden_between.map_or("-".into(), |(low, high)| format!("{} to {}", percent(low), percent(high)));
        let place = [class.clone(), bytes.to_string(), pairs.to_string()];
        grid.row(place.into_iter().chain(times).chain([percent(seen.hidden), between]));
    }
    section.table(grid);
    Some(section)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
