//! The `.dat` files of GPCNeT built with `-DVERBOSE`: the distribution of every test and congestor in 100,000 buckets of equal width
//! between its smallest and its largest value, for scripts that read those.

use crate::view::View;
use record::{About, JobRecord};
use std::fmt::Write;

/// Buckets of the original.
const BUCKETS: usize = 100_000;

/// What the original calls a row of its tables in the names of files.
const STEMS: [(&str, &str); 14] = [
    ("RR Two-sided Lat", "p2p_latency"),
    ("RR Get Lat", "get_latency"),
    ("RR Two-sided BW", "p2p_bandwidth"),
    ("Nat Two-sided BW", "p2p_bandwidth_nat"),
    ("RR Put BW", "put_bandwidth"),
    ("RR Two-sided BW+Sync", "p2p_neighbors"),
    ("Multiple Allreduce", "allreduce_latency"),
    ("Multiple Alltoall", "a2a_bandwidth"),
    ("Alltoall", "a2a_congestor"),
    ("Two-sided Incast", "p2p_incast_congestor"),
    ("Put Incast", "put_incast_congestor"),
    ("Get Bcast", "get_bcast_congestor"),
    ("Allreduce", "allreduce_congestor"),
    ("Two-sided Bcast", "p2p_bcast_congestor"),
];

/// One file to be.
pub struct DataFile<'a> {
    /// Its name.
    pub name: String,
    job: &'a JobRecord,
}

/// The files of a run of canaries and congestors: each test alone and with congestors, each congestor alone and with each test.
pub fn data_files<'a>(view: &View<'a>) -> Vec<DataFile<'a>> {
    let mut all: Vec<(String, &'a JobRecord)> = Vec::new();
    let mut add = |name, job| all.push((name, job));
    for canary in &view.canaries {
        let test = stem(canary.isolated);
        add(format!("{test}_baseline"), canary.isolated);
        let Some(loaded) = canary.loaded else { continue };
        add(format!("{test}_with_congestors"), loaded);
        canary.congestors.iter().for_each(|job| add(format!("{}_with_{test}", stem(job)), *job));
    }
    for phase in view.record.phases.iter().filter(|p| matches!(p.about, About::Baseline { .. })) {
        phase.jobs.iter().for_each(|job| add(format!("{}_baseline", stem(job)), job));
    }
    all.retain(|(_, job)| !job.samples.is_empty());
    // A name may come twice, as where one congestor runs with several sizes; no file replaces another.
    let named = |(i, (name, job)): (usize, &(String, &'a JobRecord))| {
        let before = all[..i].iter().filter(|(other, _)| other == name).count();
        let name = if before == 0 { format!("{name}.dat") } else { format!("{name}_{}.dat", before + 1) };
        DataFile { name, job }
    };
    all.iter().enumerate().map(named).collect()
}

/// What a job is called in the name of a file: letters, digits and lines, whatever a plan calls it.
fn stem(job: &JobRecord) -> String {
    match STEMS.iter().find(|(title, _)| *title == job.title) {
        Some((_, stem)) => stem.to_string(),
        None => job.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect(),
    }
}

impl DataFile<'_> {
    /// What stands in it. Samples are known to a tenth of a percent, so where buckets are narrower some between them stay empty.
    pub fn text(&self) -> String {
        let (scale, unit) = self.job.metric.shown();
        let filled = self.job.samples.buckets(self.job.metric);
        let middles: Vec<(f64, u64)> = filled.iter().map(|(low, high, n)| ((low + high) / 2.0 * scale, *n)).collect();
        let low = middles.first().map_or(0.0, |m| m.0);
        let high = middles.last().map_or(0.0, |m| m.0);
        let width = (high - low) / (BUCKETS - 1) as f64;
        let mut counts = vec![0u64; BUCKETS];
        for (value, n) in middles {
            // Of one value there is one bucket, and no width.
            let at = if width > 0.0 { ((value - low) / width) as usize } else { 0 };
            counts[at.min(BUCKETS - 1)] += n;
        }
        let mut out = format!("{:22}{:>20.20}\n{:>20} {unit:>20.20} {:>20}\n", "", self.job.title, "Bin", "count");
        for (i, n) in counts.iter().enumerate() {
            let _ = writeln!(out, "{i:>20} {:>20.5} {n:>20}", low + i as f64 * width);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_original_has_one_name() {
        for column in [STEMS.map(|s| s.0), STEMS.map(|s| s.1)] {
            let mut names = column.to_vec();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), STEMS.len());
        }
    }
}
