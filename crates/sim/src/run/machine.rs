//! The machine: builds the parts, runs them on threads window by window, and says what went wrong.
//!
//! Parts are simulated in parallel in windows of virtual time no longer than the look-ahead, the shortest time in which one
//! part can affect another. Each thread makes and keeps its parts and the fibers of their ranks; between windows mail is
//! handed over and taken in. Neither which thread has which part nor how many parts there are matters for the result: see the
//! order of events in `base/event`, and the look-ahead of the fabric.

use super::ahead::Stacks;
use super::barrier::Barrier;
use super::comm::{Seat, SimComm};
use super::part::{Part, Stop};
use crate::base::{Event, NONE, Tray};
use crate::file::{Config, ConfigError};
use crate::host::{Blocked, Meetings, Members};
use crate::net::{Fabric, Mail, PortCounters, Stats, Totals};
use crate::view::{Cut, Film, Reel, Scene};
use comm::{Comm, MachineError};
use fiber::{Fibers, State};
use spec::Time;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many waiting ranks an error names before it only counts.
const NAMED: usize = 10;

/// A simulated machine.
pub struct Simulator {
    fabric: Fabric,
    after: Mutex<After>,
}

/// What the last run left: statistics, ports, what broke, and the film.
#[derive(Default)]
struct After {
    stats: Stats,
    ports: Vec<PortCounters>,
    events: Vec<String>,
    film: Film,
}

/// What the threads of a run share.
struct Shared<'a> {
    fabric: &'a Fabric,
    body: &'a (dyn Fn(&dyn Comm) + Sync),
    world: Arc<Members>,
    meetings: Meetings,
    threads: usize,
    barrier: Barrier,
    /// Each thread's next event.
    next: Vec<AtomicU64>,
    failed: AtomicBool,
    /// Mail for each part from those of other threads.
    mail: Vec<Tray<(u16, Box<Mail>)>>,
    scene: Scene,
    /// When phases began and ended, and how many of these there are.
    cuts: Mutex<Vec<Cut>>,
    cut_count: AtomicUsize,
    ends: Mutex<Vec<End>>,
}

