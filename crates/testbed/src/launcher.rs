//! The MPI launchers: telling them apart, and the command line each needs to stay inside the testbed.
//!
//! All of them are started on the first node, because their daemons connect back to them.
//!
//! What goes wrong in the launchers and libraries themselves, seen on two cores; give such runs a timeout:
//! - MPICH 4.0.2 (UCX 1.13): good on 2 nodes; with 4 or more it often hangs in `MPI_Finalize`.
//! - Open MPI 5.0.11: a command that is no MPI program and ends at once (`hostname`) left `prterun` waiting in 5 of 15 trials.
//! - Open MPI 4 and 5 may warn `setpgid failed in parent` while they launch; it is harmless.

use crate::command::{command, find, words};
use crate::plan::NODE_INTERFACE;
use crate::{Error, Subnet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Which launcher it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Open MPI 4 and older: ORTE.
    OpenMpi4,
    /// Open MPI 5 and newer: PRRTE.
    OpenMpi5,
    /// MPICH: hydra, with the network module its library should use.
    Hydra(Netmod),
}

/// What MPICH was built to reach other nodes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Netmod {
    /// Libfabric can be chosen.
    Ofi,
    /// Only UCX.
    Ucx,
    /// Hydra does not tell.
    Unknown,
}

/// A launcher that was found and asked for its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program.
    pub path: PathBuf,
    /// Which it is.
    pub family: Family,
    /// Its version, such as `4.1.4`.
    pub version: String,
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.family {
            Family::OpenMpi4 | Family::OpenMpi5 => "Open MPI",
            Family::Hydra(_) => "MPICH",
        };
        write!(f, "{name} {} ({})", self.version, self.path.display())
    }
}

/// What a job needs of its launcher.
pub(crate) struct Job<'a> {
    pub subnet: Subnet,
    pub nodes: usize,
    pub ranks_per_node: usize,
    pub agent: &'a Path,
    pub hostfile: &'a Path,
    /// A directory for the launcher's own files. In the common one they are named by host and user only, and so are those of
    /// other users' testbeds: every user is root on a node n1.
    pub scratch: &'a Path,
    pub env: &'a [(String, String)],
    pub extra: &'a [String],
    pub command: &'a [String],
}

impl Launcher {
    /// Finds a launcher (a path, or a name in `PATH`) and asks it what it is.
    pub fn detect(launcher: &Path) -> Result<Launcher, Error> {
        let name = launcher.display().to_string();
        let path = find(&name).ok_or(Error::Missing { program: name, package: "openmpi-bin or mpich" })?;
        let argv = words(&[&path.display().to_string(), "--version"]);
        // As root Open MPI answers only when it is allowed to run.
        let output = command(&argv).stdin(Stdio::null()).env_clear().envs(std::env::vars_os()).envs(AS_ROOT).output();
        let output = output.map_err(Error::io("starting", &path))?;
        let answer = [&output.stdout[..], &output.stderr[..]].concat();
        Launcher::recognise(path, &String::from_utf8_lossy(&answer))
    }

    fn recognise(path: PathBuf, answer: &str) -> Result<Launcher, Error> {
        let first = answer.lines().next().unwrap_or("").trim();
        // 4.1.4 calls itself OpenRTE, 5.0.11 Open MPI.
        if let Some((_, version)) = first.split_once("(Open MPI) ").or_else(|| first.split_once("(OpenRTE) ")) {
            let major: u32 = version.split('.').next().and_then(|m| m.parse().ok()).unwrap_or(0);
            let family = if major >= 5 { Family::OpenMpi5 } else { Family::OpenMpi4 };
            return Ok(Launcher { path, family, version: version.trim().into() });
        }
        let version = answer.lines().find_map(|l| l.trim().strip_prefix("Version:"));
        match (first.starts_with("HYDRA"), version) {
            (true, Some(version)) => {
                Ok(Launcher { path, family: Family::Hydra(netmod(answer)), version: version.trim().into() })
            }
            _ => Err(Error::Launcher { launcher: path.display().to_string(), answer: first.into() }),
        }
    }

    /// The text of the host file.
    pub(crate) fn hostfile(&self, names: &[String], ranks_per_node: usize) -> String {
        let line = |name: &String| match self.family {
            Family::Hydra(_) => format!("{name}:{ranks_per_node}\n"),
            _ => format!("{name} slots={ranks_per_node}\n"),
        };
        names.iter().map(line).collect()
    }

