//! Laws that every entry of `RULES` and of `MODELS` keeps.
//!
//! A new rule set or model is tested here without a line of its own. Each law is a function of an entry; entries that break one stand
//! beside it, in tests only, and are caught.

use model::contention::rules::{self, Notes, RULES, RuleError, RuleSet, Rules, evaluate, explain};
use model::contention::traffic::{Reach, Traffic};
use model::contention::{Flow, Graph, Options, published, random, solve};
use model::maxrate::models::{Data, Limit, MODELS, Model, Raw, m3, postal};
use model::maxrate::{Point, Weighting};
use proptest::prelude::*;
use spec::{Card, Params};
use tailback_model as model;

/// What holds for a rule set on any graph.
type Law = fn(&RuleSet, &Graph) -> Result<(), String>;
const LAWS: &[Law] =
    &[penalties_are_at_least_1, lone_flows_are_alone, flows_are_explained, numbers_are_names, reach_is_far];

/// The built-in graphs, all small ones, and random ones with flows of different sizes and starts.
fn graphs() -> Vec<Graph> {
    let mut all: Vec<Graph> = published::GRAPHS.iter().map(|g| published::find(g.name).unwrap()).collect();
    all.extend(random::all(3, true));
    for edges in [5, 8, 11] {
        let settings = random::DrawSettings { edges, graphs: 12, parallel: true, ..random::DrawSettings::default() };
        for mut graph in random::draw(&settings).unwrap() {
            for (i, flow) in graph.flows.iter_mut().enumerate() {
                flow.bytes *= (1 + i % 3) as f64;
                flow.start = 5000.0 * (i % 4) as f64;
            }
            all.push(graph);
        }
    }
    all
}

fn ready(set: &RuleSet) -> Box<dyn Rules> {
    (set.start)(&set.card.resolve(&Params::new()).expect("defaults are good"))
}

fn penalties(set: &RuleSet, graph: &Graph) -> Result<Vec<f64>, String> {
    evaluate(&*ready(set), graph).map_err(|e| e.to_string())
}

fn same(a: &[f64], b: &[f64], what: &str) -> Result<(), String> {
    let good = a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-9);
    if good { Ok(()) } else { Err(format!("{what}: {a:?} and {b:?}")) }
}

fn penalties_are_at_least_1(set: &RuleSet, graph: &Graph) -> Result<(), String> {
    let found = penalties(set, graph)?;
    let good = found.iter().all(|p| p.is_finite() && *p >= 1.0);
    if good { Ok(()) } else { Err(format!("a penalty below 1, or none: {found:?}")) }
}

/// A flow by itself is not slowed, nor is one that meets only a flow the other way: links are full duplex.
fn lone_flows_are_alone(set: &RuleSet, graph: &Graph) -> Result<(), String> {
    for flow in &graph.flows {
        let there = (flow.from, flow.to);
        for edges in [vec![there], vec![there, (flow.to, flow.from)]] {
            let alone = Graph::from_edges(&edges, 1.0).map_err(|e| e.to_string())?;
            same(&penalties(set, &alone)?, &vec![1.0; edges.len()], "a flow that meets no other")?;
        }
    }
    Ok(())
}

fn flows_are_explained(set: &RuleSet, graph: &Graph) -> Result<(), String> {
    let (found, terms) = explain(&*ready(set), graph).map_err(|e| e.to_string())?;
    same(&found, &penalties(set, graph)?, "explained and not")?;
    match (0..found.len()).find(|&flow| terms.iter().all(|t| t.flow as usize != flow)) {
        Some(flow) => Err(format!("no rule is given for flow {flow}")),
        None => Ok(()),
    }
}