/// What is left of a part when the run is over.
struct End {
    part: u16,
    now: u64,
    totals: Totals,
    peak: u64,
    ports: Vec<PortCounters>,
    failure: Option<(u64, String)>,
    waiting: Vec<(u32, String)>,
    at_rest: bool,
    happened: Vec<usize>,
    reel: Reel,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A poisoned lock is taken all the same: the panic that poisoned it is reported anyway.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Simulator {
    /// Builds the machine that a configuration describes.
    pub fn new(config: Config) -> Result<Simulator, ConfigError> {
        Ok(Simulator { fabric: Fabric::new(&config)?, after: Mutex::default() })
    }

    /// The machine of a fabric that no machine file can name.
    #[cfg(test)]
    pub(crate) fn of(fabric: Fabric) -> Simulator {
        Simulator { fabric, after: Mutex::default() }
    }

    /// The configuration it was built from.
    pub fn config(&self) -> &Config {
        &self.fabric.config
    }

    /// Everything that defines the machine, by name, for the record.
    pub fn facts(&self) -> Vec<(String, String)> {
        let sizes = [
            ("switches", self.fabric.switches.len()),
            ("links", self.fabric.links.len()),
            ("virtual channels", self.fabric.vcs),
        ];
        let mut facts = self.fabric.facts.clone();
        facts.extend(sizes.map(|(name, n)| (name.to_string(), n.to_string())));
        facts
    }

    /// What the last run did.
    pub fn stats(&self) -> Stats {
        lock(&self.after).stats.clone()
    }

    /// Every port that sent something in the last run.
    pub fn ports(&self) -> Vec<PortCounters> {
        lock(&self.after).ports.clone()
    }

    /// What broke or was mended during the last run, in the order of time, for the record.
    pub fn events(&self) -> Vec<String> {
        lock(&self.after).events.clone()
    }

    /// What the last run looked like while its phases lasted; empty if nobody marked a phase.
    pub fn film(&self) -> Film {
        lock(&self.after).film.clone()
    }

    /// The switch of a node's first NIC, and that switch's group.
    pub fn home(&self, node: usize) -> (u32, u32) {
        let switch = self.fabric.endpoints[node * self.fabric.config.nic.per_node].switch;
        (switch, self.fabric.switches[switch as usize].group)
    }

    /// The closed form of a lone message's time between two ranks of different nodes, from the start of the send to the end
    /// of the receive, which is posted before: see the fabric's `wire_time`. Longer than `protocol.eager`, it pays for a
    /// request and its answer first.
    pub fn zero_load(&self, from: usize, to: usize, bytes: u64) -> Time {
        let (config, fabric) = (&self.fabric.config, &self.fabric);
        let (a, b) = (fabric.endpoint_of(from as u32), fabric.endpoint_of(to as u32));
        let mut ps = config.host.send_overhead.ps() + config.host.recv_overhead.ps() + fabric.wire_time(a, b, bytes);
        ps += config.protocol.more(bytes);
        if bytes > config.protocol.eager as u64 {
            ps += fabric.wire_time(a, b, 0) + fabric.wire_time(b, a, 0);
            ps += if config.protocol.copies(bytes) { config.host.copying(bytes) } else { 0 };
        } else {
            ps += 2 * config.host.copying(bytes);
        }
        Time::from_ps(ps)
    }

    fn threads(&self) -> usize {
        // A part belongs to one thread, so threads beyond the number of parts would have nothing to do.
        self.fabric.config.workers().clamp(1, self.fabric.parts.len())
    }

    fn conclude(&self, mut ends: Vec<End>, threads: usize, film: Film) -> Result<(), MachineError> {
        let mut stats = Stats { threads, parts: self.fabric.parts.len(), ..Stats::default() };
        let mut ports = Vec::new();
        for end in &mut ends {
            stats.add(end.now, &end.totals, end.peak);
            ports.append(&mut end.ports);
        }
        let lost = stats.injected_bytes - stats.delivered_bytes;
        // Every part notes every fault, and one that was idle by then notes nothing.
        let mut broke: Vec<usize> = Vec::new();
        for end in &ends {
            broke.extend(&end.happened);
        }
        broke.sort_unstable();
        broke.dedup();
        let events = broke.iter().map(|&n| self.fabric.faults[n].fault.to_string()).collect();
        // Stored before the errors below are returned: what a failed run did can still be looked at.
        *lock(&self.after) = After { stats, ports, events, film };
        // The earliest reason, the first by its words if two failed at once: what is said must not depend on threads.
        if let Some((time, reason)) = ends.iter().filter_map(|end| end.failure.as_ref()).min() {
            return Err(MachineError(format!("at {}: {reason}", Time::from_ps(*time))));
        }
        let waiting: Vec<&(u32, String)> = ends.iter().flat_map(|e| &e.waiting).collect();
        if !waiting.is_empty() {
            return Err(MachineError(stuck(&waiting, self.fabric.config.ranks())));
        }
        if lost != 0 || ends.iter().any(|e| !e.at_rest) {
            let text =
                format!("the network kept {lost} bytes or some credits: a bug of the simulator, please report the run");
            return Err(MachineError(text));
        }
        Ok(())
    }
}

impl comm::Machine for Simulator {
    fn run(&self, body: &(dyn Fn(&dyn Comm) + Sync)) -> Result<(), MachineError> {
        let (threads, parts) = (self.threads(), self.fabric.parts.len());
        let shared = Shared {
            fabric: &self.fabric,
            body,
            world: Arc::new(Members { context: 0, list: None, size: self.fabric.config.ranks() }),
            meetings: Meetings::new(parts),
            threads,
            barrier: Barrier::new(threads),
            next: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            failed: AtomicBool::new(false),
            mail: (0..parts).map(|_| Tray::default()).collect(),
            scene: Scene::new(&self.fabric),
            cuts: Mutex::default(),
            cut_count: AtomicUsize::new(0),
            ends: Mutex::default(),
        };
        let mut outcomes = vec![];
        if threads == 1 {
            // Not guarded: there is nobody at the barrier to be freed, and the panic goes on to the caller.
            outcomes.push(shared.work(0));
        } else {
            std::thread::scope(|scope| {
                let shared = &shared;
                let mut others = Vec::new();
                for thread in 1..threads {
                    others.push(scope.spawn(move || shared.guarded(thread)));
                }
                outcomes.push(shared.guarded(0));
                for other in others {
                    outcomes.push(other.join().unwrap_or_else(|payload| Err(panic_text(&*payload))));
                }
            });
        }
        if let Some(Err(reason)) = outcomes.into_iter().find(Result::is_err) {
            return Err(MachineError(reason));
        }
        let mut ends = std::mem::take(&mut *lock(&shared.ends));
        // Threads end in any order, and ports are listed by part.
        ends.sort_by_key(|e| e.part);
        let reels: Vec<Reel> = ends.iter_mut().map(|e| std::mem::take(&mut e.reel)).collect();
        let film = shared.scene.film(&reels, &lock(&shared.cuts));
        self.conclude(ends, threads, film)
    }
}

/// The marks of phases that are known to a thread, and those at which it has cut its film.
#[derive(Default)]
struct Cuts {
    known: usize,
    made: usize,
}

/// A part on its thread: its state, and its ranks' fibers. A fiber is made when its rank first runs, so that ranks which have
/// nothing to do take turns on one stack.
struct Post<'c, 'f> {
    id: u16,
    cell: &'c RefCell<Part<'f>>,
    fibers: RefCell<Vec<u32>>,
    reel: RefCell<Reel>,
    /// Its next event: most parts have none in most windows, and need not be looked at.
    next: Cell<u64>,
    /// Mail from parts of the same thread.
    inbox: RefCell<Vec<(u16, Box<Mail>)>>,
}

/// Where the stacks of a part's ranks are.
struct OfPart<'a, 'f> {
    numbers: &'a [u32],
    fibers: &'a Fibers<'f>,
}

impl Stacks for OfPart<'_, '_> {
    #[inline(always)]
    fn fetch(&self, rank: u32) {
        self.fibers.fetch(self.numbers[rank as usize] as usize);
    }

