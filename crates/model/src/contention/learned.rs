//! A rule set learned from measurements: a table of penalties by canonical component, and a regression with capacity repair for
//! components that were never measured.

use super::canonical::canonical;
use super::graph::Graph;
use super::rules::local::{Local, repair};
use super::rules::{Notes, RuleError, Rules};
use super::traffic::{Reach, Traffic};
use crate::numeric::least_squares::Problem;
use std::collections::BTreeMap;
use thiserror::Error;

/// 1, out, in, largest in of the sender's flows, sum of 1/out over competitors, share left by senders of several.
const FEATURES: usize = 6;

/// What was learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Canonical key of a component: mean penalties in canonical order, and how many measurements they come from.
    entries: BTreeMap<String, (Vec<f64>, usize)>,
    /// Coefficients of the regression on the features, in their order.
    coefficients: Vec<f64>,
}

/// Data from which nothing is learned.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LearnError {
    /// No data.
    #[error("there are no measured graphs to learn from")]
    Empty,
    /// Not penalties.
    #[error("graph {0}: every flow needs a finite penalty of at least 1 within noise (0.5)")]
    Penalties(usize),
}

impl Table {
    /// Learns from graphs and the measured penalties of all of their flows under way together.
    pub fn learn(data: &[(Graph, Vec<f64>)]) -> Result<Table, LearnError> {
        if data.is_empty() {
            return Err(LearnError::Empty);
        }
        let mut entries: BTreeMap<String, (Vec<f64>, usize)> = BTreeMap::new();
        let mut problem = Problem::new(FEATURES);
        for (i, (graph, penalties)) in data.iter().enumerate() {
            // Noise can make a lone flow a little faster than the reference; half of it cannot be noise.
            let good = penalties.len() == graph.flows.len() && penalties.iter().all(|p| p.is_finite() && *p >= 0.5);
            if !good || graph.check().is_err() {
                return Err(LearnError::Penalties(i));
            }
            let mut traffic = Traffic::of(graph.nodes.len(), &graph.edges());
            let mut done = vec![false; graph.flows.len()];
            for flow in 0..graph.flows.len() {
                if done[flow] {
                    continue;
                }
                let unit = traffic.component(graph.flows[flow].from as u32);
                unit.iter().for_each(|&f| done[f as usize] = true);
                let measured: Vec<f64> = unit.iter().map(|&f| penalties[f as usize].max(1.0)).collect();
                let local = Local::new(&traffic, &unit);
                for (f, rho) in measured.iter().enumerate() {
                    problem.row(1.0 / rho, &features(&local, f), *rho);
                }
                if let Some(form) = canonical(&edges(&traffic, &unit)) {
                    remember(&mut entries, form.key, form.order.iter().map(|&e| measured[e]).collect());
                }
            }
        }
        Ok(Table { entries, coefficients: problem.solve().x })
    }

    /// How many components are known.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn regress(&self, local: &Local, out: &mut [f64]) {
        for (f, rho) in out.iter_mut().enumerate() {
            let value: f64 = features(local, f).iter().zip(&self.coefficients).map(|(x, c)| x * c).sum();
            // Nobody is slower than sharing both ends with everyone met there.
            let most = (local.out_degree(f) * local.in_degree(f)).max(1) as f64 + local.out_degree(f) as f64;
            *rho = value.clamp(1.0, most);
        }
        repair(local, out, &|_| {});
    }
}

fn remember(entries: &mut BTreeMap<String, (Vec<f64>, usize)>, key: String, penalties: Vec<f64>) {
    let (mean, count) = entries.entry(key).or_insert_with(|| (vec![0.0; penalties.len()], 0));
    *count += 1;
    mean.iter_mut().zip(penalties).for_each(|(m, p)| *m += (p - *m) / *count as f64);
}

fn edges(traffic: &Traffic, flows: &[u32]) -> Vec<(usize, usize)> {
    flows.iter().map(|&f| (traffic.sender(f) as usize, traffic.receiver_of(f) as usize)).collect()
}

fn features(local: &Local, flow: usize) -> [f64; FEATURES] {
    let rivals =
        |f: usize| local.into[local.receiver[f]].iter().copied().filter(move |&o| local.sender[o] != local.sender[f]);
    let siblings = &local.out[local.sender[flow]];
    let crowd: f64 = siblings.iter().flat_map(|&e| rivals(e)).map(|o| 1.0 / local.out_degree(o) as f64).sum();
    let taken: f64 = rivals(flow).filter(|&o| local.out_degree(o) > 1).map(|o| 1.0 / local.out_degree(o) as f64).sum();
    let arriving = local.in_degree(flow) as f64;
    [
        1.0,
        siblings.len() as f64,
        arriving,
        siblings.iter().map(|&e| local.in_degree(e)).max().unwrap_or(1) as f64,
        crowd,
        // At most in(d), as in `ib-residual`: the share that is left may be zero or less.
        1.0 / (1.0 - taken).max(1.0 / arriving),
    ]
}

impl Rules for Table {
    fn reach(&self) -> Reach {
        Reach::Component
    }

    fn penalties(&self, traffic: &Traffic, flows: &[u32], out: &mut [f64], notes: &mut Notes) -> Result<(), RuleError> {
        let known = canonical(&edges(traffic, flows)).and_then(|form| Some((self.entries.get(&form.key)?, form.order)));
        let rule = match &known {
            Some(((penalties, _), order)) => {
                order.iter().zip(penalties).for_each(|(&e, &p)| out[e] = p);
                "measured"
            }
            None => {
                self.regress(&Local::new(traffic, flows), out);
                "regression"
            }
        };
        let count = known.map_or(0, |((_, count), _)| *count);
        for (&flow, &value) in flows.iter().zip(out.iter()) {
            notes.add(flow, rule, value, || format!("{count} measurements of this component"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{DrawSettings, all, draw};
    use super::super::rules::{evaluate, explain, start};
    use super::*;
    use spec::Params;

    fn data(graphs: Vec<Graph>) -> Vec<(Graph, Vec<f64>)> {
        let rules = start("ib-residual", &Params::new()).unwrap();
        graphs.into_iter().map(|g| (g.clone(), evaluate(&*rules, &g).unwrap())).collect()
    }

    #[test]
    fn known_components_are_recalled_and_unknown_ones_estimated() {
        let train = data(all(4, true));
        let table = Table::learn(&train).unwrap();
        for (graph, truth) in &train {
            let found = evaluate(&table, graph).unwrap();
            assert!(found.iter().zip(truth).all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{graph:?}");
        }
        let (mut error, mut flows, mut unknown) = (0.0, 0.0, 0);
        for (graph, truth) in data(draw(&DrawSettings { edges: 7, graphs: 40, ..DrawSettings::default() }).unwrap()) {
            let (found, terms) = explain(&table, &graph).unwrap();
            unknown += usize::from(terms.iter().any(|t| t.rule == "regression"));
            error += found.iter().zip(&truth).map(|(a, b)| (a / b - 1.0).abs()).sum::<f64>();
            flows += truth.len() as f64;
        }
        assert!(unknown > 0 && error / flows < 0.15, "{unknown} unknown, mean error {}", error / flows);
    }

    #[test]
    fn bad_data_are_refused() {
        let graph = Graph::from_edges(&[(0, 1)], 1.0).unwrap();
        assert_eq!(Table::learn(&[]), Err(LearnError::Empty));
        for penalties in [vec![], vec![f64::NAN], vec![0.1]] {
            assert_eq!(Table::learn(&[(graph.clone(), penalties)]), Err(LearnError::Penalties(0)));
        }
    }
}
