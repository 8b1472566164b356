//! Systems that `--with` names: published results that ship with the program, or a table of a user's own.

use crate::exit::Fail;
use record::{About, RunRecord, hpcc_systems, reference};
use std::path::Path;

/// What was named, by suite.
#[derive(Default)]
pub struct With {
    /// Of GPCNeT.
    pub gpcnet: Vec<&'static reference::System>,
    /// Of HPC Challenge.
    pub hpcc: Vec<hpcc_systems::System>,
}

/// Finds each system, or reads each file.
pub fn with<'a>(names: impl IntoIterator<Item = &'a String>) -> anyhow::Result<With> {
    let mut found = With::default();
    for name in names {
        let ours = hpcc_systems::published().iter().filter(|s| s.key() == name.to_lowercase());
        let ours: Vec<hpcc_systems::System> = ours.cloned().collect();
        if name.ends_with(".csv") {
            found.hpcc.extend(table(Path::new(name))?);
        } else if ours.is_empty() {
            found.gpcnet.extend(gpcnet(name)?);
        } else {
            found.hpcc.extend(ours);
        }
    }
    Ok(found)
}

impl With {
    /// Refuses systems without a result of HPC Challenge, or without one of GPCNeT: nothing could be shown of them.
    pub fn only(&self, of_hpcc: bool) -> anyhow::Result<()> {
        let (other, known, benchmark) = match of_hpcc {
            true => (self.gpcnet.first().map(|s| s.label()), hpcc_systems::keys(), "HPC Challenge"),
            false => (self.hpcc.first().map(|s| s.label()), reference::keys(), "GPCNeT"),
        };
        let known = known.join(", ");
        other.map_or(Ok(()), |other| {
            let say = format!("--with: {other} has no published result of {benchmark}; those that have: {known}");
            Err(Fail::usage(say))
        })
    }
}

/// Whether a run is one of HPC Challenge: its tests alone have modes.
pub fn has_modes(record: &RunRecord) -> bool {
    record.phases.iter().any(|p| matches!(p.about, About::Test { mode: Some(_), .. }))
}

fn gpcnet(name: &str) -> anyhow::Result<Vec<&'static reference::System>> {
    let all = [hpcc_systems::keys(), reference::keys()].concat();
    let unknown = || spec::near::unknown("published system", name, all.iter().map(String::as_str));
    reference::named(name).map_err(|_| Fail::usage(format!("{}; a table of your own ends in .csv", unknown())))
}

fn table(path: &Path) -> anyhow::Result<Vec<hpcc_systems::System>> {
    let text = std::fs::read_to_string(path).map_err(|why| Fail::usage(format!("--with {}: {why}", path.display())))?;
    let systems = hpcc_systems::parse(&text).map_err(|why| Fail::usage(format!("--with {}: {why}", path.display())))?;
    if systems.is_empty() {
        return Err(Fail::usage(format!("--with {}: it has a header and no system", path.display())));
    }
    Ok(systems)
}
