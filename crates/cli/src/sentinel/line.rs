//! A connection that carries lines of text.

use rustix::event::PollFd;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

/// Nobody says more than this in one line: who does is a stranger.
const LONGEST: usize = 64 << 10;

/// What is said.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Who is there.
    Hello {
        /// What only the job knows.
        token: String,
        /// Its rank.
        rank: usize,
    },
    /// Are you there?
    Ask {
        /// Which question it is.
        number: u64,
    },
    /// Yes.
    Here {
        /// To which question.
        number: u64,
        /// Ranks of the same node that are stopped.
        stopped: Vec<usize>,
    },
    /// A rank of the same node is gone.
    Died {
        /// Which.
        rank: usize,
    },
    /// Something is wrong.
    Alarm {
        /// What.
        reason: String,
    },
    /// This process ends.
    Bye {
        /// Why.
        reason: String,
    },
}

impl Message {
    /// As it is sent.
    pub fn write(&self) -> String {
        match self {
            Message::Hello { token, rank } => format!("hello {token} {rank}\n"),
            Message::Ask { number } => format!("ask {number}\n"),
            Message::Here { number, stopped } => {
                let list: Vec<String> = stopped.iter().map(usize::to_string).collect();
                format!("here {number} {}\n", list.join(","))
            }
            Message::Died { rank } => format!("died {rank}\n"),
            Message::Alarm { reason } => format!("alarm {}\n", reason.replace('\n', " ")),
            Message::Bye { reason } => format!("bye {}\n", reason.replace('\n', " ")),
        }
    }

    /// As it came; nothing if nobody here would say it.
    pub fn read(line: &str) -> Option<Message> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "hello" => {
                let (token, rank) = rest.split_once(' ')?;
                Some(Message::Hello { token: token.into(), rank: rank.parse().ok()? })
            }
            "ask" => Some(Message::Ask { number: rest.parse().ok()? }),
            "here" => {
                let (number, list) = rest.split_once(' ')?;
                let stopped: Result<Vec<usize>, _> =
                    list.split(',').filter(|r| !r.is_empty()).map(str::parse).collect();
                Some(Message::Here { number: number.parse().ok()?, stopped: stopped.ok()? })
            }
            "died" => Some(Message::Died { rank: rest.parse().ok()? }),
            "alarm" => Some(Message::Alarm { reason: rest.into() }),
            "bye" => Some(Message::Bye { reason: rest.into() }),
            _ => None,
        }
    }
}

/// One end of a connection.
pub struct Line {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Line {
    /// Nothing is waited for on it: that is for `poll`.
    pub fn new(stream: TcpStream) -> Option<Line> {
        stream.set_nonblocking(true).ok()?;
        // A line is one small packet; it should not wait for a second.
        stream.set_nodelay(true).ok()?;
        Some(Line { stream, heard: Vec::new() })
    }

    /// A second handle of the same connection, to send by.
    pub fn twin(&self) -> Option<Line> {
        Some(Line { stream: self.stream.try_clone().ok()?, heard: Vec::new() })
    }

    /// Says something; whether it could be said. A line fits every socket's buffer.
    pub fn send(&mut self, message: &Message) -> bool {
        self.stream.write_all(message.write().as_bytes()).is_ok()
    }

    /// What was said since the last time, and whether the other side is still there.
    pub fn hear(&mut self) -> (Vec<Message>, bool) {
        let mut there = true;
        let mut room = [0u8; 4096];
        loop {
            match self.stream.read(&mut room) {
                Ok(0) => there = false,
                Ok(n) if self.heard.len() < LONGEST => {
                    self.heard.extend_from_slice(&room[..n]);
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(_) | Err(_) => there = false,
            }
            break;
        }
        let Some(end) = self.heard.iter().rposition(|b| *b == b'\n') else { return (Vec::new(), there) };
        let rest = self.heard.split_off(end + 1);
        let text = String::from_utf8_lossy(&std::mem::replace(&mut self.heard, rest)).into_owned();
        let messages: Option<Vec<Message>> = text.lines().map(Message::read).collect();
        // Who says what nobody here would is a stranger.
        match messages {
            Some(messages) => (messages, there),
            None => (Vec::new(), false),
        }
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Waits until one of them has something to say, or for so long. Which do, in their order.
pub fn wait(on: &[BorrowedFd<'_>], time: std::time::Duration) -> Vec<bool> {
    use rustix::event::{PollFlags, Timespec, poll};
    let mut list: Vec<PollFd<'_>> = on.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    // A signal ends the wait early, which is as if nothing had come.
    match poll(&mut list, Some(&time)) {
        Ok(_) => list.iter().map(|fd| !fd.revents().is_empty()).collect(),
        Err(_) => vec![false; on.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_what_is_heard() {
        let all = [
            Message::Hello { token: "ab".into(), rank: 7 },
            Message::Ask { number: 3 },
            Message::Here { number: 3, stopped: vec![] },
            Message::Here { number: 4, stopped: vec![1, 20] },
            Message::Died { rank: 5 },
            Message::Alarm { reason: "a rank hangs: nothing".into() },
            Message::Bye { reason: "stopped by SIGTERM".into() },
        ];
        for message in all {
            assert_eq!(Message::read(message.write().trim_end_matches('\n')), Some(message));
        }
        for strange in ["", "hello", "hello ab", "here x ", "GET / HTTP/1.1", "died -1", "ask 1 2"] {
            assert_eq!(Message::read(strange), None, "{strange}");
        }
    }

    #[test]
    fn strangers_and_ends_are_seen() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut line = Line::new(listener.accept().unwrap().0).unwrap();
        assert_eq!(line.hear(), (vec![], true));
        caller.write_all(b"ask 1\nask").unwrap();
        let second = std::time::Duration::from_secs(1);
        assert_eq!(wait(&[line.as_fd()], second), [true]);
        assert_eq!(line.hear(), (vec![Message::Ask { number: 1 }], true));
        caller.write_all(b" 2\n").unwrap();
        wait(&[line.as_fd()], second);
        assert_eq!(line.hear(), (vec![Message::Ask { number: 2 }], true));
        caller.write_all(b"GET /\n").unwrap();
        wait(&[line.as_fd()], second);
        assert_eq!(line.hear(), (vec![], false));
        drop(caller);
        wait(&[line.as_fd()], second);
        assert_eq!(line.hear(), (vec![], false));
    }
}
