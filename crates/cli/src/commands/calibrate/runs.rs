//! Simulated runs of measured plans, by this very program: every evaluation is an ordinary run.

use super::beside;
use crate::children::{Children, UNSEEN, words};
use crate::exit::{Exit, Fail};
use bench::wire;
use clap::ArgMatches;
use comm::Comm;
use model::calibrate::Given;
use model::calibrate::seen::{Seen, again, seen};
use model::calibrate::uneven::{Slow, slow, with_them};
use record::{About, JobRecord, Payload, Plan, RunRecord, Stop};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What was measured, and the plans that repeat it in a simulation.
pub struct Measured {
    /// The records.
    pub records: Vec<RunRecord>,
    /// For each what it says.
    pub seen: Vec<Vec<Seen>>,
    /// Nodes that differ and what became of them, in words.
    pub uneven: Option<String>,
    use_loaded: bool,
}

/// Steps and blocks of a simulated run at most: a simulated step without load is like every other one.
const FITTED: (u32, u64) = (8, 3);
/// The same of a run that predicts, whose tails are looked at.
const PREDICTED: (u32, u64) = (40, 10);
/// Blocks of pairs that move more than this are all alike: one is enough. Rings and other canaries meet other nodes in each.
const ALIKE: u64 = 16 << 20;
/// What is ended by time takes so many steps' time.
const LONG: f64 = 30.0;

impl Measured {
    pub fn new(paths: &[&PathBuf], records: Vec<RunRecord>, use_loaded: bool) -> Result<Measured, String> {
        for (path, record) in paths.iter().zip(&records) {
            if record.is_imported() || record.plan.phases.is_empty() {
                return Err(format!("{}: it has no plan that could be simulated", path.display()));
            }
        }
        let seen: Vec<Vec<Seen>> = records.iter().map(seen).collect();
        let measured = Measured { records, seen, uneven: None, use_loaded };
        let any = measured.fitted().next().is_some();
        match any {
            true => Ok(measured),
            false => {
                Err("nothing that was measured without load is in these runs; `tailback run characterize` gives it"
                    .into())
            }
        }
    }

    /// The nodes that are slower than the others, as far as the records tell; each once, as slow as the first of them says.
    pub fn slow(&self) -> Vec<Slow> {
        let mut all: Vec<Slow> = self.records.iter().flat_map(slow).collect();
        all.sort_by_key(|s| s.node);
        all.dedup_by_key(|s| s.node);
        all
    }

    /// Forgets what was measured with slow nodes.
    pub fn leave_out(&mut self) -> Result<(), String> {
        for (record, seen) in self.records.iter().zip(&mut self.seen) {
            let touched = with_them(record, &slow(record));
            seen.retain(|s| !touched.contains(&s.what));
        }
        match self.fitted().next() {
            Some(_) => Ok(()),
            None => {
                Err("--uneven leave-out: nothing was measured without the slow nodes; run it again on others".into())
            }
        }
    }

    fn is_fitted(&self, seen: &Seen) -> bool {
        self.use_loaded || !seen.loaded
    }

    /// What the twin is fitted to, over all records.
    pub fn fitted(&self) -> impl Iterator<Item = &Seen> {
        self.seen.iter().flatten().filter(|s| self.is_fitted(s))
    }

    /// Whether anything was held back.
    pub fn held_back(&self) -> bool {
        self.seen.iter().flatten().any(|s| !self.is_fitted(s))
    }

    /// The plan of a record for a simulation: all of it, or only what is fitted.
    fn plan(&self, record: &RunRecord, all: bool) -> Plan {
        let mut plan = record.plan.clone();
        plan.payload = Payload::Lengths;
        plan.phases.retain(|p| all || self.use_loaded || !matches!(p.about, About::Loaded { .. }));
        // Nothing is fitted to it.
        let told_pairs =
            |name: &str| record.phases.iter().any(|p| p.name == name && p.jobs.iter().any(|j| j.pairs.is_some()));
        plan.phases.retain(|p| !told_pairs(&p.name));
        for phase in &mut plan.phases {
            let measured = record.phases.iter().find(|p| p.name == phase.name);
            for job in &mut phase.jobs {
                let was = measured.and_then(|p| p.jobs.iter().find(|j| j.name == job.name));
                let of_pairs = matches!(phase.about, About::Point { .. } | About::Graph { .. });
                let (steps, blocks) = if all { PREDICTED } else { FITTED };
                let long = was.is_some_and(|j| j.bytes > ALIKE * j.summary.blocks.max(1));
                shorten(&mut job.stop, was, (steps, if of_pairs && long && !all { 1 } else { blocks }));
            }
        }
        plan
    }
}

/// Fewer steps and blocks; what a step is stays.
fn shorten(stop: &mut Stop, was: Option<&JobRecord>, (steps, blocks): (u32, u64)) {
    let ended_by_time = stop.blocks > 1 << 32;
    if !ended_by_time {
        (stop.steps, stop.blocks) = (stop.steps.min(steps), stop.blocks.min(blocks));
        (stop.warmup, stop.min_blocks) = (stop.warmup.min(1), stop.min_blocks.min(blocks));
        stop.arrangements = stop.arrangements.min(blocks as u32);
    }
    let step = was.map(|j| j.elapsed_s * f64::from(j.ranks) / (j.summary.samples.max(1) as f64)).filter(|s| *s > 0.0);
    if let (true, Some(time), Some(step)) = (ended_by_time, stop.time_s, step) {
        stop.time_s = Some(time.min(LONG * step));
    }
}

