//! Comparisons as tables.

use super::comparison::{Comparison, Judgement, Row};
use crate::grid::Grid;
use crate::known::{Known, mean, quantile};
use crate::table::{digits, known};
use crate::view::{View, gpcnet_title};
use record::reference::System;
use serde_json::{Value, json};

/// The tests of a comparison, a line each.
pub fn compared(comparison: &Comparison) -> Grid {
    let header = ["Test", "", "unit", "first", "second", "times worse", "95% sure", "chance worse", "verdict"];
    let mut grid = Grid::new("Second against first; above 1 times is worse", &header);
    for row in &comparison.rows {
        let sure = match row.times_worse.interval {
            Some(i) => format!("{:.3} to {:.3}", i.low, i.high),
            None => "-".into(),
        };
        let mut verdict = row.judgement.words().to_string();
        let judged = matches!(row.judgement, Judgement::Better | Judgement::Worse);
        if judged && !comparison.differences.is_empty() {
            // A better number of another machine or size is not an improvement, so the word does not stand alone.
            verdict += " (runs differ)";
        }
        grid.row([
            row.test.clone(),
            row.statistic.clone(),
            row.unit.to_string(),
            known(row.first, 1.0),
            known(row.second, 1.0),
            format!("{:.3}", row.times_worse.value),
            sure,
            row.chance_worse.map_or("-".into(), |chance| format!("{chance:.2}")),
            verdict,
        ]);
    }
    grid
}

/// What came of a comparison, in one sentence.
pub fn verdict(comparison: &Comparison) -> String {
    if comparison.rows.is_empty() {
        return "Nothing can be compared.".into();
    }
    let count = |j: Judgement| comparison.rows.iter().filter(|r| r.judgement == j).count();
    let (better, worse, same, unknown) =
        (count(Judgement::Better), count(Judgement::Worse), count(Judgement::NoDifference), count(Judgement::Unknown));
    format!(
        "Verdict: {worse} worse, {better} better, {same} without a difference that the data show, {unknown} with too few batches to say."
    )
}

/// A comparison for other programs.
pub fn json(comparison: &Comparison) -> Value {
    let number = |x: f64| Some(x).filter(|x| x.is_finite());
    let value = |x: Known| json!({ "value": number(x.value), "interval95": x.interval.map(|i| [number(i.low), number(i.high)]) });
    let row = |row: &Row| {
        json!({
            "test": row.test,
            "statistic": row.statistic,
            "unit": row.unit,
            "first": value(row.first),
            "second": value(row.second),
            "times_worse": value(row.times_worse),
            "chance_worse": row.chance_worse,
            "judgement": match row.judgement {
                Judgement::Better => "better",
                Judgement::Worse => "worse",
                Judgement::NoDifference => "no-difference",
                Judgement::Unknown => "unknown",
            },
        })
    };
    let rows: Vec<Value> = comparison.rows.iter().map(row).collect();
    json!({ "differences": comparison.differences, "not_compared": comparison.left_out, "rows": rows })
}

/// A run beside published systems: values and impacts of the tests that both have at the same message size.
pub fn published(view: &View<'_>, systems: &[&System]) -> Grid {
    let mut header = vec!["Test".to_string(), String::new(), "unit".into(), "this run".into()];
    header.extend(systems.iter().map(|s| s.label()));
    let mut grid =
        Grid { caption: "Published systems; rounded as printed, without intervals".into(), header, ..Grid::default() };
    for canary in &view.canaries {
        let title = gpcnet_title(canary.isolated);
        let (metric, (scale, unit)) = (canary.isolated.metric, canary.isolated.metric.shown());
        let mut add =
            |what: &str, unit: &str, scale: f64, ours: Option<Known>, theirs: &dyn Fn(&System) -> Option<f64>| {
                let values: Vec<Option<f64>> = systems.iter().map(|s| theirs(s)).collect();
                if values.iter().all(Option::is_none) {
                    return;
                }
                let mut row = vec![canary.name.to_string(), what.to_string(), unit.to_string()];
                row.push(ours.map_or("-".into(), |x| known(x, scale)));
                row.extend(values.into_iter().map(|x| x.map_or("-".into(), |x| digits(x * scale))));
                grid.row(row);
            };
        for (phase, job) in [("isolated", Some(canary.isolated)), ("loaded", canary.loaded)] {
            for (stat, ours) in [("avg", job.map(mean)), ("99%", job.map(|j| quantile(j, 0.99)))] {
                add(&format!("{phase} {stat}"), unit, scale, ours, &|s| s.value(&title, phase, stat));
            }
        }
        let impact = canary.impact();
        add("impact avg", "x", 1.0, impact.map(|i| i.average), &|s| s.impact(metric, &title).average);
        add("impact 99%", "x", 1.0, impact.map(|i| i.tail), &|s| s.impact(metric, &title).tail);
    }
    grid
}
