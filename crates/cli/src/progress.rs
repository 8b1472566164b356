//! What rank 0 shows and saves while a run goes on: progress on stderr, the record on disk after every phase.

use crate::pulse::Pulse;
use crate::sentinel::Sentinel;
use crate::signals::Wait;
use bench::{Beat, Observer, Progress};
use comm::Comm;
use indicatif::{ProgressBar, ProgressStyle};
use record::{About, Plan, Role, RunRecord, Slot, Status};
use spec::about_seconds;
use std::io::IsTerminal;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::time::{Duration, Instant};

/// Watches a run. Every rank holds one; the engine shows and saves on rank 0 alone, and lets the first ranks of each job look out for silence.
#[derive(Clone)]
pub struct Watch {
    state: Arc<Mutex<State>>,
    quiet: bool,
    /// Times of the plan are virtual and say nothing about the time left.
    simulated: bool,
    /// How long a job may be silent before it hangs; nothing if that is never looked at.
    patience: Option<Duration>,
    asked_to_stop: Arc<AtomicBool>,
    guarded: Arc<Once>,
    /// Knows who is gone, on a real machine.
    sentinel: Arc<OnceLock<Sentinel>>,
}

#[derive(Default)]
struct State {
    slot: Option<Slot>,
    /// Nobody wants a page beside the record.
    without_page: bool,
    record: Option<RunRecord>,
    bar: Option<ProgressBar>,
    failure: Option<String>,
    /// When the present phase must be over, and its name.
    deadline: Option<(Instant, String)>,
    pulse: Pulse,
    /// What the present phase is called on the screen, and when something was last said of it.
    phase: String,
    said: Option<Instant>,
    /// When the record was last saved of those that come often.
    saved: Option<Instant>,
    /// Whether the record says why the run ended: what comes after, such as the launcher's signals, is a consequence.
    given_up: bool,
    /// Whether the present phase is load without a measurement.
    loads_only: bool,
    /// What was found out after the last phase.
    late: Late,
    /// When something was last heard of this rank's own work.
    sign: Option<Instant>,
    /// Why the run is about to end, if somebody knows.
    cause: Option<String>,
    /// When the first of the parts that are simulated side by side, or of the phases, began.
    begun: Option<Instant>,
    /// When the present phase began.
    phase_begun: Option<Instant>,
}

/// What can be known only after a run.
#[derive(Clone, Debug, Default)]
pub struct Late {
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// What the NICs of a node carry each way, in bytes per second.
    pub nic: Option<f64>,
}

impl Watch {
    /// Shows progress unless told to be quiet.
    pub fn new(quiet: bool, simulated: bool, patience: Option<Duration>) -> Watch {
        let patience = patience.filter(|_| !simulated);
        let guarded = Arc::new(Once::new());
        let (state, asked_to_stop, sentinel) = (Arc::default(), Arc::default(), Arc::default());
        Watch { state, quiet, simulated, patience, asked_to_stop, guarded, sentinel }
    }

    /// Asks load without a measurement to end; whether it had been asked before.
    fn ask_to_stop(&self) -> bool {
        self.asked_to_stop.swap(true, Ordering::Relaxed)
    }

    /// Takes in a signal. Load without a measurement ends by itself when it is asked to; everything else loses what is not yet recorded.
    pub fn hear(&self, reason: &str) -> Wait {
        let loads_only = self.lock().loads_only;
        if loads_only && !self.ask_to_stop() {
            return Wait::Yes;
        }
        // All that was asked for is measured and saved: the end that is on its way is the right one.
        if self.is_over() {
            return Wait::Yes;
        }
        // A launcher ends the others when a rank dies: whoever knows which one says so first.
        let reason = self.cause().unwrap_or_else(|| reason.into());
        self.give_up(&reason);
        Wait::No(reason)
    }

    /// Whether everything was measured, where the record is kept.
    fn is_over(&self) -> bool {
        self.lock().is_over()
    }

