//! `tailback tune`: which congestors give the network the counters of a recorded run (GPCNeT §4.5).
//!
//! A candidate is a share of the nodes, ranks per node and weights of congestors. Each runs for a short phase on the machine; its
//! counters over nodes are compared with the recorded ones, and the next candidate depends on what was found.
//!
//! Different loads can leave the same counters: where the network is full, more ranks per node add nothing that a NIC could count.
//! And chance (which nodes, which order) moves counters, too. The answer is a load that looks alike, not proof of what ran.

mod distance;
mod search;

use super::run;
use crate::exit::{Exit, Fail};
use crate::grouping::Grouping;
use crate::machine::Machine;
use crate::output;
use crate::progress::Watch;
use bench::suites::Request;
use bench::{Facts, Observer, Seat};
use clap::ArgMatches;
use comm::{Buffer, Comm};
use distance::Target;
use record::{Members, Payload, Phase, PhaseRecord, Plan, Role, RunRecord, Status};
use report::table::{Table, digits};
use search::{Candidate, Search};
use spec::Params;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Mutex;

/// How long a candidate runs on a real machine and on a simulated one, and by how much loops are cut there.
const TIME: [&str; 2] = ["10s", "2ms"];
const CUT: [&str; 2] = ["1", "10"];
/// What a candidate's distance is called in the record.
const DISTANCE: &str = "distance";

/// What is asked for, read before any rank starts.
struct Wanted {
    target: Target,
    /// Names of the counters, for the report.
    counters: Vec<String>,
    like: PathBuf,
    phase: String,
    canary: String,
    congestors: Vec<String>,
    time: String,
    cut: String,
    candidates: usize,
    seed: Option<u64>,
    grouping: Grouping,
    payload: Payload,
    /// The recorded seed on a simulated machine: the recorded load itself would be played again to the last bit.
    replays: bool,
}

/// One candidate that ran or could not run.
struct Tried {
    candidate: Candidate,
    /// Who takes part in which job: candidates with the same members are the same.
    members: Vec<Members>,
    distance: f64,
}

/// Searches.
pub fn tune(args: &ArgMatches) -> anyhow::Result<Exit> {
    let machine = Machine::choose(args, false)?;
    let wanted = match Wanted::read(args, &machine) {
        Ok(wanted) => wanted,
        Err(error) if machine.prints() => return Err(error),
        Err(_) => return Ok(Exit::Usage),
    };
    let watch = run::watch_campaign(&machine, args, "tune")?;
    let facts = run::facts(&machine);
    let answer = Mutex::new(None);
    let ended = machine.run(&|world| {
        let result = on_rank(world, &wanted, &facts, &watch);
        let mut answer = answer.lock().expect("nobody panics holding it");
        // Rank 0 knows best; where it is another process, this one's error says how to end.
        if world.rank() == 0 || (answer.is_none() && result.is_err()) {
            *answer = Some(result);
        }
    });
    watch.complete(&machine);
    if let Err(error) = ended {
        watch.give_up(&error.0);
        let (record, _) = watch.finish();
        return Err(Fail::with(if record.is_some() { Exit::Incomplete } else { Exit::Failure }, error));
    }
    let (record, failure) = watch.finish();
    match answer.into_inner().expect("nobody panics holding it") {
        Some(Ok(tried)) => output::print(&summary(&wanted, &tried))?,
        Some(Err(error)) if machine.prints() => return Err(error),
        Some(Err(_)) => return Ok(Exit::Usage),
        None => return Ok(Exit::Good),
    }
    match (failure, record.is_some_and(|r| r.has_wrong_data())) {
        (Some(text), _) => Err(Fail::with(Exit::Incomplete, text)),
        (None, true) => Ok(Exit::WrongData),
        (None, false) => Ok(Exit::Good),
    }
}

impl Wanted {
    fn read(args: &ArgMatches, machine: &Machine) -> anyhow::Result<Wanted> {
        let text = |option: &str| args.get_one::<String>(option).cloned();
        let like = args.get_one::<PathBuf>("like").expect("it is required").clone();
        let record = record::read(&like)?;
        let phase = pick_phase(&record, text("phase").as_deref())
            .map_err(|why| Fail::usage(format!("{}: {why}", like.display())))?;
        let counters = pick_counters(phase, text("counter").as_deref()).map_err(Fail::usage)?;
        let target = Target::new(phase, &counters).map_err(|missing| {
            let known: Vec<&str> = names(phase);
            let say = spec::near::unknown("counter", &missing, known.iter().copied());
            Fail::usage(format!("{say} (of {} in {})", phase.name, like.display()))
        })?;
        let simulated = usize::from(machine.is_simulated());
        let lengths = machine.is_simulated() && machine.ranks() > run::CARRY_DATA_UP_TO;
        let payload = match text("payload").as_deref() {
            Some("checked") => Payload::Checked,
            Some(_) => Payload::Lengths,
            None if lengths => Payload::Lengths,
            None => Payload::Checked,
        };
        let seed = run::read_seed(args)?;
        let list = text("congestors").expect("it has a default");
        Ok(Wanted {
            target,
            counters: counters.into_iter().map(|(theirs, _)| theirs).collect(),
            phase: phase.name.clone(),
            like,
            canary: text("canary").expect("it has a default"),
            congestors: list.split(',').map(|c| c.trim().to_string()).collect(),
            time: text("time").unwrap_or_else(|| TIME[simulated].into()),
            cut: CUT[simulated].into(),
            candidates: *args.get_one::<u32>("candidates").expect("it has a default") as usize,
            seed,
            replays: machine.is_simulated() && seed == Some(record.plan.seed),
            grouping: Grouping::read(args, machine)?,
            payload,
        })
    }