    #[inline(always)]
    fn fetch_stack(&self, rank: u32) {
        let fiber = self.numbers[rank as usize];
        if fiber != NONE {
            self.fibers.fetch_stack(fiber as usize);
        }
    }
}

impl Post<'_, '_> {
    /// Looks anew when its next event is.
    fn look(&self) {
        self.next.set(self.cell.borrow_mut().net.clock.peek().unwrap_or(u64::MAX));
    }
}

impl<'a> Shared<'a> {
    /// Works, and frees the other threads if this one panics.
    fn guarded(&self, thread: usize) -> Result<(), String> {
        catch_unwind(AssertUnwindSafe(|| self.work(thread))).unwrap_or_else(|payload| {
            self.barrier.break_up();
            Err(format!("a thread of the simulator panicked: {}", panic_text(&*payload)))
        })
    }

    /// One thread's share of the run.
    fn work(&self, thread: usize) -> Result<(), String> {
        let config = &self.fabric.config;
        let parts = self.fabric.parts.len();
        // Contiguous parts: neighbours exchange most.
        let (low, high) = (parts * thread / self.threads, parts * (thread + 1) / self.threads);
        let cells: Vec<_> = (low..high).map(|p| RefCell::new(Part::new(p as u16, self.fabric, self.threads))).collect();
        let ranks: usize = cells.iter().map(|c| c.borrow().host.ranks.len()).sum();
        let result = fiber::scope(ranks, config.stack, |fibers| {
            let mut posts = Vec::new();
            for cell in &cells {
                let mut part = cell.borrow_mut();
                let ranks = part.host.ranks.len() as u32;
                for local in 0..ranks {
                    let world = part.world_rank(local);
                    part.net.clock.push(0, world, Event::Resume(local));
                }
                posts.push(Post {
                    id: part.net.id,
                    cell,
                    fibers: RefCell::new(vec![NONE; ranks as usize]),
                    reel: RefCell::default(),
                    next: Cell::new(0),
                    inbox: RefCell::default(),
                });
            }
            let outcome = self.windows(thread, &posts, fibers);
            let overflowed = fibers.overflowed();
            for post in &posts {
                self.note_overflow(post, &overflowed);
                lock(&self.ends).push(end_of(&mut post.cell.borrow_mut(), post.reel.take()));
            }
            outcome
        });
        result.map_err(|e| {
            let each = spec::show_bytes(config.stack as u64);
            format!("cannot reserve {ranks} stacks of {each}: {e}; lower the machine's `stack` setting or raise the limit of address space (ulimit -v)")
        })?
    }

