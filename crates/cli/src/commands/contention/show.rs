//! Tables of contention graphs.

use model::contention::Graph;
use model::contention::answers::{Derivation, Measurement, Prediction};
use model::contention::recorded::middle;
use report::plain::line;
use report::table::{Table, digits};
use std::fmt::Write;

/// Name and ends of a flow.
fn ends(graph: &Graph, i: usize) -> [String; 2] {
    let f = &graph.flows[i];
    [f.name.clone(), format!("{} -> {}", graph.nodes[f.from], graph.nodes[f.to])]
}

fn milliseconds(s: f64) -> String {
    format!("{:.6}", s * 1e3)
}

pub fn predictions(all: &[Prediction]) -> String {
    let mut out = String::new();
    for p in all {
        let _ = writeln!(out, "{} by {}", line(&p.graph_name), p.rules);
        let mut table = Table::new(&["flow", "ends", "bytes", "penalty", "start ms", "end ms"]);
        for i in 0..p.graph.flows.len() {
            let [name, ends] = ends(&p.graph, i);
            let (start, end) = (p.solution.start_s[i], p.solution.end_s[i]);
            let bytes = format!("{:.0}", p.graph.flows[i].bytes);
            table.row([name, ends, bytes, format!("{:.4}", p.penalties[i]), milliseconds(start), milliseconds(end)]);
        }
        table.write(&mut out);
        for step in &p.solution.steps {
            let _ = writeln!(out, "\n  from {} to {} ms", milliseconds(step.from_s), milliseconds(step.to_s));
            let mut table = Table::new(&["flow", "penalty", "remaining bytes"]);
            for f in &step.flows {
                let name = p.graph.flows[f.flow].name.clone();
                table.row([name, format!("{:.4}", f.penalty), format!("{:.0}", f.remaining)]);
            }
            table.write(&mut out);
        }
        if !p.terms.is_empty() {
            let mut table = Table::new(&["flow", "rule", "value", "why"]);
            for t in &p.terms {
                let name = p.graph.flows[t.flow as usize].name.clone();
                table.row([name, t.rule.clone(), format!("{:.4}", t.value), t.text.clone()]);
            }
            out.push('\n');
            table.write_left(&mut out);
        }
        out.push('\n');
    }
    out
}

pub fn measurements(all: &[Measurement]) -> String {
    let mut out = String::new();
    for m in all {
        let (scale, unit) = if m.rates { (1e-6, "MB/s") } else { (1e3, "ms") };
        let _ = writeln!(out, "{}: a flow alone {} {unit}", line(&m.graph_name), digits(m.alone * scale));
        let mut table = Table::new(&["flow", "ends", unit, "least", "most", "times alone"]);
        for (i, v) in m.values.iter().enumerate() {
            let [name, ends] = ends(&m.graph, i);
            let least = v.iter().copied().fold(f64::INFINITY, f64::min);
            let most = v.iter().copied().fold(0.0, f64::max);
            let number = |x: f64| digits(x * scale);
            table.row([name, ends, number(middle(v)), number(least), number(most), format!("{:.3}", m.slowdown[i])]);
        }
        table.write(&mut out);
        out.push('\n');
    }
    out
}

pub fn derivations(all: &[Derivation]) -> String {
    let mut out = String::new();
    for d in all {
        let _ = writeln!(out, "{}: penalties with all flows under way", line(&d.graph_name));
        let mut table = Table::new(&["flow", "ends", "penalty", "error %", "amplified by"]);
        for (i, p) in d.penalties.iter().enumerate() {
            let [name, ends] = ends(&d.graph, i);
            let penalty = p.penalty.map_or("too little was sent then".into(), |x| format!("{x:.3}"));
            let error = p.error.map_or("-".into(), |e| digits(100.0 * e));
            table.row([name, ends, penalty, error, digits(p.amplification)]);
        }
        table.write(&mut out);
        d.measured.iter().for_each(|g| out.push_str(&format!("  measured: {}\n", line(g))));
        out.push('\n');
    }
    out
}