    /// Variables that keep the library on the links; what the user sets comes after them.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let variables: &[(&str, &str)] = match self.family {
            Family::OpenMpi4 | Family::OpenMpi5 => &AS_ROOT,
            // UCX takes nodes of one machine for one node and would use shared memory between them.
            Family::Hydra(Netmod::Ucx) => &[UCX_TCP, UCX_DEVICE],
            Family::Hydra(Netmod::Ofi) => &[("MPIR_CVAR_CH4_NETMOD", "ofi"), OFI_TCP, UCX_TCP],
            Family::Hydra(Netmod::Unknown) => &[OFI_TCP, UCX_TCP, UCX_DEVICE],
        };
        variables.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    }

    /// The whole command line of a job.
    pub(crate) fn command_line(&self, job: &Job<'_>) -> Vec<String> {
        let ranks = (job.nodes * job.ranks_per_node).to_string();
        let (agent, hostfile) = (job.agent.display().to_string(), job.hostfile.display().to_string());
        let (net, scratch) = (job.subnet.to_string(), job.scratch.display().to_string());
        let mut argv = words(&[&self.path.display().to_string()]);
        let mut mca = |kind: &str, settings: &[(&str, &str)]| {
            argv.extend(settings.iter().flat_map(|(name, value)| words(&[kind, name, value])));
        };
        match self.family {
            Family::OpenMpi4 => {
                mca(
                    "--mca",
                    &[("plm_rsh_agent", &agent), ("plm_rsh_no_tree_spawn", "1"), ("oob_tcp_if_include", &net)],
                );
                mca("--mca", &[("orte_tmpdir_base", &scratch)]);
                mca("--mca", &OPEN_MPI);
                mca("--mca", &[("btl_tcp_if_include", &net), ("osc", "pt2pt")]);
                argv.extend(words(&["--oversubscribe", "--bind-to", "none", "--hostfile", &hostfile, "-np", &ranks]));
            }
            Family::OpenMpi5 => {
                mca(
                    "--prtemca",
                    &[("plm_ssh_agent", &agent), ("plm_ssh_no_tree_spawn", "1"), ("prte_if_include", &net)],
                );
                mca("--prtemca", &[("prte_tmpdir_base", &scratch)]);
                mca("--mca", &OPEN_MPI);
                mca("--mca", &[("btl_tcp_if_include", &net), ("osc", "^ucx")]);
                argv.extend(words(&["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", "--hostfile", &hostfile]));
                argv.extend(words(&["-np", &ranks]));
            }
            Family::Hydra(_) => {
                argv.extend(words(&["-launcher", "rsh", "-launcher-exec", &agent, "-iface", NODE_INTERFACE]));
                argv.extend(words(&["-f", &hostfile, "-n", &ranks]));
            }
        }
        // Hydra hands the whole environment on by itself, Open MPI only what it is told to.
        if !matches!(self.family, Family::Hydra(_)) {
            argv.extend(job.env.iter().flat_map(|(name, _)| words(&["-x", name])));
        }
        [argv, job.extra.to_vec(), job.command.to_vec()].concat()
    }
}

/// The testbed's user is root, in truth or in the user namespace; Open MPI wants to be told that this is meant.
const AS_ROOT: [(&str, &str); 4] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("PRTE_ALLOW_RUN_AS_ROOT", "1"),
    ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
];
/// TCP between nodes, shared memory on a node, and no spinning: there are more ranks than cores.
const OPEN_MPI: [(&str, &str); 3] = [("pml", "ob1"), ("btl", "tcp,self,vader"), ("mpi_yield_when_idle", "1")];
const UCX_TCP: (&str, &str) = ("UCX_TLS", "tcp,self");
const UCX_DEVICE: (&str, &str) = ("UCX_NET_DEVICES", NODE_INTERFACE);
const OFI_TCP: (&str, &str) = ("FI_PROVIDER", "tcp");