/// Numbers of nodes and the order of flows are names: in reverse they give the same penalties.
fn numbers_are_names(set: &RuleSet, graph: &Graph) -> Result<(), String> {
    let order: Vec<usize> = (0..graph.flows.len()).rev().collect();
    let mut other = graph.part(&order);
    for flow in &mut other.flows {
        (flow.from, flow.to) = (graph.nodes.len() - 1 - flow.from, graph.nodes.len() - 1 - flow.to);
    }
    let mut found = penalties(set, &other)?;
    found.reverse();
    same(&found, &penalties(set, graph)?, "renumbered and not")
}

/// A rule set says how far a change reaches. If it says too little, the solver keeps penalties that are no longer true; so in every step
/// they must be those of the flows under way. All bytes are sent, too.
fn reach_is_far(set: &RuleSet, graph: &Graph) -> Result<(), String> {
    const RATE: f64 = 1000.0;
    let rules = ready(set);
    let options = Options { steps: true, ..Options::rate(RATE) };
    let solution = solve(graph, &*rules, &options).map_err(|e| e.to_string())?;
    let mut sent = vec![0.0; graph.flows.len()];
    for step in &solution.steps {
        let active: Vec<usize> = step.flows.iter().map(|f| f.flow).collect();
        let kept: Vec<f64> = step.flows.iter().map(|f| f.penalty).collect();
        same(&kept, &penalties(set, &graph.part(&active))?, "kept by the solver and computed anew")?;
        for f in &step.flows {
            sent[f.flow] += (step.to_s - step.from_s) * RATE / f.penalty;
        }
    }
    for (flow, sent) in graph.flows.iter().zip(&sent) {
        if (sent - flow.bytes).abs() > 1e-6 * flow.bytes.max(1.0) {
            return Err(format!("{sent} of {} bytes are sent", flow.bytes));
        }
    }
    Ok(())
}

/// One law on all graphs.
fn keeps(law: Law, set: &RuleSet, graphs: &[Graph]) -> Result<(), String> {
    graphs
        .iter()
        .try_for_each(|graph| law(set, graph).map_err(|e| format!("{}: {e}; {:?}", set.card.name, graph.edges())))
}

