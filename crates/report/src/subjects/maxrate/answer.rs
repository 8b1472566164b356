//! What people want of max-rate first: how many processes fill a node, and what one and all of them reach.

use crate::grid::Grid;
use crate::known::Known;
use crate::section::Section;
use crate::table::{digits, known};
use model::maxrate::Fit;
use model::maxrate::models::{Estimate, Limit};
use model::maxrate::probe::EagerLimit;
use model::maxrate::study::{Fitted, Study};
use record::Interval;

/// So many fits have a sentence each; more have the table only, which says the same.
const SPOKEN: usize = 3;

/// The answer of a study that has fits.
pub fn section(found: &Study) -> Option<Section> {
    if found.fits.is_empty() {
        return None;
    }
    let mut section = Section::new("Max-rate");
    // One pair says nothing of how many fill a node.
    let several = found.fits.iter().filter(|fitted| has_several(fitted));
    several.take(SPOKEN).for_each(|fitted| section.say(filled(fitted)));
    section.list(table(found));
    Some(section)
}

fn has_several(fitted: &Fitted) -> bool {
    fitted.rates.iter().any(|cell| cell.pairs > 1)
}

/// How many processes fill the node, and what splitting a message gains.
fn filled(fitted: &Fitted) -> String {
    let of = format!("{}, {}", fitted.class, fitted.pattern.name());
    let fills = match &fitted.saturating {
        Ok(1) => "one process fills the node".into(),
        Ok(k) => format!("{k} communicating processes fill the node"),
        Err(why) => format!("how many processes fill the node is not known ({why})"),
    };
    let split = &fitted.split;
    let gain = match split.enough {
        1 => format!("splitting {} bytes over several gains nothing", split.bytes),
        k => format!("{} bytes leave it {} times as fast from {k} as from one", split.bytes, digits(split.gain)),
    };
    format!("{of}: {fills}; {gain}.")
}

/// A row for each class of pairs and pattern.
fn table(found: &Study) -> Grid {
    let header = ["Pairs", "pattern", "latency us", "one GB/s", "node GB/s", "fill it", "eager to B"];
    let mut grid = Grid::new("One way, from the models of the smallest and of the largest messages", &header);
    for fitted in &found.fits {
        let phases = &fitted.report.phases;
        let (small, large) = (phases.first().map(|p| p.chosen()), phases.last().map(|p| p.chosen()));
        let node = phases.last().and_then(|p| p.fit("m3")).filter(|_| has_several(fitted));
        // Both are linear, so that they turn the scale of a value into that of its one-way value.
        let (time, rate) = (fitted.pattern.one_way_seconds(1e6), fitted.pattern.one_way_core_rate(1e-9));
        let eager = found.probes.iter().find(|p| p.class == fitted.class).map_or("-".into(), |p| eager(p.outcome));
        grid.row([
            fitted.class.clone(),
            fitted.pattern.name().into(),
            cell(small, &["alpha"], time),
            cell(large, &["rate_core", "rate_base"], rate),
            cell(node, &["rate_node"], 1e-9),
            fitted.saturating.as_ref().map_or("-".into(), u32::to_string),
            eager,
        ]);
    }
    grid
}

/// An estimate and how well it is known.
fn cell(fit: Option<&Fit>, names: &[&str], scale: f64) -> String {
    // Of two rates whose product alone shows, either may be anything.
    let rates = names.iter().any(|n| n.starts_with("rate"));
    if rates && fit.is_some_and(|f| f.limits.contains(&Limit::RatesNotSeparable)) {
        return "-".into();
    }
    let estimate = fit.and_then(|f| f.estimates.iter().find(|e| names.contains(&e.name.as_str())));
    let Some((e, value)) = estimate.and_then(|e| Some((e, e.value?))) else { return "-".into() };
    let Estimate { low, high, at_least, .. } = e;
    if *at_least {
        return format!(">= {}", digits(value * scale));
    }
    let interval = low.zip(*high).map(|(low, high)| Interval { low, high });
    // What may as well be nothing, or twice as much, is no number.
    if interval.is_some_and(|i| i.relative(value) > 1.0) {
        return "-".into();
    }
    known(Known { value, interval }, scale)
}

/// The largest message that is sent without waiting for its receiver.
fn eager(limit: EagerLimit) -> String {
    match limit {
        EagerLimit::Blocks { below, .. } => below.to_string(),
        EagerLimit::Always { .. } => "none".into(),
        EagerLimit::Never { bytes } => format!(">= {bytes}"),
        EagerLimit::Invalid => "-".into(),
    }
}
