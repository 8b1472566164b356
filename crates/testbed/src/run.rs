//! Running a command on the nodes: under an MPI launcher, or plainly on each.

use crate::agent::{AGENT_NAME, DIR_VARIABLE};
use crate::command::{search_path, words};
use crate::launcher::{Job, Launcher};
use crate::process::{self, MARK};
use crate::state::{State, Store};
use crate::traffic::Traffic;
use crate::{Error, clock};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

mod outcome;
mod signals;
pub use outcome::{Ended, RunOutcome, RunReport};
use signals::Signals;

/// How long the processes of a job may take to end by themselves, after the launcher ended or was asked to end.
const GRACE: Duration = Duration::from_secs(3);
/// Numbers the runs of this process.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// How the command is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// By an MPI launcher: a path, or a name in `PATH`.
    Mpi(PathBuf),
    /// Once on each node, all at the same time, without MPI.
    Plain,
}

/// What to run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// How it is started.
    pub launch: Launch,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// On how many nodes, from the first; `None`: on all.
    pub nodes: Option<usize>,
    /// How many ranks each node gets (MPI only).
    pub ranks_per_node: usize,
    /// Variables for the command, added to the caller's environment.
    pub env: Vec<(String, String)>,
    /// More arguments for the launcher, before the command.
    pub launcher_args: Vec<String>,
    /// After this the whole tree of processes is ended. Without it a job that hangs, hangs.
    pub timeout: Option<Duration>,
    /// Whether to keep the output in the report instead of passing it on to our own.
    pub capture: bool,
    /// The program that acts as the launch agent: it must call [`crate::agent`] when [`crate::called_as_agent`] says so.
    pub agent: PathBuf,
    /// Bytes that some node besides the launcher's must send (or sixteen times as many that it must receive) for an MPI job on
    /// several nodes to count as one that used the links; `0` turns the check off.
    pub least_bytes: u64,
}

impl RunSpec {
    /// One rank on each node, with this program as the launch agent, and the check of the traffic on.
    pub fn new(launch: Launch, command: &[&str]) -> Result<RunSpec, Error> {
        let agent = std::env::current_exe()
            .map_err(|source| Error::Io { what: "finding the program's own file".into(), source })?;
        Ok(RunSpec {
            launch,
            command: words(command),
            nodes: None,
            ranks_per_node: 1,
            env: Vec::new(),
            launcher_args: Vec::new(),
            timeout: None,
            capture: false,
            agent,
            least_bytes: outcome::LEAST_BYTES,
        })
    }

    fn check(&self, state: &State) -> Result<usize, Error> {
        let nodes = self.nodes.unwrap_or(state.spec.nodes);
        if !(1..=state.spec.nodes).contains(&nodes) {
            let have = state.spec.nodes;
            return Err(Error::Spec(format!("{nodes} nodes: testbed `{}` has 1 to {have}", state.spec.name)));
        }
        if self.ranks_per_node == 0 || self.command.is_empty() {
            return Err(Error::Spec("nothing to run: give a command and at least one rank per node".into()));
        }
        if let Some((name, _)) = self.env.iter().find(|(name, _)| name.is_empty() || name.contains(['=', '\0'])) {
            return Err(Error::Spec(format!("`{name}` cannot name a variable; write NAME=VALUE")));
        }
        Ok(nodes)
    }
}

impl Store {
    /// Runs a command on a testbed to its end. While it runs, SIGINT, SIGTERM and SIGHUP are passed on to it and end it.
    pub fn run(&self, name: &str, run: &RunSpec) -> Result<RunReport, Error> {
        let state = self.load(name)?;
        state.check()?;
        let nodes = run.check(&state)?;
        let place = RunPlace::new(&state, &run.agent)?;
        let launcher = match &run.launch {
            Launch::Mpi(path) => Some(Launcher::detect(path)?),
            Launch::Plain => None,
        };
        // Before the first process is started: a signal in between would leave it behind.
        let signals = Signals::catch()?;
        let before = Traffic::read(&state)?;
        let tasks = match &launcher {
            Some(launcher) => vec![mpi_task(&state, run, nodes, launcher, &place)?],
            None => plain_tasks(&state, run, nodes)?,
        };
        let command_line = tasks[0].argv.clone();
        let mut crew = Crew { mark: place.mark.clone(), members: Vec::new() };
        for task in tasks {
            crew.start(&state, task, run)?;
        }
        let stopped = crew.wait(run.timeout, &signals);
        let ended = crew.finish(stopped.is_none());
        let traffic = Traffic::read(&state)?.since(&before);
        let outcome = outcome::judge(stopped, &ended, launcher.as_ref(), nodes, run, &traffic);
        Ok(RunReport { outcome, ended, traffic, launcher, command_line })
    }
}

