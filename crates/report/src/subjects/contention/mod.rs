//! Contention graphs: graphs with the penalties of their flows, steps as the paper's Figure 3, every rule set against measurement, and the
//! spread of errors as the paper's Figure 5.

mod pictures;

use crate::grid::{Grid, exact};
use crate::known::Known;
use crate::merit::{Merit, of_phase};
use crate::section::{Room, Section};
use crate::table::digits;
use crate::view::View;
use model::contention::campaign::{Campaign, Findings};
use model::contention::recorded::{MeasuredGraph, middle};
use model::contention::validate::{Errors, Score};
use model::contention::{Graph, Options, Solution, solve};
use record::{About, Direction};

/// Graphs that a report draws; of more, those that the best rule set predicts worst.
const DRAWN: usize = 6;
/// Graphs whose steps are shown.
const STEPS: usize = 3;

/// The sections of a record with contention graphs.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    let campaign = match Campaign::read(view.record) {
        Ok(campaign) if campaign.recorded.graphs.is_empty() => return Vec::new(),
        Ok(campaign) => campaign,
        Err(why) => return failed(&why),
    };
    let mut all = Vec::new();
    // A campaign of steady rates alone has no completion times to hold rule sets against.
    if campaign.recorded.graphs.iter().any(|e| !e.times.is_empty()) {
        match campaign.findings(None, None) {
            Ok(found) => {
                all.extend(of_findings(&found));
                // Behind the answer, before what it rests on.
                all.insert(all.len().min(1), graphs(&campaign, &found));
            }
            Err(why) => all.extend(failed(&why)),
        }
    }
    all.extend(steady(&campaign));
    all
}

fn failed(why: &str) -> Vec<Section> {
    let mut section = Section::new("Contention graphs");
    section.warn(format!("nothing follows from this record: {why}"));
    vec![section]
}

/// Which flow of which graph ends when, by the rule set.
fn name(graph: &Graph, i: usize) -> [String; 2] {
    let f = &graph.flows[i];
    [f.name.clone(), format!("{} > {}", graph.nodes[f.from], graph.nodes[f.to])]
}

/// How many times longer than alone each flow took.
fn slowdown(found: &Findings, at: usize) -> Vec<f64> {
    let m = &found.scored[at].measured;
    // Seconds per byte times bytes. The time counts from the flow's own start: flows of a graph may begin later.
    let alone = |i: usize| found.alpha * m.graph.flows[i].bytes;
    m.end_s.iter().enumerate().map(|(i, end)| (end - m.graph.flows[i].start) / alone(i)).collect()
}

/// The largest relative error of a rule set on each scored graph; none where it refuses the graph.
fn worst(found: &Findings, rules: &str) -> Vec<Option<(f64, f64)>> {
    let Some(predicted) = found.of(rules) else { return vec![None; found.scored.len()] };
    let of = |(s, p): (&model::contention::campaign::Scored, &Option<Vec<f64>>)| {
        let errors: Vec<f64> = p.as_ref()?.iter().zip(&s.measured.end_s).map(|(p, t)| ((p - t) / t).abs()).collect();
        Some((errors.iter().sum::<f64>() / errors.len() as f64, errors.iter().copied().fold(0.0, f64::max)))
    };
    found.scored.iter().zip(&predicted.end_s).map(of).collect()
}

