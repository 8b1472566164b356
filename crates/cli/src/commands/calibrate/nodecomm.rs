//! A table that `nodecomm` printed, as a record: this program plans the same ping-pongs, and what they took is put in.

use crate::children::{Children, UNSEEN, words};
use crate::exit::{Exit, Fail};
use model::maxrate::nodecomm;
use record::{About, Batches, Histogram, JobRecord, PairPattern, RunRecord, Summary};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::Path;

/// Seconds of the whole round trip of each trial, by bytes and pairs.
type Times = BTreeMap<(u64, u32), Vec<f64>>;

/// The record of a table, planned for a machine. The file of the machine and the run that tells the plan are made in a folder, which must
/// not be there yet.
pub fn record(children: &Children, machine: &str, folder: &Path, text: &str) -> anyhow::Result<RunRecord> {
    let blocks = nodecomm::read(text).map_err(Fail::usage)?;
    let mut times = Times::new();
    for sample in nodecomm::as_trials(&blocks) {
        times.entry((sample.bytes, sample.pairs)).or_default().push(sample.seconds);
    }
    let failed = |e: std::io::Error| Fail::with(Exit::Failure, format!("{}: {e}", folder.display()));
    std::fs::create_dir(folder).map_err(failed)?;
    let done = plan(children, machine, folder, &times);
    let _ = std::fs::remove_dir_all(folder);
    let mut record = done?;
    record.phases.retain_mut(|phase| {
        let About::Point { pattern: PairPattern::Pingpong, bytes, pairs, .. } = phase.about else { return false };
        let found = times.get(&(bytes, pairs));
        found.into_iter().for_each(|list| phase.jobs.iter_mut().for_each(|job| put(job, list)));
        found.is_some()
    });
    Ok(record)
}

/// A simulated run of the same ping-pongs.
fn plan(children: &Children, machine: &str, folder: &Path, times: &Times) -> anyhow::Result<RunRecord> {
    let (file, out) = (folder.join("machine.toml"), folder.join("run"));
    let failed = |e: std::io::Error| Fail::with(Exit::Failure, format!("{}: {e}", file.display()));
    std::fs::write(&file, machine).map_err(failed)?;
    let most = times.keys().map(|(_, pairs)| *pairs).max().unwrap_or(1);
    let (sizes, pairs) = (listed(times.keys().map(|key| key.0)), listed(times.keys().map(|key| key.1)));
    let mut list = words([bench::MAXRATE.card.name]);
    list.extend(words(UNSEEN));
    list.extend(words(["--modes", "pingpong", "--pair", "near", "--trials", "1", "--loops", "4", "--nodes", "2"]));
    list.extend(words(["--ranks-per-node", &most.to_string(), "--pairs", &pairs, "--sizes", &sizes]));
    list.extend(words(["--on".as_ref(), file.as_os_str()]));
    let said = |said| Fail::usage(format!("the ping-pongs of this table cannot be planned: {said}"));
    children.run(&list, &out)?.map_err(said)
}

fn listed<T: Ord + Display>(values: impl Iterator<Item = T>) -> String {
    let values: BTreeSet<T> = values.collect();
    values.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

/// What was measured instead of what was simulated.
fn put(job: &mut JobRecord, times: &[f64]) {
    let (mut samples, mut batches) = (Histogram::default(), Batches::default());
    for time in times {
        samples.record(job.metric, *time);
        batches.add(*time, 0, 1);
    }
    job.summary = Summary::new(job.metric, &samples, &batches, Default::default());
    (job.samples, job.batches) = (samples, batches);
}
