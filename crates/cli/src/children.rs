//! Ordinary runs of this very program on machine files that a command makes, for questions that take many of them: every evaluation has
//! its plan and its record, some go side by side, and a signal ends all of them with the command.

use crate::exit::{Exit, Fail};
use crate::runner::{LAUNCHERS, forget_launcher};
use crate::signals::{Wait, on_signal};
use record::RunRecord;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Those that run, and why no more may.
#[derive(Default)]
struct Alive {
    running: Vec<Pid>,
    stopped: Option<String>,
}

impl Alive {
    fn end(&self) {
        // One that is over is waited for at once, and off the list a moment later: its number is not given away that soon.
        for pid in &self.running {
            let _ = kill_process(*pid, Signal::TERM);
        }
    }

    fn may_go_on(&self) -> anyhow::Result<()> {
        self.stopped.as_ref().map_or(Ok(()), |reason| Err(Fail::with(Exit::Incomplete, reason)))
    }
}

/// Runs of this program.
pub struct Children {
    program: PathBuf,
    alive: Arc<Mutex<Alive>>,
}

impl Children {
    /// From here on SIGINT and SIGTERM end whatever runs, and the command with it.
    pub fn new() -> anyhow::Result<Children> {
        let program = std::env::current_exe().map_err(|e| Fail::with(Exit::Failure, format!("this program: {e}")))?;
        let alive = Arc::new(Mutex::new(Alive::default()));
        let told = Arc::clone(&alive);
        on_signal(move |reason| {
            let mut alive = told.lock().expect("nobody panics holding it");
            alive.stopped = Some(reason.to_string());
            alive.end();
            Wait::Yes
        });
        Ok(Children { program, alive })
    }

    /// Runs this program with these words: its record, or the last thing that it said.
    pub fn run(&self, words: &[OsString], out: &Path) -> anyhow::Result<Result<RunRecord, String>> {
        let mut command = Command::new(&self.program);
        command.arg("run").args(words).arg("--out").arg(out);
        // Where this process is one of several the child is none of them, and launches no job of its own either.
        forget_launcher(&mut command, &[&LAUNCHERS[..], &["SLURM_", "MV2_"]].concat());
        let done = self.output(command.stdin(Stdio::null()))?;
        Ok(crate::show::open(out).map_err(|_| {
            let said = String::from_utf8_lossy(&done.stderr);
            said.lines().last().unwrap_or("it said nothing").to_string()
        }))
    }

    fn output(&self, command: &mut Command) -> anyhow::Result<Output> {
        let failed = |e: std::io::Error| Fail::with(Exit::Failure, format!("{}: {e}", self.program.display()));
        let child = {
            // Held meanwhile: a signal comes before the child is there or after it can be found.
            let mut alive = self.alive();
            alive.may_go_on()?;
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
            alive.running.push(Pid::from_child(&child));
            child
        };
        let pid = Pid::from_child(&child);
        let done = child.wait_with_output();
        let mut alive = self.alive();
        alive.running.retain(|p| *p != pid);
        alive.may_go_on()?;
        done.map_err(failed)
    }

    fn alive(&self) -> std::sync::MutexGuard<'_, Alive> {
        self.alive.lock().expect("nobody panics holding it")
    }

    /// Does something for each of several things, so many at a time; the answers are in their order.
    pub fn each<T: Sync, R: Send>(
        at_once: usize,
        all: &[T],
        f: impl Fn(&T) -> anyhow::Result<R> + Sync,
    ) -> anyhow::Result<Vec<R>> {
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = all.get(at) else { return };
            let answer = f(thing);
            done.lock().expect("nobody panics holding it").push((at, answer));
        };
        std::thread::scope(|scope| {
            for _ in 1..at_once.min(all.len()) {
                scope.spawn(work);
            }
            work();
        });
        let mut done = done.into_inner().expect("nobody panics holding it");
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// How a simulation is run that nobody looks at: with lengths alone, on one thread, and without a report, whose models take as long as a
/// small simulation does.
pub const UNSEEN: [&str; 8] = ["--quiet", "--threads", "1", "--payload", "lengths", "--no-page", "--format", "json"];

/// Words of a command line.
pub fn words<W: Into<OsString>>(list: impl IntoIterator<Item = W>) -> Vec<OsString> {
    list.into_iter().map(Into::into).collect()
}
