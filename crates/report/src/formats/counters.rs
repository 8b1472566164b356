//! Counters of loaded phases over nodes, those with the largest spread: where the load is uneven is where to look first.

use crate::table::Table;
use crate::view::View;
use record::{CounterRecord, Role};

/// Rows of the table.
const ROWS: usize = 8;

/// Adds the table, if any phase under load has counters.
pub(super) fn write(out: &mut String, view: &View<'_>) {
    let loaded = view.record.phases.iter().filter(|p| p.jobs.iter().any(|j| j.role == Role::Background));
    let mut rows: Vec<(f64, [String; 6])> = Vec::new();
    for phase in loaded {
        for counter in phase.counters.iter().filter(|c| c.per_node.len() > 1) {
            let rate = |x: u64| short(x as f64 / phase.elapsed_s);
            let [min, median, max] = marks(&counter.per_node).map(rate);
            rows.push((
                spread(counter),
                [counter.name.clone(), counter.job.clone(), phase.name.clone(), min, median, max],
            ));
        }
    }
    // A stable sort keeps the order of phases among equals, so the same record gives the same table.
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    if rows.is_empty() {
        return;
    }
    let mut table = Table::new(&["Counter, per second", "nodes of", "during", "min", "median", "max"]);
    rows.into_iter().take(ROWS).for_each(|(_, row)| table.row(row));
    out.push('\n');
    table.write(out);
    out.push_str("\n  Over nodes, largest spread first; the record holds all counters.\n");
}

/// Smallest, middle and largest of values in rising order.
fn marks(per_node: &[u64]) -> [u64; 3] {
    [per_node[0], per_node[per_node.len() / 2], per_node[per_node.len() - 1]]
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
    fn spread_and_marks_known_by_hand() {
        let counter = |values: &[u64]| CounterRecord { name: "a".into(), job: "b".into(), per_node: values.to_vec() };
        assert_eq!(spread(&counter(&[5, 5, 5])), 0.0);
        assert_eq!(spread(&counter(&[0, 0])), 0.0);
        assert_eq!(spread(&counter(&[0, 10])), 1.0);
        assert_eq!(marks(&[1, 2, 9]), [1, 2, 9]);
        assert_eq!([short(0.0), short(12.0), short(1.5e9)], ["0", "12.0", "1.50 G"]);
    }
}