/// The directory of one run, with the link to the agent and the host file; it goes with the run.
struct RunPlace {
    dir: PathBuf,
    mark: String,
}

impl RunPlace {
    fn new(state: &State, agent: &Path) -> Result<RunPlace, Error> {
        if !agent.is_file() {
            let reason = "the program that acts as the launch agent is not there (was it rebuilt?); start again".into();
            return Err(Error::State { path: agent.into(), reason });
        }
        // Relaxed: only that numbers differ matters, nothing else is ordered by them.
        let id = format!("run-{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let dir = state.dir().join(&id);
        if dir.display().to_string().contains(|c: char| c.is_whitespace() || ":,;'\"".contains(c)) {
            let reason =
                "launchers cannot take a path with blanks or punctuation; set XDG_RUNTIME_DIR to another directory";
            return Err(Error::State { path: dir, reason: reason.into() });
        }
        fs::create_dir(&dir).map_err(Error::io("making", &dir))?;
        let place = RunPlace { mark: process::mark_of(state) + &id, dir };
        fs::create_dir(place.scratch()).map_err(Error::io("making", &place.scratch()))?;
        let link = place.agent();
        std::os::unix::fs::symlink(agent, &link).map_err(Error::io("making", &link))?;
        Ok(place)
    }
    fn agent(&self) -> PathBuf {
        self.dir.join(AGENT_NAME)
    }
    fn scratch(&self) -> PathBuf {
        self.dir.join("tmp")
    }
    fn hostfile(&self) -> PathBuf {
        self.dir.join("hostfile")
    }
}

impl Drop for RunPlace {
    fn drop(&mut self) {
        // What cannot be removed here goes with the testbed.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// One process to start: where, what, with which variables.
struct Task {
    node: String,
    argv: Vec<String>,
    env: Vec<(String, String)>,
}

fn mpi_task(state: &State, run: &RunSpec, nodes: usize, mpi: &Launcher, place: &RunPlace) -> Result<Task, Error> {
    let names: Vec<String> = (1..=nodes).map(|i| state.spec.node_name(i)).collect();
    let hostfile = place.hostfile();
    fs::write(&hostfile, mpi.hostfile(&names, run.ranks_per_node)).map_err(Error::io("writing", &hostfile))?;
    let argv = mpi.command_line(&Job {
        subnet: state.spec.subnet,
        nodes,
        ranks_per_node: run.ranks_per_node,
        agent: &place.agent(),
        hostfile: &hostfile,
        scratch: &place.scratch(),
        env: &run.env,
        extra: &run.launcher_args,
        command: &run.command,
    });
    Ok(Task { node: names[0].clone(), argv, env: [mpi.environment(), run.env.clone()].concat() })
}

fn plain_tasks(state: &State, run: &RunSpec, nodes: usize) -> Result<Vec<Task>, Error> {
    let task = |i| Task { node: state.spec.node_name(i), argv: run.command.clone(), env: run.env.clone() };
    Ok((1..=nodes).map(task).collect())
}

/// Why a run was stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    Timeout(Duration),
    Signal(i32),
}

struct Member {
    node: String,
    child: Child,
    status: Option<ExitStatus>,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

/// The processes of a run. None of them outlives it.
struct Crew {
    mark: String,
    members: Vec<Member>,
}

impl Crew {
    fn start(&mut self, state: &State, task: Task, run: &RunSpec) -> Result<(), Error> {
        // The kernel ends the command when we are killed ourselves. Set inside of the namespaces: entering them unsets it.
        let guard = words(&["setpriv", "--pdeathsig", "TERM", "--"]);
        let argv = [state.enter(&task.node)?, guard, task.argv].concat();
        let output = || if run.capture { Stdio::piped() } else { Stdio::inherit() };
        // MPICH's launcher passes the end of its input on to a process that may have ended, and is killed by that (3 of 26 jobs of `echo`
        // beside two busy loops; none of 74 so): its input stays open and empty until it ends.
        let input = if matches!(run.launch, Launch::Mpi(_)) { Stdio::piped() } else { Stdio::null() };
        // A group of its own: Ctrl-C reaches us alone, and we pass it on.
        let mut child = Command::new(&argv[0])
            .args(&argv[1..])
            .env("PATH", search_path())
            .envs(task.env)
            // After the task's own variables, which must not hide by what its processes are found.
            .env(MARK, &self.mark)
            .env(DIR_VARIABLE, state.dir())
            .process_group(0)
            .stdin(input)
            .stdout(output())
            .stderr(output())
            .spawn()
            .map_err(|source| Error::Io { what: format!("starting `{}`", argv[0]), source })?;
        let (stdout, stderr) = (child.stdout.take().map(collect), child.stderr.take().map(collect));
        self.members.push(Member { node: task.node, child, status: None, stdout, stderr });
        Ok(())
    }