    /// The phase that a candidate runs; none if too few nodes are left for a congestor.
    fn phase(&self, candidate: &Candidate, seat: Seat, seed: u64) -> anyhow::Result<Option<(Plan, Phase)>> {
        let suite = bench::suite("gpcnet").map_err(Fail::usage)?;
        let given: Params = [
            ("canaries", self.canary.clone()),
            ("congestors", candidate.congestors(&self.congestors)),
            ("share", format!("{}%", candidate.share)),
            ("slots", candidate.slots.to_string()),
            ("time", self.time.clone()),
            ("cut", self.cut.clone()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_string(), value))
        .collect();
        let params = suite.card.resolve(&given).map_err(Fail::usage)?;
        let request = Request { params: &params, layout: seat.layout, seed, payload: self.payload };
        let mut plan = (suite.plan)(&request).map_err(Fail::usage)?;
        plan.suite = "tune".into();
        let loaded = |p: &Phase| p.jobs.iter().any(|j| j.role == Role::Background);
        let phase = plan.phases.iter().find(|p| loaded(p)).cloned();
        Ok(phase.map(|phase| (plan, phase)))
    }
}

/// Names of a phase's counters, each once.
fn names(phase: &PhaseRecord) -> Vec<&str> {
    let mut names: Vec<&str> = phase.counters.iter().map(|c| c.name.as_str()).collect();
    names.dedup();
    names
}

/// The phase to aim at: the one named, or the first one under load, or the first one.
fn pick_phase<'a>(record: &'a RunRecord, name: Option<&str>) -> Result<&'a PhaseRecord, String> {
    let counted: Vec<&PhaseRecord> = record.phases.iter().filter(|p| !p.counters.is_empty()).collect();
    if counted.is_empty() {
        return Err("it holds no counters of any phase; record it again on a machine that counts".into());
    }
    let loaded = |p: &&&PhaseRecord| p.jobs.iter().any(|j| j.role == Role::Background);
    match name {
        None => Ok(counted.iter().find(loaded).unwrap_or(&counted[0])),
        Some(name) => {
            let found = counted.iter().find(|p| p.name == name).copied();
            found.ok_or_else(|| spec::near::unknown("phase", name, counted.iter().map(|p| p.name.as_str())))
        }
    }
}

/// The counters to compare, as they are called there and here: those named (`THERE=HERE` where the names differ), or all that tell of
/// load.
fn pick_counters(phase: &PhaseRecord, given: Option<&str>) -> Result<Vec<(String, String)>, String> {
    let pair = |text: &str| text.split_once('=').map_or((text.into(), text.into()), |(a, b)| (a.into(), b.into()));
    if let Some(given) = given {
        return Ok(given.split(',').map(|name| pair(name.trim())).collect());
    }
    let telling: Vec<(String, String)> =
        names(phase).into_iter().filter(|name| bench::counters::tells_load(name)).map(pair).collect();
    if telling.is_empty() {
        return Err(format!("no counter of {} tells of load; name one of {}", phase.name, names(phase).join(", ")));
    }
    Ok(telling)
}

/// The same on every rank: try candidates until the budget is spent or nothing near the best is left. What was tried.
fn on_rank(world: &dyn Comm, wanted: &Wanted, facts: &Facts, watch: &Watch) -> anyhow::Result<Vec<Tried>> {
    let seed = run::agree_on_seed(world, wanted.seed);
    let mut facts = facts.clone();
    let seat = wanted.grouping.take_seat(world, &mut facts)?;
    let mut search = Search::new(wanted.congestors.len(), seat.layout.min_ranks_per_node);
    let mut tried: Vec<Tried> = Vec::new();
    let mut record = None;
    while let Some(candidate) = search.next() {
        let Some((plan, mut phase)) = wanted.phase(&candidate, seat, seed)? else {
            search.found(candidate, f64::INFINITY);
            continue;
        };
        let members: Vec<Members> = phase.jobs.iter().map(|j| j.members.clone()).collect();
        if let Some(same) = tried.iter().find(|t| t.members == members) {
            search.found(candidate, same.distance);
            continue;
        }
        if tried.len() == wanted.candidates {
            break;
        }
        phase.name = format!("candidate-{:02}", tried.len() + 1);
        let distance = evaluate(world, wanted, seat, Plan { phases: vec![phase], ..plan }, &facts, watch, &mut record)?;
        search.found(candidate.clone(), distance);
        tried.push(Tried { candidate, members, distance });
    }
    if tried.is_empty() {
        let say = format!("{} nodes leave none for congestors; at least 4 are needed", seat.layout.nodes);
        return Err(Fail::usage(say));
    }
    if let Some(mut record) = record {
        record.status = Status::Complete;
        watch.save(&record);
    }
    Ok(tried)
}

