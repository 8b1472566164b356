//! A machine that measures graph after graph into one record.
//!
//! Every rank calls the same methods in the same order. Times are known on rank 0 alone: methods return `None` elsewhere, and
//! [`Session::tell`] lets the others know what rank 0 decided.

use super::graphs::Named;
use crate::commands::run;
use crate::exit::{Exit, Fail};
use crate::grouping::Grouping;
use crate::machine::Machine;
use crate::progress::Watch;
use bench::suites::contention::{self as suite, Mode, PlannedFlow};
use bench::{Facts, Observer, Seat};
use clap::ArgMatches;
use comm::{Buffer, Comm};
use model::contention::Graph;
use model::contention::recorded::{middle, values};
use record::{Payload, Phase, PhaseRecord, Plan, RunRecord, Status};
use spec::Params;
use std::sync::Mutex;

/// How flows are measured.
pub type Times = Mode;

/// Messages under way in steady mode, and their size at most: together small beside what a flow moves in the time, each long beside its
/// own handshake. Messages of 64 KiB give other penalties, because their requests wait in the queues that are measured.
const WINDOW: u32 = 8;
const STEADY_BYTES: u64 = 1 << 20;
/// Flows of a steady phase that ran longer than the shortest by this factor ran partly without it.
const TOGETHER: f64 = 1.2;

/// All flows wait so long, in which the barriers of all of them end: a barrier behind another flow's data starts its flow late.
const LEAD: spec::Time = spec::Time::from_us(2000);

/// `--repeats`, `--lead` and `--steady`.
pub fn mode(args: &ArgMatches) -> anyhow::Result<Times> {
    let steady = args.try_get_one::<String>("steady").ok().flatten();
    if let Some(text) = steady {
        let seconds = spec::parse_time(text).map_err(|e| Fail::usage(format!("--steady: {e}")))?.secs();
        return match seconds > 0.0 {
            true => Ok(Mode::Rates { seconds, window: WINDOW }),
            false => Err(Fail::usage(format!("--steady {text}: a time above zero"))),
        };
    }
    let lead_ps = match args.get_one::<String>("lead") {
        None => LEAD.ps(),
        Some(text) => spec::parse_time(text).map_err(|e| Fail::usage(format!("--lead: {e}")))?.ps(),
    };
    Ok(Mode::Times { repeats: *args.get_one::<u32>("repeats").expect("it has a default"), lead_ps })
}

/// Nodes and ranks per node that graphs need.
pub fn needs<'a>(graphs: impl Iterator<Item = &'a Graph>) -> (u32, u32) {
    let each = graphs.map(|g| {
        let mut degree = vec![0u32; g.nodes.len()];
        g.flows.iter().flat_map(|f| [f.from, f.to]).for_each(|n| degree[n] += 1);
        (g.nodes.len() as u32, degree.into_iter().max().unwrap_or(1))
    });
    each.fold((2, 1), |(nodes, slots), (n, s)| (nodes.max(n), slots.max(s)))
}

/// What a campaign does on every rank; its result counts on rank 0.
type Body<'b, T> = &'b (dyn Fn(&mut Session<'_>) -> Result<Option<T>, String> + Sync);

/// Runs a campaign on the machine that the arguments name, a simulated one made large enough. The result is there on rank 0.
pub fn run<T: Send>(args: &ArgMatches, needs: (u32, u32), body: Body<'_, T>) -> anyhow::Result<Option<T>> {
    let machine = Machine::choose_for(args, false, Some(needs))?;
    let (seed, grouping) = (run::read_seed(args)?, Grouping::read(args, &machine)?);
    let watch = run::watch_campaign(&machine, args, "contention")?;
    let facts = run::facts(&machine);
    // Lengths cost a simulated machine nothing; a real one carries and checks data unless told otherwise.
    let lengths = args.get_one::<String>("payload").map_or(machine.is_simulated(), |p| p == "lengths");
    let payload = if lengths { Payload::Lengths } else { Payload::Checked };
    let result = Mutex::new(Ok(None));
    let ended = machine.run(&|world| {
        let mut facts = facts.clone();
        let seed = run::agree_on_seed(world, seed);
        let seat = match grouping.take_seat(world, &mut facts) {
            Ok(seat) => seat,
            Err(error) => {
                *result.lock().expect("nobody panics holding it") = Err(format!("{error:#}"));
                return;
            }
        };
        let mut session = Session { world, seat, facts, watch: &watch, seed, payload, record: None };
        let outcome = body(&mut session);
        let failed = outcome.is_err();
        session.close(outcome.as_ref().err());
        if failed || session.leads() {
            *result.lock().expect("nobody panics holding it") = outcome;
        }
    });
    watch.complete(&machine);
    if let Err(error) = ended {
        watch.give_up(&error.0);
        return Err(Fail::with(Exit::Incomplete, error));
    }
    let (record, failure) = watch.finish();
    let outcome = result.into_inner().expect("nobody panics holding it").map_err(Fail::usage);
    if !machine.prints() {
        return outcome.map(|_| None);
    }
    let outcome = outcome?;
    if record.is_some_and(|r| r.has_wrong_data()) {
        return Err(Fail::with(Exit::WrongData, "flows received other data than was sent; see the record"));
    }
    match failure {
        Some(text) => Err(Fail::with(Exit::Incomplete, text)),
        None => Ok(outcome),
    }
}

/// One rank's part of a campaign.
pub struct Session<'a> {
    world: &'a dyn Comm,
    seat: Seat,
    facts: Facts,
    watch: &'a Watch,
    seed: u64,
    payload: Payload,
    record: Option<RunRecord>,
}

/// Progress goes to the screen; saving waits for the whole record.
struct Progress<'a>(&'a Watch);

