//! Sections of models, against committed text; made of data whose truth is known.

mod common;

use common::golden;
use model::contention::campaign::{Campaign, calibration_graphs, learning_graphs};
use model::contention::recorded::{MeasuredGraph, Recorded as Graphs};
use model::contention::{Graph, Options, published, rules, solve};
use model::maxrate::loggp::Prtt;
use model::maxrate::probe::EagerLimit;
use model::maxrate::{Pattern, Recorded, Sample, StudySettings, study};
use record::Purpose;
use spec::Params;
use tailback_report::contention::of_findings;
use tailback_report::maxrate::of_study;
use tailback_report::section::Section;

/// Equation (4) with the paper's Table 1 from 1 KiB on, and a faster protocol below.
fn rates() -> Recorded {
    let time = |n: f64, k: f64| match n {
        n if n < 1024.0 => 1.1e-5 + n / 1.7e9,
        _ => 2e-5 + k * n / 5.5e9f64.min(3.6e9 + (k - 1.0) * 6.1e8),
    };
    let mut data = Recorded::default();
    let mut samples = Vec::new();
    for eighth in 32..=72u32 {
        let bytes = 2f64.powf(f64::from(eighth) / 4.0).round() as u64;
        for pairs in 1..=8u32 {
            let seconds = time(bytes as f64, f64::from(pairs));
            samples.extend((0..3).map(|trial| Sample { bytes, pairs, seconds, trial }));
        }
    }
    data.samples.insert(("near".into(), Pattern::PingPong), samples);
    data.probes.insert("near".into(), EagerLimit::Blocks { from: 1024, below: 1020, split_votes: 0 });
    let trip = |messages: u32, pause: f64, bytes: u64| {
        let one = 4e-6 + 2e-9 * bytes as f64;
        let gap = if pause > 0.0 { 3e-7 + pause } else { 8e-7 + 1e-9 * bytes as f64 };
        Prtt { messages, pause, bytes, seconds: one + f64::from(messages - 1) * gap }
    };
    let trips = [8, 1024].iter().flat_map(|&n| [trip(1, 0.0, n), trip(10, 0.0, n), trip(10, 1e-4, n)]);
    data.trips.insert("near".into(), trips.collect());
    let many = [1u64, 10, 100, 1000].map(|m| (m, 3e-6 + 4e-7 * m as f64 + 8e-10 * (m * m) as f64));
    data.queues.insert(("near".into(), "reverse".into()), many.to_vec());
    data.notes.push("made up".into());
    data
}

fn check(name: &str, sections: &[Section]) {
    let text: String = sections.iter().map(|s| s.text() + "\n").collect();
    golden(&format!("{name}.text"), &text);
    let markdown: String = sections.iter().map(|s| s.markdown()).collect();
    golden(&format!("{name}.markdown"), &markdown);
}

#[test]
fn max_rate() {
    let found = study(&rates(), &StudySettings { replicates: 20, ..StudySettings::default() }).unwrap();
    let sections = of_study(&found);
    // Sentences are wrapped.
    let text: String =
        sections.iter().map(Section::text).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("the delayed receiver confirms it"), "{text}");
    check("maxrate", &sections);
}

#[test]
fn contention() {
    let paper = rules::start("paper", &Params::new()).unwrap();
    let entry = |name: &str, purpose: Purpose, graph: Graph| {
        let alpha = published::T_REF / graph.flows[0].bytes;
        let ends = solve(&graph, &*paper, &Options { alpha, ..Options::rate(1.0) }).unwrap().end_s;
        MeasuredGraph {
            name: name.into(),
            purpose,
            graph,
            times: ends.into_iter().map(|e| vec![e]).collect(),
            rates: Vec::new(),
        }
    };
    let bytes = published::find("g1").unwrap().flows[0].bytes;
    let calibrate = calibration_graphs(9, bytes).into_iter().map(|(name, g)| entry(&name, Purpose::Calibrate, g));
    let learn = learning_graphs(3, 9, bytes).into_iter().map(|(name, g)| entry(&name, Purpose::Learn, g));
    let mut graphs: Vec<MeasuredGraph> = calibrate.chain(learn).collect();
    graphs.extend(
        ["g1", "g2", "g3", "g4", "fig3", "fig4a"]
            .map(|name| entry(name, Purpose::Score, published::find(name).unwrap())),
    );
    let alone = vec![entry("alone", Purpose::Alone, Graph::from_edges(&[(0, 1)], bytes).unwrap())];
    let campaign = Campaign { recorded: Graphs { alone, graphs }, capacities: None };
    let found = campaign.findings(None, None).unwrap();
    assert_eq!(found.best(), Some("paper"));
    check("contention", &of_findings(&found));
}