/// Runs one candidate and adds it to the record; its distance, the same on every rank. Collective.
fn evaluate(
    world: &dyn Comm,
    wanted: &Wanted,
    seat: Seat,
    plan: Plan,
    facts: &Facts,
    watch: &Watch,
    all: &mut Option<RunRecord>,
) -> anyhow::Result<f64> {
    let done = bench::run(world, seat, &plan, facts, &Follow { watch, before: all.as_ref() });
    let mut answer = f64::NAN.to_le_bytes();
    let mut here = String::new();
    if let Some(mut record) = done {
        let phase = &mut record.phases[0];
        if wanted.target.is_counted_in(phase) {
            let distance = wanted.target.distance(phase);
            answer = distance.to_le_bytes();
            phase.jobs[0].results.insert(DISTANCE.into(), distance);
        }
        here = names(phase).join(", ");
        let record = match all.take() {
            None => record,
            Some(mut earlier) => {
                earlier.plan.phases.append(&mut record.plan.phases);
                earlier.phases.append(&mut record.phases);
                earlier
            }
        };
        let status = Status::Incomplete { reason: "the search has not ended".into() };
        let record = RunRecord { status, ..record };
        watch.save(&record);
        *all = Some(record);
    }
    world.bcast(0, Buffer::Bytes(&mut answer));
    let distance = f64::from_le_bytes(answer);
    if distance.is_nan() {
        let theirs = wanted.counters.join(", ");
        let say = format!("no node here counts {theirs}; give --counter THERE=HERE with one of these: {here}");
        return Err(Fail::usage(say));
    }
    Ok(distance)
}

/// Shows candidates as phases of one run; saving is left to the search, which knows what came before.
struct Follow<'a> {
    watch: &'a Watch,
    before: Option<&'a RunRecord>,
}

impl Observer for Follow<'_> {
    fn phase(&self, plan: &Plan, _: usize) {
        let mut so_far = self.before.map_or_else(|| Plan { phases: Vec::new(), ..plan.clone() }, |r| r.plan.clone());
        so_far.phases.extend(plan.phases.iter().cloned());
        self.watch.phase(&so_far, so_far.phases.len() - 1);
    }

    fn heart(&self, beat: bench::Beat) {
        self.watch.heart(beat);
    }

    fn save(&self, _: &RunRecord) {
        self.watch.phase_ended();
    }
}

/// Candidates by distance, and what to type for the nearest.
fn summary(wanted: &Wanted, tried: &[Tried]) -> String {
    let mut order: Vec<usize> = (0..tried.len()).collect();
    order.sort_by(|a, b| tried[*a].distance.total_cmp(&tried[*b].distance));
    let mut out = String::new();
    let _ = writeln!(out, "Load like {} of {}", wanted.phase, wanted.like.display());
    let _ = writeln!(out, "by {}\n", wanted.counters.join(", "));
    let mut table = Table::new(&["Candidate", "share", "ranks/node", "congestors", "distance"]);
    for i in &order {
        let Tried { candidate, distance, .. } = &tried[*i];
        table.row([
            format!("candidate-{:02}", i + 1),
            format!("{}%", candidate.share),
            candidate.slots.to_string(),
            candidate.congestors(&wanted.congestors),
            digits(*distance),
        ]);
    }
    table.write(&mut out);
    out.push_str(
        "\n  Distance is between the nodes' rates there and here, as a share of the mean rate there: 0 is the same.\n",
    );
    out.push_str("  Loads that fill the network can look alike, and chance moves counters: try another --seed before trusting a near tie.\n");
    if wanted.replays {
        out.push_str("  The seed is the recorded one, so the recorded load would be played again exactly: another --seed is a fairer trial.\n");
    }
    let best = &tried[order[0]];
    let _ = writeln!(out, "\nNearest, {}:", best.candidate);
    let congestors = best.candidate.congestors(&wanted.congestors);
    let Candidate { share, slots, .. } = best.candidate;
    let _ = writeln!(out, "  tailback run gpcnet --share {share}% --slots {slots} --congestors {congestors}\n");
    let _ = writeln!(out, "FOM tune.distance {:.6} x", best.distance);
    out
}