impl Observer for Progress<'_> {
    fn phase(&self, plan: &Plan, index: usize) {
        self.0.phase(plan, index);
    }
    fn heart(&self, beat: bench::Beat) {
        self.0.heart(beat);
    }

    fn save(&self, _: &RunRecord) {
        self.0.phase_ended();
    }
}

impl Session<'_> {
    /// Whether this is rank 0.
    pub fn leads(&self) -> bool {
        self.world.rank() == 0
    }

    /// Rank 0's text on every rank.
    pub fn tell(&self, text: String) -> String {
        let mut length = (text.len() as u64).to_le_bytes();
        self.world.bcast(0, Buffer::Bytes(&mut length));
        let mut bytes = text.into_bytes();
        bytes.resize(u64::from_le_bytes(length) as usize, 0);
        if !bytes.is_empty() {
            self.world.bcast(0, Buffer::Bytes(&mut bytes));
        }
        String::from_utf8(bytes).expect("text was sent")
    }

    /// Rank 0's number on every rank.
    fn tell_number(&self, x: f64) -> f64 {
        let mut bytes = x.to_le_bytes();
        self.world.bcast(0, Buffer::Bytes(&mut bytes));
        f64::from_le_bytes(bytes)
    }

    /// Runs phases and adds them to the record; their records on rank 0.
    fn phases(&mut self, phases: Vec<Phase>) -> Result<Option<Vec<PhaseRecord>>, String> {
        let plan = suite::plan_of(phases, self.seed, self.payload);
        bench::suites::check(&plan, self.seat.layout).map_err(|e| e.to_string())?;
        let Some(mut done) = bench::run(self.world, self.seat, &plan, &self.facts, &Progress(self.watch)) else {
            return Ok(None);
        };
        let found = done.phases.clone();
        done.status = Status::Incomplete { reason: "the campaign has not ended".into() };
        match &mut self.record {
            None => self.record = Some(done),
            Some(record) => {
                record.plan.phases.append(&mut done.plan.phases);
                record.phases.append(&mut done.phases);
            }
        }
        self.watch.save(self.record.as_ref().expect("just made"));
        Ok(Some(found))
    }

    /// Marks the record as complete, or says why it is not.
    fn close(&mut self, problem: Option<&String>) {
        let Some(record) = &mut self.record else { return };
        record.status = match problem {
            None => Status::Complete,
            Some(reason) => Status::Incomplete { reason: reason.clone() },
        };
        self.watch.save(record);
    }

    /// Times in seconds, or rates in bytes per second, of each flow of a graph.
    pub fn measure(&mut self, name: &str, graph: &Graph, mode: Times) -> Result<Option<Vec<Vec<f64>>>, String> {
        let one = Named { name: name.into(), graph: graph.clone() };
        Ok(self.measure_all(&[one], mode)?.and_then(|mut all| all.pop()))
    }

    /// The same for several graphs.
    pub fn measure_all(&mut self, graphs: &[Named], mode: Times) -> Result<Option<Vec<Vec<Vec<f64>>>>, String> {
        let mut phases = Vec::new();
        for n in graphs {
            phases.extend(suite::phases((&n.name, purpose(&n.name)), &flows(&n.graph, mode)?, mode));
        }
        let Some(done) = self.phases(phases)? else { return Ok(None) };
        self.warn(done.iter().find_map(apart));
        let per_graph = done.len() / graphs.len().max(1);
        let of = |repeats: &[PhaseRecord]| values(&repeats.iter().collect::<Vec<_>>());
        Ok(Some(done.chunks(per_graph.max(1)).map(of).collect()))
    }

    /// Measures max-rate between two nodes, so that the record holds the capacities that flows compete for.
    pub fn measure_rates(&mut self, bytes: f64) -> Result<(), String> {
        let maxrate = bench::suite("maxrate")?;
        let sizes: Vec<String> =
            [64.0, 16.0, 4.0, 1.0].map(|share| (bytes / share).max(1.0).round().to_string()).into();
        let most = self.seat.layout.min_ranks_per_node;
        let given = [
            ("modes", "stream".into()),
            ("sizes", sizes.join(",")),
            ("pairs", format!("1-{most}")),
            ("window", "2".into()),
        ];
        let loops = [("trials", "5".to_string()), ("loops", "16".into()), ("volume", (8.0 * bytes).to_string())];
        let given: Params =
            given.into_iter().chain(loops).map(|(name, value): (&str, String)| (name.into(), value)).collect();
        let params = maxrate.card.resolve(&given).map_err(|e| e.to_string())?;
        let request = bench::suites::Request {
            params: &params,
            layout: self.seat.layout,
            seed: self.seed,
            payload: self.payload,
        };
        let plan = (maxrate.plan)(&request).map_err(|e| e.to_string())?;
        self.phases(plan.phases).map(|_| ())
    }

    /// The record so far; on rank 0.
    pub fn record(&self) -> Option<&RunRecord> {
        self.record.as_ref()
    }

    /// Whether every flow of a graph finds a free sender and receiver.
    pub fn seats(&self, graph: &Graph) -> bool {
        let (nodes, slots) = needs([graph].into_iter());
        nodes <= self.seat.layout.nodes && slots <= self.seat.layout.min_ranks_per_node
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.seat.layout.nodes as usize
    }

    /// Tells the user and the record; on rank 0, which is the one that knows.
    pub fn warn(&mut self, text: Option<String>) {
        if let (Some(text), Some(record)) = (text, &mut self.record) {
            eprintln!("tailback: {text}");
            record.warnings.push(text);
        }
    }

    /// The time (or rate) of a flow alone, where the graph's first flow is; the same on every rank.
    pub fn alone(&mut self, graph: &Graph, mode: Times) -> Result<f64, String> {
        let first = graph.part(&[0]);
        let taken = self.record.as_ref().map_or(0, |r| r.phases.iter().filter(|p| p.name.starts_with("alone")).count());
        let name = if self.tell_number(taken as f64) == 0.0 {
            "alone".to_string()
        } else {
            format!("alone-{}", first.flows[0].name)
        };
        let name = self.tell(name);
        let found = self.measure(&name, &first, mode)?;
        Ok(self.tell_number(found.map_or(0.0, |f| middle(&f[0]))))
    }

    /// The middle over a ring of all nodes of the time of a flow alone; says if node pairs differ.
    pub fn alone_everywhere(&mut self, graph: &Graph, mode: Times) -> Result<f64, String> {
        let nodes = self.seat.layout.nodes.min(graph.nodes.len().max(2) as u32) as usize;
        let pair =
            |i: usize| Graph::from_edges(&[(i, (i + 1) % nodes)], graph.flows[0].bytes).map_err(|e| e.to_string());
        let ring: Vec<Named> = (0..nodes)
            .map(|i| Ok(Named { name: format!("alone-{i}"), graph: pair(i)? }))
            .collect::<Result<_, String>>()?;
        let found = self.measure_all(&ring, mode)?;
        let times: Vec<f64> = found.into_iter().flatten().map(|f| middle(&f[0])).collect();
        if let (Some(low), Some(high)) =
            (times.iter().copied().reduce(f64::min), times.iter().copied().reduce(f64::max))
            && high > 1.05 * low
        {
            let say =
                format!("a flow alone takes {low:.3e} to {high:.3e} depending on the nodes: penalties are blurred");
            self.warn(Some(say));
        }
        Ok(self.tell_number(middle(&times)))
    }
}