    /// Whether all have ended.
    fn ended(&mut self) -> bool {
        for member in self.members.iter_mut().filter(|m| m.status.is_none()) {
            member.status = member.child.try_wait().ok().flatten();
        }
        self.members.iter().all(|m| m.status.is_some())
    }

    /// Waits for the end of all, or for a reason to end them.
    fn wait(&mut self, timeout: Option<Duration>, signals: &Signals) -> Option<Stopped> {
        let start = clock::now();
        while !self.ended() {
            if let Some(signal) = signals.any() {
                self.pass_on(signal);
                return Some(Stopped::Signal(signal));
            }
            if let Some(limit) = timeout.filter(|&limit| clock::now() - start >= limit) {
                self.pass_on(SIGTERM);
                return Some(Stopped::Timeout(limit));
            }
            clock::pause();
        }
        None
    }

    /// Passes a signal on to the processes that were started, and gives them time to end theirs.
    fn pass_on(&mut self, signal: i32) {
        let signal = match signal {
            SIGINT => Signal::INT,
            SIGHUP => Signal::HUP,
            _ => Signal::TERM,
        };
        for member in self.members.iter().filter(|m| m.status.is_none()) {
            // Each child leads a group of its own, so its id is the group's.
            if let Some(group) = i32::try_from(member.child.id()).ok().and_then(Pid::from_raw) {
                // Gone in this moment is as good as told.
                let _ = kill_process_group(group, signal);
            }
        }
        let deadline = clock::now() + GRACE;
        while !self.ended() && clock::now() < deadline {
            clock::pause();
        }
    }

    /// Ends what is left, and collects what was printed. After a good end daemons may end by themselves for a while.
    fn finish(mut self, patient: bool) -> Vec<Ended> {
        let deadline = clock::now() + if patient { GRACE } else { Duration::ZERO };
        while clock::now() < deadline && !process::marked(&self.mark).is_empty() {
            clock::pause();
        }
        self.end_all();
        let text = |thread: Option<JoinHandle<String>>| thread.and_then(|t| t.join().ok()).unwrap_or_default();
        let members = std::mem::take(&mut self.members);
        let ended = |m: Member| Ended {
            node: m.node,
            code: m.status.and_then(|s| s.code()),
            signal: m.status.and_then(|s| s.signal()),
            stdout: text(m.stdout),
            stderr: text(m.stderr),
        };
        members.into_iter().map(ended).collect()
    }

    fn end_all(&mut self) {
        process::end(|| process::marked(&self.mark));
        // Their environment could be gone already while they still end; the last word is the kernel's.
        for member in self.members.iter_mut().filter(|m| m.status.is_none()) {
            let _ = member.child.kill();
            member.status = member.child.wait().ok();
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // `finish` takes the members; here are some only if a later start failed or something panicked.
        if !self.members.is_empty() {
            self.end_all();
        }
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still worth telling.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, Spec};

    #[test]
    fn impossible_runs_are_refused() {
        let state = State::new(Spec::new("t", 2), Mode::Root, "/x".into());
        let run = RunSpec::new(Launch::Plain, &["true"]).unwrap();
        assert_eq!(run.check(&state).unwrap(), 2);
        let wrong = |change: &dyn Fn(&mut RunSpec)| {
            let mut run = run.clone();
            change(&mut run);
            run.check(&state).unwrap_err().to_string()
        };
        assert!(wrong(&|r| r.nodes = Some(3)).contains("3 nodes"));
        assert!(wrong(&|r| r.nodes = Some(0)).contains("0 nodes"));
        assert!(wrong(&|r| r.command.clear()).contains("nothing to run"));
        assert!(wrong(&|r| r.env.push(("A=B".into(), "1".into()))).contains("`A=B`"));
    }

    #[test]
    fn a_run_directory_goes_with_the_run() {
        let store = Store::at(&crate::tests::scratch("run-place"));
        let (state, _lock) = store.create(&Spec::new("t", 1), Mode::Root).unwrap();
        let place = RunPlace::new(&state, &std::env::current_exe().unwrap()).unwrap();
        assert_eq!(fs::read_link(place.agent()).unwrap(), std::env::current_exe().unwrap());
        assert!(place.mark.starts_with(&process::mark_of(&state)));
        let dir = place.dir.clone();
        drop(place);
        assert!(!dir.exists());
        let gone = RunPlace::new(&state, Path::new("/no/such/program")).err().unwrap();
        assert!(gone.to_string().contains("/no/such/program"));
        store.forget("t").unwrap();
    }
}