    /// The fiber of a part's rank, made if it has none yet.
    fn fiber_of<'c>(&'c self, post: &Post<'c, 'a>, fibers: &mut Fibers<'c>, local: u32) -> usize {
        let known = post.fibers.borrow()[local as usize];
        if known != NONE {
            return known as usize;
        }
        let cell = post.cell;
        let world = cell.borrow().world_rank(local);
        let fiber = fibers.spawn(move |suspender| {
            let seat = Seat { part: cell, suspender, meetings: &self.meetings, world, local };
            (self.body)(&SimComm::new(seat, Arc::clone(&self.world), world));
            cell.borrow_mut().host.ranks[local as usize].blocked = Blocked::Done;
        });
        post.fibers.borrow_mut()[local as usize] = fiber as u32;
        fiber
    }

    /// Runs window after window until nothing is left to happen.
    fn windows<'c>(&'c self, thread: usize, posts: &[Post<'c, 'a>], fibers: &mut Fibers<'c>) -> Result<(), String> {
        let broken = |_| "another thread of the simulator panicked".to_string();
        let (mut failed, mut cuts) = (false, Cuts::default());
        loop {
            let mine = posts.iter().map(|p| p.next.get()).min().unwrap_or(u64::MAX);
            self.next[thread].store(mine, Ordering::Release);
            self.barrier.wait().map_err(broken)?;
            let next = self.next.iter().map(|n| n.load(Ordering::Acquire)).min().unwrap_or(u64::MAX);
            // A window ends where the film is to be looked at, so that all parts have done what comes before and nothing else.
            let due = self.film(posts, next, &mut cuts);
            if next == u64::MAX || failed {
                return Ok(());
            }
            // What a part does to another takes effect after the look-ahead at the earliest, so after this window.
            let window = if self.alone() { u64::MAX } else { self.fabric.lookahead };
            let limit = next.saturating_add(window).min(due);
            for post in posts.iter().filter(|p| p.next.get() < limit) {
                self.run_part(post, limit, fibers);
                let mut part = post.cell.borrow_mut();
                self.hand_over(&mut part, posts);
                self.note_cuts(&mut part);
                if part.net.clock.failure.is_some() {
                    self.failed.store(true, Ordering::Release);
                }
                drop(part);
                post.look();
            }
            self.barrier.wait().map_err(broken)?;
            // Read here, where nobody sets it: all threads must decide alike.
            failed = self.failed.load(Ordering::Acquire);
            cuts.known = self.cut_count.load(Ordering::Acquire);
            posts.iter().for_each(|post| self.take_in(post));
        }
    }

    /// Takes in what others did to a part in the window that is over.
    fn take_in(&self, post: &Post<'_, 'a>) {
        let mut mail = post.inbox.borrow_mut();
        let Part { host, net, .. } = &mut *post.cell.borrow_mut();
        self.mail[usize::from(net.id)].empty_into(&mut mail);
        // A part hands over at most one mail per receiver and window, so no two keys are equal.
        mail.sort_unstable_by_key(|m| m.0);
        let came = !mail.is_empty();
        mail.drain(..).for_each(|(_, m)| net.receive(m));
        if self.meetings.hand_out(host, net) || came {
            post.next.set(net.clock.peek().unwrap_or(u64::MAX));
        }
    }

    fn alone(&self) -> bool {
        self.fabric.parts.len() == 1
    }

    /// Ends the slices of the film that are over before the next event, and begins new ones where phases do. When that is to be done
    /// again.
    fn film(&self, posts: &[Post<'_, 'a>], next: u64, cuts: &mut Cuts) -> u64 {
        loop {
            let due = posts[0].reel.borrow().due();
            let cut = (cuts.made < cuts.known).then(|| {
                let (at, phase) = &lock(&self.cuts)[cuts.made];
                (*at, phase.is_some())
            });
            match cut {
                // At the end nothing comes any more but the end of the last phase.
                Some((at, begins)) if at <= due && at <= next => {
                    for post in posts {
                        post.reel.borrow_mut().cut(&self.scene, &post.cell.borrow().net.outs, at, begins);
                    }
                    cuts.made += 1;
                }
                _ if due <= next && (next != u64::MAX || cut.is_some()) => {
                    posts.iter().for_each(|p| p.reel.borrow_mut().tick(&p.cell.borrow().net.outs));
                }
                _ => return cut.map_or(due, |(at, _)| at.min(due)),
            }
        }
    }

    /// Puts a part's marks where all parts find them after the window.
    fn note_cuts(&self, part: &mut Part<'_>) {
        if !part.cuts.is_empty() {
            // The count spares the others the lock when nothing is new. It is read after the barrier, when the list is whole too.
            self.cut_count.fetch_add(part.cuts.len(), Ordering::AcqRel);
            lock(&self.cuts).append(&mut part.cuts);
        }
    }

    /// Puts a part's mail where its receivers find it after the window.
    fn hand_over(&self, part: &mut Part<'_>, posts: &[Post<'_, 'a>]) {
        // The parts of a thread are numbered one after the other.
        let first = usize::from(posts[0].id);
        while let Some((to, mail)) = part.net.mail.take() {
            match usize::from(to).checked_sub(first).and_then(|i| posts.get(i)) {
                Some(near) => near.inbox.borrow_mut().push((part.net.id, mail)),
                None => self.mail[usize::from(to)].put((part.net.id, mail)),
            }
        }
    }

    /// Serves a part's events before `limit`, letting its ranks run.
    fn run_part<'c>(&'c self, post: &Post<'c, 'a>, limit: u64, fibers: &mut Fibers<'c>) {
        let alone = self.alone();
        loop {
            let stop = post.cell.borrow_mut().serve(limit, &OfPart { numbers: &post.fibers.borrow(), fibers });
            let Stop::Resume(rank) = stop else { return };
            let fiber = self.fiber_of(post, fibers, rank);
            let state = fibers.resume(fiber);
            let mut part = post.cell.borrow_mut();
            match state {
                State::Suspended | State::Done => {}
                State::Panicked(payload) => {
                    let text = format!("rank {}: {}", part.world_rank(rank), panic_text(&*payload));
                    part.net.clock.fail(text);
                }
                State::Overflowed => {
                    let text = overflow(part.world_rank(rank), self.fabric.config.stack);
                    part.net.clock.fail(text);
                }
            }
            if part.net.clock.failure.is_some() {
                return;
            }
            // With one part nobody else can be late: outcomes need not wait for the end of a window.
            if part.met.take().is_some() && alone {
                let Part { host, net, .. } = &mut *part;
                self.meetings.hand_out(host, net);
            }
            // Back to `windows`, where films are cut: otherwise a part alone would run on to the end of its slice first.
            if alone && !part.cuts.is_empty() {
                return;
            }
        }
    }

    /// Notes the first of `overflowed`, the fibers that have run into their red zones, that is one of a part's ranks.
    fn note_overflow(&self, post: &Post<'_, 'a>, overflowed: &[usize]) {
        let mut part = post.cell.borrow_mut();
        let bad = |&fiber: &u32| overflowed.contains(&(fiber as usize));
        if let Some(local) = post.fibers.borrow().iter().position(bad) {
            let rank = part.world_rank(local as u32);
            // Time zero wins over every other reason in `conclude`, because those may be consequences.
            part.net.clock.failure = Some((0, overflow(rank, self.fabric.config.stack)));
        }
    }
}

