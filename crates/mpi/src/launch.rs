//! Whether an MPI launcher started this process, read from the environment.

use std::fmt;

/// What started this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launcher {
    /// Open MPI's mpirun (orterun, prterun), or a relative of it.
    OpenMpi,
    /// A process manager that speaks PMI: hydra (MPICH, Intel), `srun --mpi=pmi2`, Flux, PALS.
    Pmi,
    /// A process manager that speaks PMIx, such as `srun --mpi=pmix`.
    Pmix,
    /// Slurm's srun, without a sign of a process manager.
    Slurm,
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Launcher::OpenMpi => "Open MPI's mpirun",
            Launcher::Pmi => "a PMI launcher (MPICH, Intel, srun --mpi=pmi2)",
            Launcher::Pmix => "a PMIx launcher (srun --mpi=pmix)",
            Launcher::Slurm => "Slurm's srun",
        })
    }
}

/// A launch as the environment shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Who launched.
    pub launcher: Launcher,
    /// How many ranks were launched, where the environment says so.
    pub ranks: Option<usize>,
    /// The environment variable that gave it away.
    pub variable: &'static str,
}

/// The launch that this process is part of, or `None` if nothing launched it as an MPI job.
///
/// A Slurm step of one task counts only if Open MPI or hydra started it: an interactive shell looks the same.
pub fn launched() -> Option<Launch> {
    launch_in(&|name| std::env::var(name).ok())
}

/// This process's rank as its launcher told it, for what happens before MPI starts.
pub fn rank() -> Option<usize> {
    launched()?;
    rank_in(&|name| std::env::var(name).ok())
}

/// The rank that a launcher wrote into an environment.
pub fn rank_in(get: &dyn Fn(&str) -> Option<String>) -> Option<usize> {
    let told = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"];
    told.iter().find_map(|name| get(name)?.trim().parse().ok())
}

/// [`launched`] in a given environment.
fn launch_in(get: &dyn Fn(&str) -> Option<String>) -> Option<Launch> {
    let number = |name: &str| get(name).and_then(|text| text.trim().parse::<usize>().ok());
    // Asked first, because Open MPI sets PMIX_RANK too.
    if get("OMPI_COMM_WORLD_SIZE").is_some() {
        let ranks = number("OMPI_COMM_WORLD_SIZE");
        return Some(Launch { launcher: Launcher::OpenMpi, ranks, variable: "OMPI_COMM_WORLD_SIZE" });
    }
    // SLURM_NTASKS is set in batch scripts too, which nobody launched as a rank; only a step has SLURM_STEP_ID.
    let step_tasks = get("SLURM_STEP_ID")
        .filter(|id| id.parse::<u64>().is_ok_and(|id| id < FIRST_SPECIAL_STEP))
        .and_then(|_| number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS")));
    for variable in ["PMI_SIZE", "MV2_COMM_WORLD_SIZE"] {
        let ranks = number(variable);
        // One rank in a step of one task may be an interactive shell.
        if ranks.is_some() && !(ranks == Some(1) && step_tasks == Some(1)) {
            return Some(Launch { launcher: Launcher::Pmi, ranks, variable });
        }
    }
    if step_tasks == Some(1) {
        return None;
    }
    for (variable, launcher) in [("PMI_RANK", Launcher::Pmi), ("PMIX_RANK", Launcher::Pmix)] {
        if get(variable).is_some() {
            return Some(Launch { launcher, ranks: step_tasks, variable });
        }
    }
    step_tasks.map(|ranks| Launch { launcher: Launcher::Slurm, ranks: Some(ranks), variable: "SLURM_STEP_ID" })
}

/// Slurm numbers its batch, external and interactive steps from the top of 32 bits.
const FIRST_SPECIAL_STEP: u64 = 0xffff_fff0;

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(environment: &[(&str, &str)]) -> Option<(Launcher, Option<usize>)> {
        let get = |name: &str| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string());
        launch_in(&get).map(|launch| (launch.launcher, launch.ranks))
    }

    #[test]
    fn a_plain_shell_and_a_batch_script_are_no_launch() {
        assert_eq!(launch(&[]), None);
        assert_eq!(launch(&[("SLURM_JOB_ID", "7"), ("SLURM_NTASKS", "64"), ("SLURM_PROCID", "0")]), None);
    }

    #[test]
    fn an_interactive_step_is_no_launch() {
        let shell = [("SLURM_STEP_ID", "0"), ("SLURM_STEP_NUM_TASKS", "1"), ("PMIX_RANK", "0")];
        assert_eq!(launch(&shell), None);
        let salloc = [("SLURM_STEP_ID", "4294967290"), ("SLURM_NTASKS", "64")];
        assert_eq!(launch(&salloc), None);
    }

    #[test]
    fn each_launcher_is_known() {
        assert_eq!(launch(&[("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "1")]), Some((Launcher::OpenMpi, Some(4))));
        assert_eq!(launch(&[("PMI_SIZE", "1"), ("PMI_RANK", "0")]), Some((Launcher::Pmi, Some(1))));
        let srun = [("SLURM_STEP_ID", "3"), ("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_NTASKS", "16")];
        assert_eq!(launch(&srun), Some((Launcher::Slurm, Some(8))));
        let pmix = [srun.as_slice(), &[("PMIX_RANK", "5")]].concat();
        assert_eq!(launch(&pmix), Some((Launcher::Pmix, Some(8))));
        let pmi2 = [srun.as_slice(), &[("PMI_SIZE", "8")]].concat();
        assert_eq!(launch(&pmi2), Some((Launcher::Pmi, Some(8))));
    }
}