/// Where and how runs are made. The folder goes with it.
pub struct Runs<'a> {
    folder: PathBuf,
    children: &'a Children,
    side_by_side: usize,
    seed: u64,
    next: AtomicUsize,
}

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl<'a> Runs<'a> {
    pub fn new(
        args: &ArgMatches,
        out: &Path,
        children: &'a Children,
        world: Option<&dyn Comm>,
    ) -> anyhow::Result<Runs<'a>> {
        let folder = beside(out, world.map_or(0, |w| w.rank()));
        let failed = |e: std::io::Error| Fail::with(Exit::Failure, format!("{}: {e}", folder.display()));
        std::fs::create_dir(&folder).map_err(failed)?;
        // Processes of a launcher may share the cores that each of them sees.
        let cores = if world.is_some() { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
        Ok(Runs {
            children,
            folder,
            side_by_side: args.get_one::<u32>("threads").map_or(cores, |n| *n as usize),
            seed: args.get_one::<u64>("seed").copied().unwrap_or(1),
            next: AtomicUsize::new(0),
        })
    }

    /// How many simulations go side by side, in all processes.
    pub fn at_once(&self, world: Option<&dyn Comm>) -> usize {
        self.side_by_side * world.map_or(1, |w| w.size())
    }

    /// What machines give for what is fitted, each in the order of [`Measured::fitted`], by all processes together.
    pub fn simulate(
        &self,
        world: Option<&dyn Comm>,
        measured: &Measured,
        files: &[String],
    ) -> anyhow::Result<Vec<Given>> {
        let (me, processes) = world.map_or((0, 1), |w| (w.rank(), w.size()));
        let mine: Vec<usize> = (0..files.len()).filter(|i| i % processes == me).collect();
        let given = Children::each(self.side_by_side, &mine, |i| self.of_file(measured, &files[*i]))?;
        let Some(world) = world else { return Ok(given) };
        let all = wire::gather(world, Some(&given));
        let all: Vec<Vec<Given>> = wire::tell(world, all.as_ref());
        // Dealt in turn, so taken up in turn.
        let mut dealt: Vec<_> = all.into_iter().map(Vec::into_iter).collect();
        Ok((0..files.len()).filter_map(|i| dealt[i % processes].next()).collect())
    }

    fn of_file(&self, measured: &Measured, file: &str) -> anyhow::Result<Given> {
        let mut given = Vec::new();
        for (record, seen) in measured.records.iter().zip(&measured.seen) {
            let wanted: Vec<Seen> = seen.iter().filter(|s| measured.is_fitted(s)).cloned().collect();
            if wanted.is_empty() {
                continue;
            }
            match self.run(record, &measured.plan(record, false), file)? {
                Some(simulated) => given.extend(again(&wanted, &simulated)),
                None => given.extend(wanted.iter().map(|_| None)),
            }
        }
        Ok(given)
    }

    /// What a machine gives for each record, loaded phases and all.
    pub fn predict(&self, measured: &Measured, file: &str) -> anyhow::Result<Vec<Option<RunRecord>>> {
        let run = |record: &RunRecord| self.run(record, &measured.plan(record, true), file);
        Children::each(self.side_by_side, &measured.records, run)
    }

    /// Runs a plan on a machine; nothing if that is no machine, or the plan cannot run on it.
    fn run(&self, record: &RunRecord, plan: &Plan, file: &str) -> anyhow::Result<Option<RunRecord>> {
        let failed = |e: std::io::Error| Fail::with(Exit::Failure, format!("{}: {e}", self.folder.display()));
        let name = self.next.fetch_add(1, Ordering::Relaxed);
        let at = |end: &str| self.folder.join(format!("{name}{end}"));
        let (machine, plan_file, out) = (at(".toml"), at(".json"), at(""));
        std::fs::write(&machine, file).map_err(failed)?;
        std::fs::write(&plan_file, serde_json::to_string(plan)?).map_err(failed)?;
        let layout = record.layout;
        let mut list = words(UNSEEN);
        list.extend(words(["--plan".as_ref(), plan_file.as_os_str(), "--on".as_ref(), machine.as_os_str()]));
        list.extend(words(["--nodes", &layout.nodes.to_string()]));
        list.extend(words(["--ranks-per-node", &layout.max_ranks_per_node.to_string()]));
        list.extend(words(["--seed", &self.seed.to_string()]));
        let simulated = self.children.run(&list, &out)?;
        let _ = std::fs::remove_dir_all(&out);
        match simulated {
            Ok(record) => Ok(Some(record)),
            // The first machine is the base: what is wrong with it is wrong with all.
            Err(said) if name == 0 => {
                Err(Fail::usage(format!("the measured plan does not run on the simulated machine: {said}")))
            }
            Err(_) => Ok(None),
        }
    }
}
