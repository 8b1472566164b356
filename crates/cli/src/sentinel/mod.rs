//! Who of a real run is still there: ranks that died, are stopped or do not answer, by name.
//!
//! MPI tells nobody which rank is gone, and a rank that waits for a stopped one waits for ever. So one rank of each node keeps a
//! connection to rank 0. Nothing travels on it while a run goes well: a process that dies is told by the kernel (the end of a
//! connection, or of a process on the same node), and only when rank 0 has seen no sign of life for a while does it ask everybody. Who
//! computes for hours answers; who is stopped does not. A deputy asks rank 0 in the same way.
//!
//! Where connections cannot be made a run goes on without: silence is then all that is noticed. Before they are made, while MPI starts,
//! every rank looks at the processes of its own host.

mod guard;
mod head;
mod line;
mod peers;
mod siblings;

use crate::progress::Watch;
use bench::wire;
use comm::Comm;
use line::{Line, Message};
use peers::Peers;
use serde::{Deserialize, Serialize};
pub use siblings::{end_stopped, stopped_here};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a connection may take to be made: nodes of one job are near.
const CONNECT: Duration = Duration::from_millis(500);
/// How long an answer may take. Threads that sleep are woken at once, also beside ranks that compute.
const ANSWER: Duration = Duration::from_millis(1500);
/// How often silence is looked for.
const LOOK: Duration = Duration::from_millis(500);
/// How long those who are told to end wait before they end themselves.
const GRACE: Duration = Duration::from_millis(2500);

/// A rank as others name it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Member {
    host: String,
    pid: u32,
    node: u64,
}

/// Where rank 0 listens.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Invitation {
    addresses: Vec<SocketAddr>,
    token: String,
}

/// What every rank knows.
struct Post {
    rank: usize,
    members: Vec<Member>,
    invitation: Invitation,
    /// The run is over, or this process is about to end: who leaves now does not die.
    over: AtomicBool,
    /// What a rank noticed itself, until rank 0 has asked everybody.
    alarm: Mutex<Option<String>>,
    /// The connection to rank 0, of those who have one.
    line: Mutex<Option<Line>>,
}

/// This rank's part in it.
#[derive(Clone)]
pub struct Sentinel(Arc<Post>);

impl Sentinel {
    /// Sets it up; none for a rank that is alone. Collective.
    pub fn post(world: &dyn Comm, watch: &Watch, patience: Duration) -> Option<Sentinel> {
        if world.size() < 2 {
            return None;
        }
        let listener = (world.rank() == 0).then(listen).flatten();
        let mine = Member { host: crate::host::name(), pid: std::process::id(), node: world.node() as u64 };
        let members = wire::gather(world, Some(&mine));
        let told = members.map(|members| (listener.as_ref().and_then(invite), members));
        let (invitation, members): (Option<Invitation>, Vec<Member>) = wire::tell(world, told.as_ref());
        let (over, alarm, line) = (AtomicBool::new(false), Mutex::default(), Mutex::default());
        let post = Arc::new(Post { rank: world.rank(), members, invitation: invitation?, over, alarm, line });
        match listener {
            Some(listener) => head::start(post.clone(), listener, watch.clone(), patience),
            None if post.leads() || post.deputy() == post.rank => guard::start(post.clone(), watch.clone(), patience),
            None => {}
        }
        Some(Sentinel(post))
    }

    /// The run is over on this rank. Collective: nobody leaves before all know.
    pub fn dismiss(&self, world: &dyn Comm) {
        self.0.over.store(true, Ordering::SeqCst);
        world.barrier();
    }

    /// This process is about to end: that is no death, and rank 0 knows why. Whether the word got through.
    pub fn farewell(&self, reason: &str) -> bool {
        let post = &self.0;
        if post.over.swap(true, Ordering::SeqCst) || post.rank == 0 {
            return false;
        }
        let bye = Message::Bye { reason: reason.into() };
        match lock(&post.line).as_mut() {
            Some(line) => line.send(&bye),
            None => post.call().is_some_and(|mut line| line.send(&bye)),
        }
    }

    /// A rank noticed that something is wrong: rank 0 finds out who, and ends the run. Comes back if rank 0 did not, with what there is
    /// to say.
    #[expect(clippy::disallowed_methods, reason = "the process ends during this sleep")]
    pub fn alarm(&self, reason: &str) -> String {
        let post = &self.0;
        if post.rank == 0 {
            *lock(&post.alarm) = Some(reason.into());
        } else if let Some(mut line) = post.call() {
            line.send(&Message::Alarm { reason: reason.into() });
        }
        std::thread::sleep(LOOK + ANSWER + GRACE);
        format!("{reason}; {} does not answer", post.name(0))
    }
}

impl Post {
    fn over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// The lowest rank of its node looks after the others there.
    fn leads(&self) -> bool {
        self.is_leader(self.rank)
    }

    fn is_leader(&self, rank: usize) -> bool {
        let node = self.members[rank].node;
        self.members[..rank].iter().all(|m| m.node != node)
    }

    /// Who looks after rank 0: on another node, if there is one.
    fn deputy(&self) -> usize {
        let elsewhere = self.members.iter().position(|m| m.node != self.members[0].node);
        elsewhere.unwrap_or(1)
    }

    /// The other ranks of this rank's node.
    fn peers(&self) -> Peers {
        let node = self.members[self.rank].node;
        let others = self.members.iter().enumerate().filter(|(rank, m)| *rank != self.rank && m.node == node);
        Peers::new(others.map(|(rank, m)| (rank, m.pid)))
    }

    /// `rank 3 on node17`.
    fn name(&self, rank: usize) -> String {
        match self.members.get(rank) {
            Some(member) => format!("rank {rank} on {}", member.host),
            None => format!("rank {rank}"),
        }
    }

    fn call(&self) -> Option<Line> {
        let Invitation { addresses, token } = &self.invitation;
        let stream = addresses.iter().find_map(|address| TcpStream::connect_timeout(address, CONNECT).ok())?;
        let mut line = Line::new(stream)?;
        line.send(&Message::Hello { token: token.clone(), rank: self.rank });
        Some(line)
    }
}

fn listen() -> Option<TcpListener> {
    let any: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
    any.into_iter().find_map(|address| TcpListener::bind((address, 0)).ok())
}

/// All addresses of this host: which of them the others reach is for them to find out.
fn invite(listener: &TcpListener) -> Option<Invitation> {
    let port = listener.local_addr().ok()?.port();
    let mut found = if_addrs::get_if_addrs().ok()?;
    // Those that lead somewhere first; on one host the other will do.
    found.sort_by_key(|interface| (interface.is_loopback(), interface.ip().is_ipv6()));
    let addresses = found.iter().map(|interface| SocketAddr::new(interface.ip(), port)).collect();
    Some(Invitation { addresses, token: token()? })
}

/// What strangers do not know.
fn token() -> Option<String> {
    use std::io::Read;
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom").ok()?.read_exact(&mut bytes).ok()?;
    Some(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Ends the run, with a record that says why.
fn end(watch: &Watch, reason: &str) -> ! {
    watch.blame(reason.into());
    watch.give_up(reason);
    crate::signals::end(reason)
}