    /// From the first sign of life or time limit on, ends the run as incomplete if a job of a real machine falls silent or a phase
    /// outlasts its time limit by far: a rank hangs. Ranks that see neither have no thread that could disturb them.
    fn guard(&self) {
        let Some(patience) = self.patience else { return };
        self.guarded.call_once(|| {
            let watch = self.clone();
            std::thread::spawn(move || {
                loop {
                    std::thread::park_timeout(LOOK);
                    // Taken out first: the lock must be free again for the last words.
                    let trouble = watch.lock().trouble(patience);
                    if let Some(reason) = trouble {
                        let reason = watch.sentinel.get().map_or(reason.clone(), |s| s.alarm(&reason));
                        watch.give_up(&reason);
                        crate::signals::end(&reason);
                    }
                }
            });
        });
    }

    /// Keeps an eye on the other ranks from now on, on a real machine. Collective.
    pub fn post(&self, world: &dyn Comm) {
        let Some(patience) = self.patience else { return };
        mpi::end_within(patience);
        self.sign();
        if let Some(sentinel) = Sentinel::post(world, self, patience) {
            let last = sentinel.clone();
            mpi::tell_before_end(move |reason| last.farewell(reason));
            let _ = self.sentinel.set(sentinel);
        }
        mpi::begun();
    }

    /// The run is over: who leaves now does not die. Collective.
    pub fn dismiss(&self, world: &dyn Comm) {
        if let Some(sentinel) = self.sentinel.get() {
            sentinel.dismiss(world);
        }
    }

    /// How long nothing was heard of this rank's own work.
    pub fn quiet_for(&self) -> Duration {
        self.lock().sign.map_or(Duration::ZERO, |sign| now() - sign)
    }

    fn sign(&self) {
        self.lock().sign = Some(now());
    }

    /// Takes in why the run is about to end; what comes after is a consequence.
    pub fn blame(&self, reason: String) {
        self.lock().cause.get_or_insert(reason);
    }

    /// Why the run ends, if somebody knows better than a signal, which is given a moment.
    fn cause(&self) -> Option<String> {
        self.sentinel.get()?;
        let end = now() + CAUSE;
        loop {
            let (cause, given_up) = {
                let state = self.lock();
                (state.cause.clone(), state.given_up)
            };
            if cause.is_some() || given_up || now() > end {
                return cause;
            }
            std::thread::park_timeout(CAUSE / 20);
        }
    }

    /// Where to save, and what is there already.
    pub fn save_to(&self, slot: Slot, first: RunRecord) {
        let mut state = self.lock();
        (state.slot, state.record) = (Some(slot), Some(first));
    }