fn overflow(rank: u32, stack: usize) -> String {
    let stack = spec::show_bytes(stack as u64);
    format!("rank {rank} used up its stack of {stack}; raise the machine's `stack` setting")
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".into())
}

/// What a part leaves when the run is over.
fn end_of(part: &mut Part<'_>, reel: Reel) -> End {
    let mut waiting = Vec::new();
    for (local, rank) in part.host.ranks.iter().enumerate() {
        let what = match rank.blocked {
            Blocked::Done => continue,
            Blocked::Group(g) => part.net.operations.awaited(g),
            Blocked::Meeting(_) => "a split or a sum that others of its communicator have not joined".into(),
            Blocked::No => "nothing that can happen".into(),
        };
        waiting.push((part.world_rank(local as u32), what));
    }
    let net = &mut part.net;
    End {
        part: net.id,
        now: net.clock.now,
        totals: net.totals,
        peak: net.peak_queue(),
        ports: net.port_counters(),
        waiting,
        at_rest: net.outs.at_rest(),
        happened: net.happened(),
        failure: net.clock.failure.take(),
        reel,
    }
}

/// The text of a deadlock: who waits for whom.
fn stuck(waiting: &[&(u32, String)], ranks: usize) -> String {
    let mut waiting = waiting.to_vec();
    waiting.sort();
    let mut text = format!("deadlock: nothing is left to happen and {} of {ranks} ranks still wait", waiting.len());
    for (rank, what) in waiting.iter().take(NAMED) {
        text += &format!("\n  rank {rank} waits for {what}");
    }
    if waiting.len() > NAMED {
        text += &format!("\n  and {} more", waiting.len() - NAMED);
    }
    text
}
