//! Runs beside published systems, as entries of one list.

use crate::view::{Known, View, gpcnet_title};
use record::reference::systems;

/// One system's impact of one test: published, or of a run at hand.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name and size.
    pub label: String,
    /// Where it is published; nothing for a run at hand.
    pub source: Option<&'static str>,
    /// Loaded average over isolated average.
    pub average: Option<f64>,
    /// How well that is known.
    pub average_interval: Option<(f64, f64)>,
    /// Loaded 99 % over isolated average.
    pub tail_over_average: Option<f64>,
    /// How well that is known.
    pub tail_interval: Option<(f64, f64)>,
    /// Loaded 99 % over isolated 99 %.
    pub tail: Option<f64>,
}

/// Every published system and every run that has an impact of the test with this GPCNeT title (name and size), from least to
/// most.
pub fn entries(views: &[View<'_>], title: &str) -> Vec<Entry> {
    let mut all: Vec<Entry> = published(views, title);
    for (i, view) in views.iter().enumerate() {
        let canary = view.canaries.iter().find(|c| gpcnet_title(c.isolated) == title);
        let Some(impact) = canary.and_then(|c| c.impact()) else { continue };
        let name = if views.len() > 1 { format!("run {}", i + 1) } else { "this run".to_string() };
        let layout = &view.record.layout;
        let ends = |x: Known| x.interval.map(|i| (i.low, i.high));
        let value = |x: Known| Some(x.value).filter(|v| v.is_finite());
        all.push(Entry {
            label: format!("{name} {} x {}", layout.nodes, layout.max_ranks_per_node),
            source: None,
            average: value(impact.average),
            average_interval: ends(impact.average),
            tail_over_average: value(impact.tail_over_average),
            tail_interval: ends(impact.tail_over_average),
            tail: value(impact.tail),
        });
    }
    let key = |e: &Entry| e.tail_over_average.or(e.average).unwrap_or(0.0);
    all.sort_by(|a, b| key(a).total_cmp(&key(b)));
    all
}

fn published(views: &[View<'_>], title: &str) -> Vec<Entry> {
    let canaries = || views.iter().flat_map(|v| &v.canaries);
    let Some(metric) = canaries().find(|c| gpcnet_title(c.isolated) == title).map(|c| c.isolated.metric) else {
        return Vec::new();
    };
    let entry = |s: &'static record::reference::System| {
        let impact = s.impact(metric, title);
        impact.average.or(impact.tail)?;
        Some(Entry {
            label: s.label(),
            source: Some(&s.source),
            average: impact.average,
            average_interval: None,
            tail_over_average: impact.tail_over_average,
            tail_interval: None,
            tail: impact.tail,
        })
    };
    systems().iter().filter_map(entry).collect()
}
