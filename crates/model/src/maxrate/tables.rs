//! The paper's Table 2 (sums of relative errors) and Figure 2 (relative error of every size and number of pairs).

use super::analysis::Report;
use super::data::Point;
use super::models::MODELS;
use schemars::JsonSchema;
use serde::Serialize;

/// One line of the error table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ErrorRow {
    /// The model.
    pub model: String,
    /// For each phase: sum and maximum of |T-f|/T; none where the model was not fitted.
    pub phases: Vec<Option<ErrorCell>>,
}

/// Errors of one model in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ErrorCell {
    /// Sum over all (n, k) of |T-f|/T.
    pub sum: f64,
    /// Largest |T-f|/T.
    pub max: f64,
}

/// One cell of a heat map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HeatCell {
    /// Bytes of one message.
    pub bytes: u64,
    /// Pairs.
    pub pairs: u32,
    /// (f-T)/T: above zero where the model is too slow.
    pub error: f64,
}

/// The heat map of one model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HeatMap {
    /// The model; `chosen` for the chosen model of each phase.
    pub model: String,
    /// Its cells.
    pub cells: Vec<HeatCell>,
}

/// The aggregate rate of one size and number of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RateCell {
    /// Bytes of one message.
    pub bytes: u64,
    /// Pairs.
    pub pairs: u32,
    /// k n/T in bytes per second, as measured.
    pub measured: f64,
    /// The same by the chosen model of the phase.
    pub modelled: f64,
}

/// The models whose maps the paper's Figure 2 shows: (4), (3) and the postal fits.
const FIGURE_2: [&str; 5] = ["m4", "m3", "postal-one-pair", "postal-most-pairs", "postal"];

/// The maps of the chosen models and of the paper's.
pub fn heat_maps(report: &Report, points: &[Point]) -> Vec<HeatMap> {
    let map = |model: &str, name: Option<&str>| HeatMap { model: model.into(), cells: heat_map(report, points, name) };
    let papers = FIGURE_2.iter().map(|name| map(name, Some(name)));
    std::iter::once(map("chosen", None)).chain(papers).filter(|m| !m.cells.is_empty()).collect()
}

/// Aggregate rates, measured and modelled.
pub fn rates(report: &Report, points: &[Point]) -> Vec<RateCell> {
    let cell = |p: &Point| {
        let moved = p.bytes as f64 * f64::from(p.pairs);
        let modelled = moved / report.predict(p.bytes as f64, f64::from(p.pairs));
        RateCell { bytes: p.bytes, pairs: p.pairs, measured: moved / p.seconds, modelled }
    };
    points.iter().map(cell).collect()
}

/// The error table of a report: one row per model.
pub fn errors(report: &Report) -> Vec<ErrorRow> {
    let cell = |name: &str| {
        let one = |p: &super::analysis::Phase| p.fit(name).map(|f| ErrorCell { sum: f.error_sum, max: f.error_max });
        report.phases.iter().map(one).collect()
    };
    MODELS.iter().map(|m| ErrorRow { model: m.card.name.into(), phases: cell(m.card.name) }).collect()
}

/// The heat map of one model, or of the chosen model of each phase if none is named. Points of phases in which the model was
/// not fitted are left out.
pub fn heat_map(report: &Report, points: &[Point], model: Option<&str>) -> Vec<HeatCell> {
    let cell = |p: &Point| {
        let phase = report.phase(p.bytes as f64);
        let fit = model.map_or(Some(phase.chosen()), |name| phase.fit(name))?;
        let error = fit.predict(p.bytes as f64, f64::from(p.pairs)) / p.seconds - 1.0;
        Some(HeatCell { bytes: p.bytes, pairs: p.pairs, error })
    };
    points.iter().filter_map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::super::analysis::{Options, analyse};
    use super::*;

    #[test]
    fn table_and_map_agree() {
        let mut points = Vec::new();
        for j in 6..14 {
            for pairs in 1..=4u32 {
                let seconds = 1e-6 + f64::from(1 << j) / 1e9 * f64::from(pairs).powf(0.7);
                points.push(Point { bytes: 1 << j, pairs, seconds, trials: vec![seconds] });
            }
        }
        let report = analyse(&points, &Options { replicates: 0, ..Options::default() }).unwrap();
        for row in errors(&report) {
            let map = heat_map(&report, &points, Some(&row.model));
            let sum: f64 = row.phases.iter().flatten().map(|c| c.sum).sum();
            assert!(
                (map.iter().map(|c| c.error.abs()).sum::<f64>() - sum).abs() < 1e-9 * sum.max(1.0),
                "{}",
                row.model
            );
        }
        assert_eq!(heat_map(&report, &points, None).len(), points.len());
    }
}