fn graphs(campaign: &Campaign, found: &Findings) -> Section {
    // None is the best where every rule set refuses some graph; the paper's then stands in for it.
    let best = found.best().unwrap_or("paper");
    let mut section = Section::with_room(Room::Verbose, "Contention graphs");
    section.say(format!(
        "A flow alone moves {} MB/s. Measured: {}; predicted here by {best}, the best rule set.",
        digits(1e-6 / found.alpha),
        counted(found)
    ));
    let mut order: Vec<usize> = (0..found.scored.len()).collect();
    let errors = worst(found, best);
    // A graph that the rule set refuses has no error, so it is among the last to be drawn.
    let error = |i: &usize| errors[*i].map_or(0.0, |e| e.1);
    if order.len() > DRAWN {
        order.sort_by(|a, b| error(b).total_cmp(&error(a)));
        section.say(format!("Of them the {DRAWN} that it predicts worst are drawn."));
        order.truncate(DRAWN);
    }
    let rules = campaign.rules(best);
    // The capacities that the rule sets were scored with, so that the steps shown lead to the errors shown.
    let options = Options {
        steps: true,
        ..found
            .capacities
            .as_ref()
            .map_or_else(|| Options { alpha: found.alpha, ..Options::rate(1.0) }, |c| c.options())
    };
    let solutions: Vec<Option<Solution>> =
        order.iter().map(|&i| solve(&found.scored[i].measured.graph, &**rules.as_ref()?, &options).ok()).collect();
    let pictures = order
        .iter()
        .map(|&i| {
            pictures::drawn(&found.scored[i].name, &found.scored[i].measured.graph, &slowdown(found, i), "times alone")
        })
        .collect();
    let mut grid = Grid::new(
        &format!("Flows of the drawn graphs: ends measured and by {best}, and the penalty of {best} at the start"),
        &["Graph", "flow", "from > to", "bytes", "measured ms", "times alone", "predicted ms", "error %", "penalty"],
    );
    for (&i, solution) in order.iter().zip(&solutions) {
        flows(&mut grid, found, i, solution.as_ref());
    }
    section.figure(
        "Graphs drawn with the end of each flow in units of a flow alone, as measured; orange flows are slower than alone. A node that sends and receives stands on both sides.",
        pictures,
        vec![grid],
    );
    for (&i, solution) in order.iter().zip(&solutions).take(STEPS) {
        section.table(steps(&found.scored[i].name, &found.scored[i].measured.graph, best, solution.as_ref()));
    }
    section
}

fn flows(grid: &mut Grid, found: &Findings, at: usize, solution: Option<&Solution>) {
    let scored = &found.scored[at];
    let (graph, ends) = (&scored.measured.graph, &scored.measured.end_s);
    let slower = slowdown(found, at);
    for i in 0..graph.flows.len() {
        let [flow, route] = name(graph, i);
        let predicted = solution.map_or(f64::NAN, |s| s.end_s[i]);
        // A flow that starts late is not in the first step: its penalty is that of the step in which it first appears.
        let first = solution.and_then(|s| s.steps.iter().find_map(|step| step.flows.iter().find(|f| f.flow == i)));
        grid.row([
            scored.name.clone(),
            flow,
            route,
            format!("{:.0}", graph.flows[i].bytes),
            exact(ends[i] * 1e3),
            exact(slower[i]),
            exact(predicted * 1e3),
            format!("{:+.1}", 100.0 * (predicted / ends[i] - 1.0)),
            first.map_or("-".into(), |f| exact(f.penalty)),
        ]);
    }
}

/// Penalties and remaining bytes between two ends, as the paper's Figure 3.
fn steps(graph_name: &str, graph: &Graph, rules: &str, solution: Option<&Solution>) -> Grid {
    let caption = format!("{graph_name}: steps by {rules}, as the paper's Figure 3");
    let mut grid =
        Grid::new(&caption, &["Step", "from ms", "to ms", "flow", "from > to", "penalty", "remaining bytes"]);
    for (at, step) in solution.iter().flat_map(|s| &s.steps).enumerate() {
        for f in &step.flows {
            let [flow, route] = name(graph, f.flow);
            grid.row([
                (at + 1).to_string(),
                exact(step.from_s * 1e3),
                exact(step.to_s * 1e3),
                flow,
                route,
                exact(f.penalty),
                format!("{:.0}", f.remaining),
            ]);
        }
    }
    grid
}

/// Which rule set fits this network and by how much, then all about it; for reports and for `contention validate`.
pub fn of_findings(found: &Findings) -> Vec<Section> {
    let mut ranked: Vec<&Score> = found.validation.scores.iter().collect();
    ranked.sort_by(|a, b| a.all.mean.total_cmp(&b.all.mean));
    if ranked.is_empty() {
        return Vec::new();
    }
    vec![answer(found, &ranked), detail(found, &ranked)]
}

/// The best rule set, and how far off all of them are.
fn answer(found: &Findings, ranked: &[&Score]) -> Section {
    let mut section = Section::new("Which rule set fits this network");
    let best = ranked.iter().find(|s| Some(s.rules.as_str()) == found.best());
    // A mean over fewer graphs cannot be ranked, so a rule set that refuses some is never the second.
    let next = ranked.iter().find(|s| s.refused.is_empty() && Some(s.rules.as_str()) != found.best());
    section.say(match (best, next) {
        (Some(best), Some(next)) => format!(
            "Best for this network: {} (mean error {} %), then {} ({} %).",
            best.rules,
            percent(best.all.mean),
            next.rules,
            percent(next.all.mean)
        ),
        _ => "No rule set could do all graphs.".into(),
    });
    section.say(format!(
        "{}; a flow alone moves {} MB/s. Errors are |T_p-T_m|/T_m.",
        counted(found),
        digits(1e-6 / found.alpha)
    ));
    section.list(scores(ranked));
    section
}