#[test]
fn every_rule_set_keeps_every_law() {
    let graphs = graphs();
    for law in LAWS {
        RULES.iter().try_for_each(|set| keeps(*law, set, &graphs)).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// A graph of up to 9 nodes and 12 flows of different sizes and starts.
fn any_graph() -> impl Strategy<Value = Graph> {
    let flow = (0usize..9, 0usize..8, 0u32..5, 0u32..4);
    prop::collection::vec(flow, 1..12).prop_map(|flows| {
        let flow = |(i, (from, to, size, start)): (usize, (usize, usize, u32, u32))| Flow {
            name: format!("f{i}"),
            from,
            to: if to >= from { to + 1 } else { to },
            bytes: f64::from(size) * 250.0,
            start: f64::from(start) * 0.3,
            after: (i > 0 && size == 3 && start == 3).then(|| i - 1),
        };
        let flows = flows.into_iter().enumerate().map(flow).collect();
        Graph { nodes: (0..9).map(|n| n.to_string()).collect(), flows }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_rule_set_keeps_every_law_on_any_graph(graph in any_graph()) {
        let graphs = [graph];
        for law in LAWS {
            RULES.iter().try_for_each(|set| keeps(*law, set, &graphs)).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn residual_never_overloads_a_receiver(graph in any_graph()) {
        let rules = rules::start("ib-residual", &Params::new()).unwrap();
        let rho = evaluate(&*rules, &graph).unwrap();
        for node in 0..9 {
            let load: f64 = graph.flows.iter().zip(&rho).filter(|(f, _)| f.to == node).map(|(_, r)| 1.0 / r).sum();
            prop_assert!(load <= 1.0 + 1e-6, "{load}");
        }
    }
}

/// A rule set that is wrong in one way.
#[derive(Clone, Copy, PartialEq)]
enum Wrong {
    Faster,
    SlowAlone,
    Silent,
    ByNumber,
    Shortsighted,
}

impl Rules for Wrong {
    fn reach(&self) -> Reach {
        Reach::Receiver
    }

    fn penalties(&self, traffic: &Traffic, flows: &[u32], out: &mut [f64], notes: &mut Notes) -> Result<(), RuleError> {
        for (rho, &flow) in out.iter_mut().zip(flows) {
            let arriving = traffic.flows_into(traffic.receiver_of(flow));
            *rho = match self {
                Wrong::Faster => 0.5 + 0.5 * flows.len() as f64,
                Wrong::SlowAlone => 1.5 * flows.len() as f64,
                Wrong::Silent => flows.len() as f64,
                Wrong::ByNumber => flows.len() as f64 + f64::from(traffic.sender(flow)),
                // Looks at the degrees of its rivals' other receivers, which are beyond its reach.
                Wrong::Shortsighted => {
                    let siblings = |&f: &u32| traffic.flows_from(traffic.sender(f));
                    let met = arriving.iter().flat_map(siblings).map(|&f| traffic.in_degree(traffic.receiver_of(f)));
                    met.max().unwrap_or(1) as f64
                }
            };
            if *self == Wrong::Faster {
                *rho -= 0.25;
            }
        }
        for (&flow, &rho) in flows.iter().zip(out.iter()).filter(|_| *self != Wrong::Silent) {
            notes.add(flow, "wrong", rho, String::new);
        }
        Ok(())
    }
}

/// Each law, and the rule set that breaks it.
const BREAKERS: &[(Law, RuleSet)] = &[
    (penalties_are_at_least_1, wrong("faster", |_| Box::new(Wrong::Faster))),
    (lone_flows_are_alone, wrong("slow-alone", |_| Box::new(Wrong::SlowAlone))),
    (flows_are_explained, wrong("silent", |_| Box::new(Wrong::Silent))),
    (numbers_are_names, wrong("by-number", |_| Box::new(Wrong::ByNumber))),
    (reach_is_far, wrong("shortsighted", |_| Box::new(Wrong::Shortsighted))),
];

const fn wrong(name: &'static str, start: fn(&Params) -> Box<dyn Rules>) -> RuleSet {
    RuleSet { card: Card { name, about: "wrong in one way", source: "this test", params: &[] }, start }
}

#[test]
fn every_law_catches_a_rule_set_that_breaks_it() {
    assert_eq!(BREAKERS.len(), LAWS.len(), "a law without a rule set that breaks it");
    let graphs = graphs();
    for (law, set) in BREAKERS {
        assert!(keeps(*law, set, &graphs).is_err(), "{} is not caught", set.card.name);
    }
}

/// Sizes and numbers of pairs that determine every parameter of every model.
fn points(time: impl Fn(f64, f64) -> f64) -> Vec<Point> {
    let mut points = Vec::new();
    for size in 0..8 {
        for pairs in 1..=6 {
            let seconds = time(f64::from(1024 << size), f64::from(pairs));
            points.push(Point { bytes: 1024 << size, pairs, seconds, trials: vec![seconds] });
        }
    }
    points
}

/// A latency that grows with the pairs, and a rate that saturates: something for every model.
fn measured() -> Vec<Point> {
    points(|n, k| 2e-5 + 4e-7 * (k - 1.0) + n / 3.6e9 * (k / 2.5).max(1.0))
}

const WEIGHTINGS: [Weighting; 2] = [Weighting::Paper, Weighting::Relative];

fn say(model: &Model, what: String) -> Result<(), String> {
    Err(format!("{}: {what}", model.card.name))
}

/// Fitted to times that it predicts itself, a model gives the parameters back. They are those of a fit to measured data, and the same
/// once more each a little larger, so that a fit that always says the same is found out.
fn gives_back_what_made_the_data(model: &Model) -> Result<(), String> {
    for weighting in WEIGHTINGS {
        let measured = (model.fit)(&Data { points: &measured(), weighting }).map_err(|e| e.to_string())?;
        for factor in [1.0, 1.1] {
            let truth: Vec<f64> = measured.theta.iter().map(|t| t * factor).collect();
            let made = points(|n, k| (model.predict)(&truth, n, k));
            let found = (model.fit)(&Data { points: &made, weighting }).map_err(|e| e.to_string())?;
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * b.abs() + 1e-12;
            if !found.theta.iter().zip(&truth).all(close) {
                return say(model, format!("{:?} from data of {truth:?}", found.theta));
            }
        }
    }
    Ok(())
}

/// The error that a fit reports is that of its prediction, and its parameters are named and not negative.
fn reports_its_own_error(model: &Model) -> Result<(), String> {
    let points = measured();
    for weighting in WEIGHTINGS {
        let data = Data { points: &points, weighting };
        let raw = (model.fit)(&data).map_err(|e| e.to_string())?;
        let sse = data.sse(|n, k| (model.predict)(&raw.theta, n, k));
        if (sse - raw.sse).abs() > 1e-9 * data.scale() {
            return say(model, format!("an error of {} is reported as {}", sse, raw.sse));
        }
        let estimates = (model.estimates)(&raw.theta);
        if estimates[0].name != "alpha" || estimates.iter().any(|e| e.value.is_none_or(|v| v < 0.0)) {
            return say(model, format!("{estimates:?}"));
        }
    }
    Ok(())
}

/// With hardly any data a fit refuses, or is finite and says that latency and rate cannot be told apart.
fn survives_little_data(model: &Model) -> Result<(), String> {
    let points = measured();
    for few in [&points[..0], &points[..1], &points[..2], &points[..6], &points[6..7]] {
        for weighting in WEIGHTINGS {
            let Ok(raw) = (model.fit)(&Data { points: few, weighting }) else { continue };
            let said = raw.limits.iter().any(|l| matches!(l, Limit::OneSize { .. }));
            if !said || raw.theta.iter().any(|t| !t.is_finite()) {
                return say(model, format!("{} points: {raw:?}", few.len()));
            }
        }
    }
    Ok(())
}

type ModelLaw = fn(&Model) -> Result<(), String>;
const MODEL_LAWS: &[ModelLaw] = &[gives_back_what_made_the_data, reports_its_own_error, survives_little_data];

#[test]
fn every_model_keeps_every_law() {
    for law in MODEL_LAWS {
        MODELS.iter().try_for_each(law).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Each law, and the model that breaks it.
const BROKEN: &[(ModelLaw, Model)] = &[
    (gives_back_what_made_the_data, Model { fit: |data| fitted(data, |raw| raw.theta[0] *= 1.01), ..m3::MODEL }),
    (
        gives_back_what_made_the_data,
        Model { fit: |data| fitted(data, |raw| raw.theta = vec![2e-5, 3e-10, 2.5]), ..m3::MODEL },
    ),
    (reports_its_own_error, Model { fit: |data| fitted(data, |raw| raw.sse += 1.0), ..m3::MODEL }),
    (survives_little_data, Model { fit: |data| fitted(data, |raw| raw.limits.clear()), ..postal::ALL }),
];

/// The honest fit, then changed.
fn fitted(data: &Data<'_>, change: fn(&mut Raw)) -> Result<Raw, model::maxrate::FitError> {
    let mut raw = (if data.points.len() < 3 { postal::ALL.fit } else { m3::MODEL.fit })(data)?;
    change(&mut raw);
    Ok(raw)
}

#[test]
fn every_law_catches_a_model_that_breaks_it() {
    for (law, model) in BROKEN {
        assert!(law(model).is_err(), "{:?} is not caught", model);
    }
    for law in MODEL_LAWS {
        assert!(BROKEN.iter().any(|(broken, _)| std::ptr::fn_addr_eq(*broken, *law)), "a law that no model breaks");
    }
}