    /// Writes no page beside the record.
    pub fn without_page(&self) {
        self.lock().without_page = true;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The last record, why it could not be saved if so, and the page that is written beside a record that is saved.
    pub fn finish(&self) -> (Option<RunRecord>, Option<String>, Option<PathBuf>) {
        let mut state = self.lock();
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
        let page = match (&state.slot, &state.record, &state.failure, state.given_up) {
            (Some(slot), Some(record), None, false) => state.save_page(slot, record),
            _ => Ok(None),
        };
        let (page, failure) = page.map_or_else(|why| (None, Some(why)), |page| (page, None));
        (state.record.take(), state.failure.take().or(failure), page)
    }

    /// Takes in what was found out after the last phase.
    pub fn learn(&self, late: Late) {
        self.lock().late = late;
    }

    /// Adds to the record what is known only after the run, and saves it. `simulator` is the one whose network is shown.
    pub fn complete(&self, target: &crate::machine::Target, simulator: Option<&sim::Simulator>) {
        let mut state = self.lock();
        let Some(mut record) = state.record.take() else { return };
        if let Some(simulator) = simulator {
            crate::machine::complete(simulator, &mut record);
        }
        let late = std::mem::take(&mut state.late);
        record.warnings.extend(late.warnings);
        let nic = target.nic_rate(record.layout).or(late.nic);
        record.warnings.extend(nic.map(|nic| bench::health::too_fast(&record, nic)).unwrap_or_default());
        state.store(&record);
        state.record = Some(record);
    }

    /// Whether it is time to save again what comes often: writing takes time from those that simulate.
    pub fn may_save(&self) -> bool {
        let (mut state, now) = (self.lock(), now());
        let due = state.saved.is_none_or(|saved| now >= saved + SAVE_EVERY);
        if due {
            state.saved = Some(now);
        }
        due
    }

    /// So many of the parts that are simulated side by side are done.
    pub fn part(&self, what: &'static str, done: usize, of: usize) {
        if self.quiet {
            return;
        }
        let mut state = self.lock();
        let left = in_words(left(state.since(done), done, of));
        if !std::io::stderr().is_terminal() {
            if done > 0 {
                mpi::say(format_args!("{what} done: {done}/{of}{left}"));
            }
            return;
        }
        let bar = state.bar.get_or_insert_with(|| bar(of as u64));
        bar.set_length(of as u64);
        bar.set_position(done as u64);
        bar.set_message(format!("{what}{left}"));
    }

    /// Marks what is there as incomplete and saves it, with its page: whoever calls this ends the program next.
    /// Whether there was anything.
    pub fn give_up(&self, reason: &str) -> bool {
        let mut state = self.lock();
        if let Some(bar) = &state.bar {
            bar.abandon();
        }
        // What is complete stays so: a rank that ends badly after the last phase takes nothing away.
        if state.is_over() {
            return true;
        }
        if std::mem::replace(&mut state.given_up, true) {
            return state.record.is_some();
        }
        let Some(mut record) = state.record.take() else { return false };
        record.status = Status::Incomplete { reason: reason.into() };
        state.store(&record);
        if let (Some(slot), None) = (&state.slot, &state.failure) {
            // A page that cannot be made must not keep the program from its end.
            let saved = std::panic::catch_unwind(AssertUnwindSafe(|| state.save_page(slot, &record)));
            if let Ok(Err(error)) = saved {
                mpi::say(format_args!("tailback: {error}"));
            }
        }
        state.record = Some(record);
        true
    }
}

/// Records that come often are saved so often.
const SAVE_EVERY: Duration = Duration::from_secs(2);
/// How often silence is looked for: seldom, for it takes a core from whoever measures there.
const LOOK: Duration = Duration::from_millis(500);
/// How long a signal waits for its cause: launchers wait a second before they kill.
const CAUSE: Duration = Duration::from_millis(400);

impl State {
    fn save_page(&self, slot: &Slot, record: &RunRecord) -> Result<Option<PathBuf>, String> {
        match self.without_page {
            true => crate::show::remove_page(slot.path()).map(|()| None),
            false => crate::show::save_page(record, slot.path()).map(Some),
        }
    }

    /// Why the run must end now, if it must.
    fn trouble(&mut self, patience: Duration) -> Option<String> {
        if let Some(silence) = self.pulse.silent(now(), patience) {
            self.pulse = Pulse::default();
            return Some(format!("a rank hangs: nothing was heard for {silence:.0} s (--hang-after waits longer)"));
        }
        let (_, phase) = self.deadline.take_if(|(end, _)| now() > *end)?;
        Some(format!("phase {phase} hangs: it is not over long after its time limit"))
    }

    /// For how long parts or phases have been counted, of which so many are done. What is decided on later is counted anew.
    fn since(&mut self, done: usize) -> Duration {
        let begun = self.begun.filter(|_| done > 0).unwrap_or_else(now);
        self.begun = Some(begun);
        now() - begun
    }

    fn is_over(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.status == Status::Complete)
    }

    fn store(&mut self, record: &RunRecord) {
        let Some(slot) = &mut self.slot else { return };
        if let Err(error) = slot.save(record) {
            // The run goes on: later phases may find the disk writable again, and the report can still be printed.
            let text = format!("the record is not saved: {error}");
            if self.failure.as_ref() != Some(&text) {
                mpi::say(format_args!("tailback: {text}"));
            }
            self.failure = Some(text);
        } else {
            self.failure = None;
        }
    }
}

/// Behind something else.
fn in_words(left: Option<String>) -> String {
    left.map(|left| format!(", {left}")).unwrap_or_default()
}

/// Seconds that a phase may take by its limits.
fn limit(plan: &Plan, index: usize) -> f64 {
    let measured = plan.phases[index].jobs.iter().filter(|j| j.role == Role::Measured);
    measured.filter_map(|j| j.stop.time_s).fold(0.0, f64::max)
}

/// What is left of parts that take about the same, in words; nothing where it is not known or not worth saying.
fn left(since: Duration, done: usize, of: usize) -> Option<String> {
    if done == 0 || done >= of {
        return None;
    }
    let seconds = since.as_secs_f64() * (of - done) as f64 / done as f64;
    (seconds >= 5.0).then(|| format!("about {} left", about_seconds(seconds)))
}