/// What the rule sets rest on, and where they err.
fn detail(found: &Findings, ranked: &[&Score]) -> Section {
    let mut section = Section::with_room(Room::Verbose, "Rule sets against measured graphs");
    basis(&mut section, found);
    section.table(by_edges("Mean error in % by number of flows", ranked, |x| percent(x.mean)));
    let mut shown: Vec<&str> = found.best().into_iter().collect();
    shown.extend(["paper"].iter().filter(|p| Some(**p) != found.best()));
    section.figure(
        "Ends predicted against ends measured, in units of a flow alone: a rule set that is right has all flows on the diagonal.",
        shown.iter().map(|rules| pictures::scatter(found, rules)).collect(),
        per_graph(found, &shown),
    );
    section.figure(
        "Spread of errors by number of flows, as the paper's Figure 5: every flow, the worst mean of a graph and the worst flow.",
        shown.iter().map(|rules| pictures::spread(found, rules)).collect(),
        vec![by_edges("Worst graph's mean / worst flow in % by number of flows", ranked, |x| {
            format!("{} / {}", percent(x.max_graph_mean), percent(x.max_flow))
        })],
    );
    section
}

/// What rates and calibrated rule sets rest on.
fn basis(section: &mut Section, found: &Findings) {
    if let Some(c) = &found.capacities {
        section.say(format!(
            "Capacities of max-rate: a node moves {} MB/s, one flow {} MB/s ({}).",
            digits(c.node * 1e-6),
            digits(c.flow * 1e-6),
            c.notes.join("; ")
        ));
    }
    if let Some([be, bs, g]) = found.constants {
        section.say(format!("Vienne's constants of this network: Be {}, Bs {}, g {}.", exact(be), exact(bs), exact(g)));
    }
    if let Some(learned) = &found.learned {
        section.say(format!("The learned table knows {} components.", learned.components));
        learned.left_out.iter().for_each(|why| section.warn(format!("not learned from {why}")));
    }
}

/// How many graphs and flows were scored.
fn counted(found: &Findings) -> String {
    let flows: usize = found.scored.iter().map(|s| s.measured.graph.flows.len()).sum();
    let one = |n: usize, word: &str| if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") };
    format!("{}, {}", one(found.scored.len(), "graph"), one(flows, "flow"))
}

fn percent(x: f64) -> String {
    format!("{:.1}", 100.0 * x)
}

fn scores(ranked: &[&Score]) -> Grid {
    let mut grid = Grid::new(
        "Errors in %, the best rule set first",
        &["Rule set", "mean", "worst graph's mean", "worst flow", "graphs refused"],
    );
    for s in ranked {
        let Errors { mean, max_graph_mean, max_flow, .. } = s.all;
        // A rule set that refuses every graph has a mean of nothing.
        let numbers =
            if s.all.graphs == 0 { ["-"; 3].map(String::from) } else { [mean, max_graph_mean, max_flow].map(percent) };
        grid.row(std::iter::once(s.rules.clone()).chain(numbers).chain([s.refused.len().to_string()]));
    }
    grid
}

/// A number of each rule set, by number of flows.
fn by_edges(caption: &str, ranked: &[&Score], shown: fn(&Errors) -> String) -> Grid {
    let mut grid = Grid::new(caption, &["Rule set"]);
    let mut edges: Vec<usize> = ranked.iter().flat_map(|s| s.by_edges.keys().copied()).collect();
    edges.sort_unstable();
    edges.dedup();
    grid.header.extend(edges.iter().map(usize::to_string));
    for s in ranked {
        let cells = edges.iter().map(|e| s.by_edges.get(e).map_or("-".into(), shown));
        grid.row(std::iter::once(s.rules.clone()).chain(cells));
    }
    grid
}

/// Graphs of the table that formats without pictures show.
const WORST: usize = 10;

