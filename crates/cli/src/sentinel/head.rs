//! Rank 0's part: it hears of deaths, and asks everybody when nothing has been heard for a while.

use super::line::{Line, Message, wait};
use super::peers::Peers;
use super::{ANSWER, LOOK, Post, end, lock};
use crate::progress::{Watch, now};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Listens for the others from now on.
pub fn start(post: Arc<Post>, listener: TcpListener, watch: Watch, patience: Duration) {
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    let peers = post.peers();
    let mut head =
        Head { post, listener, watch, patience, peers, guards: Vec::new(), left: Vec::new(), round: None, number: 0 };
    // Without threads to spare the run goes on without.
    let _ = std::thread::Builder::new().name("sentinel".into()).spawn(move || head.stand());
}

struct Head {
    post: Arc<Post>,
    listener: TcpListener,
    watch: Watch,
    patience: Duration,
    /// The others of its own node.
    peers: Peers,
    guards: Vec<Guard>,
    /// Ranks that said good-bye.
    left: Vec<usize>,
    /// When everybody was asked, if not all have had the time to answer.
    round: Option<Instant>,
    number: u64,
}

/// A connection.
struct Guard {
    line: Line,
    /// Nobody knows before it has said so.
    rank: Option<usize>,
    answered: u64,
    left: bool,
}

impl Head {
    fn stand(&mut self) {
        let mut last = now();
        loop {
            let mut on = vec![self.listener.as_fd()];
            on.extend(self.guards.iter().map(|g| g.line.as_fd()));
            on.extend(self.peers.lives());
            let ready = wait(&on, LOOK);
            if self.post.over() {
                return;
            }
            let (guards, peers) = ready[1..].split_at(self.guards.len());
            let (spoke, gone) = (guards.to_vec(), peers.contains(&true));
            if ready[0] {
                self.welcome();
            }
            self.hear(&spoke);
            if gone {
                self.mourn(None);
            }
            if self.round.is_some_and(|asked| now() > asked + ANSWER) {
                self.round = None;
                self.judge();
            }
            let due = self.watch.quiet_for() > self.patience && now() > last + self.patience;
            if self.round.is_none() && (due || lock(&self.post.alarm).is_some()) {
                self.ask();
                last = now();
            }
        }
    }