/// A graph's flows as the suite wants them.
fn flows(graph: &Graph, mode: Times) -> Result<Vec<PlannedFlow>, String> {
    let one = |f: &model::contention::Flow| {
        if f.after.is_some() {
            return Err(format!("flow `{}` starts after another: such graphs can be predicted, not measured", f.name));
        }
        if f.bytes < 1.0 {
            return Err(format!("flow `{}` has no bytes: it cannot be measured", f.name));
        }
        let bytes = if mode.steady() { STEADY_BYTES.min(f.bytes as u64) } else { f.bytes as u64 };
        let start_ps = spec::Time::from_secs(f.start).ps();
        Ok(PlannedFlow { name: f.name.clone(), from: f.from as u32, to: f.to as u32, bytes, start_ps })
    };
    graph.flows.iter().map(one).collect()
}

fn purpose(graph: &str) -> record::Purpose {
    match graph {
        g if g.starts_with("alone") => record::Purpose::Alone,
        g if g.starts_with("learn-") => record::Purpose::Learn,
        g if g.starts_with("calibrate-") => record::Purpose::Calibrate,
        _ => record::Purpose::Score,
    }
}

/// Says if the flows of a steady phase did not run together.
fn apart(phase: &PhaseRecord) -> Option<String> {
    let times = || phase.jobs.iter().filter(|j| j.kernel == "flow-rate").map(|j| j.elapsed_s);
    let (low, high) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
    (high > TOGETHER * low).then(|| {
        format!(
            "{}: flows ran for {low:.3e} to {high:.3e} s, so some had no rivals for a while; give a longer --steady",
            phase.name
        )
    })
}