/// Errors of the graphs that the first rule set predicts worst, and of all in the order of measurement.
fn per_graph(found: &Findings, rules: &[&str]) -> Vec<Grid> {
    let header: Vec<String> = ["Graph", "flows"]
        .map(String::from)
        .into_iter()
        .chain(rules.iter().flat_map(|r| [format!("{r}: mean"), format!("{r}: worst")]))
        .collect();
    let errors: Vec<Vec<Option<(f64, f64)>>> = rules.iter().map(|r| worst(found, r)).collect();
    let row = |i: usize| {
        let s = &found.scored[i];
        let numbers = errors
            .iter()
            .flat_map(|e| e[i].map_or(["-".into(), "-".into()], |(mean, most)| [percent(mean), percent(most)]));
        [s.name.clone(), s.measured.graph.flows.len().to_string()].into_iter().chain(numbers).collect::<Vec<_>>()
    };
    let all: Vec<usize> = (0..found.scored.len()).collect();
    let mut sorted = all.clone();
    let size = |i: usize| errors.first().and_then(|e| e[i]).map_or(0.0, |e| e.1);
    sorted.sort_by(|a, b| size(*b).total_cmp(&size(*a)));
    sorted.truncate(WORST);
    let grid = |caption: &str, list: &[usize]| Grid {
        caption: caption.into(),
        header: header.clone(),
        rows: list.iter().map(|&i| row(i)).collect(),
        ..Grid::default()
    };
    let title = format!("Graphs that {} predicts worst: mean and largest error in %", rules.first().unwrap_or(&"-"));
    // Formats without pictures show only the first table of a figure: the worst graphs must be that one.
    let mut tables = vec![grid(&title, &sorted)];
    if all.len() > WORST {
        tables.push(grid("All graphs: mean and largest error in %", &all));
    }
    tables
}

/// Figures of merit: the rate of a flow alone, and how far off each rule set is; where no rule set can be held against the graphs,
/// their flows.
pub fn merits(view: &View<'_>) -> Vec<Merit> {
    let campaign = Campaign::read(view.record).ok().filter(|c| !c.recorded.graphs.is_empty());
    let Some(found) = campaign.and_then(|c| c.findings(None, None).ok()) else {
        let graphs = view.record.phases.iter().filter(|p| matches!(p.about, About::Graph { .. }));
        return graphs.flat_map(|p| of_phase(&view.record.plan.suite, p)).collect();
    };
    let merit = |name: String, value: f64, unit, better| Merit { name, known: Known::bare(value), unit, better };
    let mut all = vec![merit("contention.alone".into(), 1e-6 / found.alpha, "MB/s", Direction::HigherIsBetter)];
    // Refusing hard graphs would improve the mean, so only rule sets that did all of them have a figure.
    for score in found.validation.scores.iter().filter(|s| s.refused.is_empty()) {
        let name = format!("contention.{}.error", score.rules);
        all.push(merit(name, 100.0 * score.all.mean, "%", Direction::LowerIsBetter));
    }
    all
}

/// Graphs whose steady rates were measured: penalties without any rule.
fn steady(campaign: &Campaign) -> Option<Section> {
    let entries: Vec<&MeasuredGraph> = campaign.recorded.graphs.iter().filter(|e| !e.rates.is_empty()).collect();
    let alone = campaign.recorded.rate()?;
    if entries.is_empty() {
        return None;
    }
    let mut section = Section::new("Contention graphs: steady rates");
    section.say(format!("A flow alone moves {} MB/s; a penalty is that rate over the flow's.", digits(alone * 1e-6)));
    let mut grid =
        Grid::new("Steady rates and penalties", &["Graph", "flow", "from > to", "MB/s", "least", "most", "penalty"]);
    let mut pictures = Vec::new();
    // Only pictures are limited; the table below has every graph.
    for e in entries.iter().take(DRAWN) {
        let penalties: Vec<f64> = e.rates.iter().map(|r| alone / middle(r)).collect();
        pictures.push(pictures::drawn(&e.name, &e.graph, &penalties, "penalty"));
    }
    for e in &entries {
        for (i, rates) in e.rates.iter().enumerate() {
            let [flow, route] = name(&e.graph, i);
            let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let most = rates.iter().copied().fold(0.0, f64::max);
            let numbers = [middle(rates), least, most].map(|r| exact(r * 1e-6));
            grid.row([e.name.clone(), flow, route].into_iter().chain(numbers).chain([exact(alone / middle(rates))]));
        }
    }
    section.figure("Graphs drawn with the penalties of their flows, from steady rates.", pictures, vec![grid]);
    Some(section)
}