    fn welcome(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            let line = Line::new(stream);
            self.guards.extend(line.map(|line| Guard { line, rank: None, answered: 0, left: false }));
        }
    }

    fn hear(&mut self, spoke: &[bool]) {
        for index in (0..spoke.len()).filter(|i| spoke[*i]).rev() {
            let (messages, there) = self.guards[index].line.hear();
            messages.into_iter().for_each(|message| self.take(index, message));
            if !there {
                let Guard { rank, left, .. } = self.guards.remove(index);
                // Only a guard that leaves without a word is dead.
                if let Some(rank) = rank.filter(|rank| !left && self.is_guard(*rank)) {
                    self.mourn(Some(rank));
                }
            }
        }
    }

    fn is_guard(&self, rank: usize) -> bool {
        self.post.is_leader(rank) || self.post.deputy() == rank
    }

    fn take(&mut self, index: usize, message: Message) {
        let number = self.number;
        let guard = &mut self.guards[index];
        match message {
            Message::Hello { token, rank } if token == self.post.invitation.token => guard.rank = Some(rank),
            // Strangers are not heard.
            _ if guard.rank.is_none() => {}
            Message::Ask { number } => {
                guard.line.send(&Message::Here { number, stopped: Vec::new() });
            }
            Message::Here { number: of, stopped } => {
                guard.answered = of;
                if of == number && !stopped.is_empty() {
                    self.stopped(&stopped);
                }
            }
            Message::Died { rank } => self.mourn(Some(rank)),
            Message::Alarm { reason } => {
                // Who calls to say so hangs up, is not asked, and is not dead.
                guard.left = true;
                *lock(&self.post.alarm) = Some(reason);
            }
            Message::Bye { reason } => self.leaves(index, &reason),
            Message::Hello { .. } => {}
        }
    }

    /// A rank ends, and the run with it: if nobody ends this rank, too, it does so itself when it asks everybody.
    fn leaves(&mut self, index: usize, reason: &str) {
        let guard = &mut self.guards[index];
        guard.left = true;
        let Some(rank) = guard.rank else { return };
        self.left.push(rank);
        let reason = format!("{}: {reason}", self.post.name(rank));
        self.watch.blame(reason.clone());
        lock(&self.post.alarm).get_or_insert(reason);
    }

    fn ask(&mut self) {
        self.number += 1;
        self.mourn(None);
        let stopped = self.peers.stopped();
        if !stopped.is_empty() {
            self.stopped(&stopped);
        }
        let number = self.number;
        for guard in &mut self.guards {
            guard.line.send(&Message::Ask { number });
        }
        self.round = Some(now());
    }

    /// Everybody had the time to answer.
    fn judge(&mut self) {
        let silent = |guard: &&Guard| guard.answered < self.number && !guard.left;
        let silent: Vec<usize> = self.guards.iter().filter(silent).filter_map(|guard| guard.rank).collect();
        let names: Vec<String> = silent.into_iter().filter(|r| self.is_guard(*r)).map(|r| self.post.name(r)).collect();
        if !names.is_empty() {
            let (who, them) = (listed(&names), if names.len() == 1 { "it is" } else { "they are" });
            self.end(&format!("{who} does not answer: {them} stopped, or the node is"));
        }
        if let Some(reason) = lock(&self.post.alarm).take() {
            self.end(&reason);
        }
    }

    fn stopped(&self, ranks: &[usize]) -> ! {
        let names: Vec<String> = ranks.iter().map(|r| self.post.name(*r)).collect();
        self.end(&format!("{} is stopped", listed(&names)))
    }

    /// A rank is gone: this one, or whoever is of this node.
    fn mourn(&mut self, rank: Option<usize>) {
        let mut dead = self.peers.take_dead();
        dead.extend(rank);
        dead.retain(|rank| !self.left.contains(rank));
        // Those who leave because the run is over may be faster than this thread.
        if dead.is_empty() || self.post.over() {
            return;
        }
        let names: Vec<String> = dead.into_iter().map(|r| self.post.name(r)).collect();
        self.end(&format!("{} died", listed(&names)));
    }

    fn end(&self, reason: &str) -> ! {
        end(&self.watch, reason)
    }
}

/// The first few names.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let more = names.len().saturating_sub(SHOWN);
    let text = names[..names.len() - more].join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

#[cfg(test)]
mod tests {
    use super::super::{Invitation, Member};
    use super::*;
    use std::net::TcpStream;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    /// Rank 0 of three nodes with one rank each.
    fn head() -> Head {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let members = (0..3).map(|node| Member { host: format!("n{node}"), pid: std::process::id(), node }).collect();
        let invitation = Invitation { addresses: vec![listener.local_addr().unwrap()], token: "secret".into() };
        let (over, alarm, line) = (AtomicBool::new(false), Mutex::default(), Mutex::default());
        let post = Arc::new(Post { rank: 0, members, invitation, over, alarm, line });
        let watch = Watch::new(true, false, None);
        let (patience, peers) = (Duration::from_secs(5), Peers::new(std::iter::empty()));
        Head { post, listener, watch, patience, peers, guards: Vec::new(), left: Vec::new(), round: None, number: 0 }
    }

    #[test]
    fn who_calls_to_raise_an_alarm_and_hangs_up_is_not_dead() {
        let mut head = head();
        let stream = TcpStream::connect(head.post.invitation.addresses[0]).unwrap();
        let mut caller = Line::new(stream).unwrap();
        caller.send(&Message::Hello { token: "secret".into(), rank: 2 });
        caller.send(&Message::Alarm { reason: "silence".into() });
        while head.guards.is_empty() {
            head.welcome();
        }
        drop(caller);
        // A death would end the process here.
        while !head.guards.is_empty() {
            wait(&[head.guards[0].line.as_fd()], LOOK);
            head.hear(&[true]);
        }
        assert_eq!(lock(&head.post.alarm).as_deref(), Some("silence"));
    }
}