/// Twice the time limit and twice the patience: blocks end within a tenth of the limit, so only a rank that hangs takes longer, or one
/// on a machine so busy that its user has more patience.
fn deadline(limit_s: f64, patience: Duration) -> Option<Instant> {
    (limit_s > 0.0).then(|| now() + Duration::from_secs_f64(2.0 * limit_s) + 2 * patience)
}

fn bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} [{bar:30}] {pos}/{len} {msg} ({elapsed})");
    let bar = ProgressBar::new(length);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// The time of the program itself, which watches over real time.
#[expect(clippy::disallowed_methods, reason = "the program itself watches over real time")]
pub fn now() -> Instant {
    Instant::now()
}

impl Observer for Watch {
    fn heart(&self, beat: Beat) {
        if self.patience.is_some() {
            self.sign();
            self.lock().pulse.beat(beat, now());
            if beat == Beat::Block {
                self.guard();
            }
        }
    }

    fn phase(&self, plan: &Plan, placement: u32, index: usize) {
        self.sign();
        self.guard();
        {
            let mut state = self.lock();
            // Without patience nobody looks at it.
            let patience = self.patience.unwrap_or_default();
            state.deadline = deadline(limit(plan, index), patience).map(|end| (end, plan.phases[index].name.clone()));
            state.loads_only = plan.phases[index].about == About::Load;
        }
        if self.quiet {
            return;
        }
        let name = &plan.phases[index].name;
        {
            let mut state = self.lock();
            (state.phase, state.said, state.phase_begun) = (name.clone(), Some(now()), Some(now()));
        }
        let (phases, placements) = (plan.phases.len(), plan.placements as usize);
        let (done, all) = (placement as usize * phases + index, placements * phases);
        let limits: f64 = (done..all).map(|i| limit(plan, i % phases)).sum();
        let since = self.lock().since(done);
        let left = match &plan.phases[index].about {
            _ if limits > 0.0 && !self.simulated => format!(", at most {limits:.0} s left"),
            // Hundreds of phases of one kind: the next take about as long as those before.
            About::Point { .. } | About::Graph { .. } => in_words(left(since, done, all)),
            _ => String::new(),
        };
        if !std::io::stderr().is_terminal() {
            let turn = if placements > 1 { format!(" of placement {}", placement + 1) } else { String::new() };
            mpi::say(format_args!("phase {}/{all}: {name}{turn}{left}", done + 1));
            return;
        }
        let mut state = self.lock();
        let bar = state.bar.get_or_insert_with(|| bar(all as u64));
        // What was measured may have added phases.
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        bar.set_message(format!("{name}{left}"));
    }

    fn progress(&self, done: Progress) {
        if self.quiet {
            return;
        }
        let (mut state, now) = (self.lock(), now());
        let live = state.bar.is_some();
        // A file is read later: a line now and then is enough.
        let pause = Duration::from_secs(if live { 1 } else { 10 });
        if state.said.is_some_and(|said| now < said + pause) {
            return;
        }
        state.said = Some(now);
        let (since, percent) = (state.phase_begun.map_or(Duration::ZERO, |begun| now - begun), done.share * 100.0);
        let left = in_words(left(since, percent as usize, 100));
        let text = format!("{}: {percent:.0} %, {:.2} Gflop/s{left}", state.phase, done.flops_per_s * 1e-9);
        match &state.bar {
            Some(bar) => bar.set_message(text),
            None => mpi::say(&text),
        }
    }

    fn asked_to_stop(&self) -> bool {
        self.asked_to_stop.load(Ordering::Relaxed)
    }

    fn save(&self, record: &RunRecord) {
        self.sign();
        let mut state = self.lock();
        state.deadline = None;
        state.store(record);
        state.record = Some(record.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        let after = |seconds, done, of| left(Duration::from_secs(seconds), done, of);
        for (seconds, done, of, text) in [
            (10, 2, 10, Some("about 40 s left")),
            (100, 1, 10, Some("about 15 min left")),
            (3600, 1, 10, Some("about 9 h left")),
            (1, 9, 10, None),
            (100, 0, 10, None),
            (100, 10, 10, None),
        ] {
            assert_eq!(after(seconds, done, of).as_deref(), text, "{done} of {of} after {seconds} s");
        }
    }
}