fn netmod(answer: &str) -> Netmod {
    let device = answer.split("--with-device=").nth(1).map(|rest| {
        let end = rest.find(|c: char| c.is_whitespace() || c == '\'').unwrap_or(rest.len());
        &rest[..end]
    });
    match device {
        // A build with both (`ch4:ucx,ofi`) can be told to use libfabric, so that is looked for first.
        Some(device) if device.contains("ofi") => Netmod::Ofi,
        Some(device) if device.contains("ucx") => Netmod::Ucx,
        _ => Netmod::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYDRA4: &str = "HYDRA build details:\n    Version:                                 4.0.2\n    \
        Configure options:                       '--with-device=ch4:ucx' '--prefix=/usr'\n";
    const HYDRA5: &str =
        "HYDRA build details:\n    Version:    5.0.2\n    Configure options:  --with-device=ch4:ucx,ofi -x\n";

    fn recognise(answer: &str) -> Result<(Family, String), String> {
        Launcher::recognise("mpirun".into(), answer).map(|l| (l.family, l.version)).map_err(|e| e.to_string())
    }

    #[test]
    fn launchers_are_told_apart_by_their_answers() {
        for (answer, family, version) in [
            ("mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to", Family::OpenMpi4, "4.1.4"),
            ("mpirun (Open MPI) 5.0.11\n", Family::OpenMpi5, "5.0.11"),
            (HYDRA4, Family::Hydra(Netmod::Ucx), "4.0.2"),
            (HYDRA5, Family::Hydra(Netmod::Ofi), "5.0.2"),
            ("HYDRA build details:\n Version: 3.4\n", Family::Hydra(Netmod::Unknown), "3.4"),
        ] {
            assert_eq!(recognise(answer), Ok((family, version.to_string())));
        }
        assert!(recognise("slurm 22.05").unwrap_err().contains("neither Open MPI nor MPICH"));
        assert!(recognise("").is_err());
    }

    fn line(family: Family) -> String {
        let launcher = Launcher { path: "/m/mpirun".into(), family, version: "0".into() };
        crate::command::show(&launcher.command_line(&Job {
            subnet: Subnet::default(),
            nodes: 3,
            ranks_per_node: 2,
            agent: Path::new("/t/tailback-agent"),
            hostfile: Path::new("/t/hostfile"),
            scratch: Path::new("/t/tmp"),
            env: &[("A".into(), "1".into())],
            extra: &words(&["--extra"]),
            command: &words(&["prog", "-x"]),
        }))
    }

    #[test]
    fn each_launcher_gets_its_own_command_line() {
        assert_eq!(
            line(Family::OpenMpi4),
            "/m/mpirun --mca plm_rsh_agent /t/tailback-agent --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include 10.77.0.0/16 \
             --mca orte_tmpdir_base /t/tmp --mca pml ob1 --mca btl tcp,self,vader --mca mpi_yield_when_idle 1 --mca btl_tcp_if_include 10.77.0.0/16 \
             --mca osc pt2pt --oversubscribe --bind-to none --hostfile /t/hostfile -np 6 -x A --extra prog -x"
        );
        let five = line(Family::OpenMpi5);
        assert!(
            five.contains("--prtemca plm_ssh_agent /t/tailback-agent") && five.contains("--mca osc ^ucx"),
            "{five}"
        );
        assert!(five.ends_with("-np 6 -x A --extra prog -x"), "{five}");
        assert_eq!(
            line(Family::Hydra(Netmod::Ucx)),
            "/m/mpirun -launcher rsh -launcher-exec /t/tailback-agent -iface eth0 -f /t/hostfile -n 6 --extra prog -x"
        );
    }

    #[test]
    fn host_files_and_variables_fit_the_launcher() {
        let launcher = |family| Launcher { path: "m".into(), family, version: String::new() };
        let names = words(&["n1", "n2"]);
        assert_eq!(launcher(Family::OpenMpi5).hostfile(&names, 2), "n1 slots=2\nn2 slots=2\n");
        assert_eq!(launcher(Family::Hydra(Netmod::Ofi)).hostfile(&names, 2), "n1:2\nn2:2\n");
        let has = |family, name: &str| launcher(family).environment().iter().any(|(k, _)| k == name);
        assert!(has(Family::Hydra(Netmod::Ucx), "UCX_TLS") && !has(Family::Hydra(Netmod::Ucx), "MPIR_CVAR_CH4_NETMOD"));
        assert!(
            has(Family::Hydra(Netmod::Ofi), "MPIR_CVAR_CH4_NETMOD") && has(Family::OpenMpi4, "OMPI_ALLOW_RUN_AS_ROOT")
        );
    }
}
