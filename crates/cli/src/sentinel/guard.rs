//! The one of a node that looks after the others there, and the deputy that looks after rank 0.

use super::line::{Line, Message, wait};
use super::peers::Peers;
use super::{ANSWER, GRACE, LOOK, Post, end, lock};
use crate::progress::{Watch, now};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connects to rank 0 and stays. Without a connection there is nobody to tell.
pub fn start(post: Arc<Post>, watch: Watch, patience: Duration) {
    let Some(line) = post.call() else { return };
    *lock(&post.line) = line.twin();
    let peers = if post.leads() { post.peers() } else { Peers::new(std::iter::empty()) };
    let deputy = post.deputy() == post.rank;
    let mut guard = Guard { post, watch, patience, line, peers, deputy, asked: None, number: 0 };
    // Without threads to spare the run goes on without.
    let _ = std::thread::Builder::new().name("sentinel".into()).spawn(move || guard.stand());
}

struct Guard {
    post: Arc<Post>,
    watch: Watch,
    patience: Duration,
    line: Line,
    peers: Peers,
    deputy: bool,
    /// When rank 0 was asked, if it has not answered.
    asked: Option<Instant>,
    number: u64,
}

impl Guard {
    fn stand(&mut self) {
        let mut last = now();
        loop {
            let mut on = vec![self.line.as_fd()];
            on.extend(self.peers.lives());
            // Only the deputy has something to do by itself; the others sleep until they are asked.
            let ready = wait(&on, if self.deputy { LOOK } else { Duration::from_secs(3600) });
            if self.post.over() {
                return;
            }
            if ready[1..].contains(&true) {
                self.tell_deaths();
            }
            if ready[0] && !self.answer() {
                return self.lost();
            }
            if !self.deputy {
                continue;
            }
            if self.asked.is_some_and(|asked| now() > asked + ANSWER) {
                end(&self.watch, &format!("{} does not answer: it is stopped, or its node is", self.post.name(0)));
            }
            if self.asked.is_none() && self.watch.quiet_for() > self.patience && now() > last + self.patience {
                self.number += 1;
                self.line.send(&Message::Ask { number: self.number });
                (self.asked, last) = (Some(now()), now());
            }
        }
    }

    fn tell_deaths(&mut self) {
        for rank in self.peers.take_dead() {
            self.line.send(&Message::Died { rank });
        }
    }

    /// Answers what rank 0 asked; whether it is still there.
    fn answer(&mut self) -> bool {
        let (messages, there) = self.line.hear();
        for message in messages {
            match message {
                Message::Ask { number } => {
                    self.tell_deaths();
                    let stopped = self.peers.stopped();
                    self.line.send(&Message::Here { number, stopped });
                }
                Message::Here { number, .. } if number == self.number => self.asked = None,
                _ => {}
            }
        }
        there
    }

    /// Rank 0's end of the connection is closed: it died, or it ends the run, and then this rank with it.
    #[expect(clippy::disallowed_methods, reason = "the process ends during this sleep")]
    fn lost(&self) {
        let reason = format!("{} died", self.post.name(0));
        self.watch.blame(reason.clone());
        // There is nobody to tell any more.
        *lock(&self.post.line) = None;
        std::thread::sleep(GRACE);
        if !self.post.over() {
            end(&self.watch, &reason);
        }
    }
}
