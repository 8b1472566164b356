//! A machine of one rank: this process alone, without MPI.
//!
//! Messages can only go to oneself. They are copied when they are sent, and each receive takes the message that was started as
//! its counterpart, by tag and number. A receive that nothing was sent to would wait for ever, so it ends the program with that
//! reason. The clock is an argument: nothing here knows the time.

use crate::{
    Access, Buffer, Comm, Data, Machine, MachineError, Node, Op, Pending, PendingSum, Rank, Refusal, Set, Tag, Window,
};
use spec::{Time, Work};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A machine of one rank whose time comes from a function.
pub struct Solo<F: Fn() -> Time + Sync> {
    clock: F,
}

impl<F: Fn() -> Time + Sync> Solo<F> {
    /// With this clock, which must not run backwards.
    pub fn new(clock: F) -> Self {
        Self { clock }
    }
}

impl<F: Fn() -> Time + Sync> Machine for Solo<F> {
    fn run(&self, body: &(dyn Fn(&dyn Comm) + Sync)) -> Result<(), MachineError> {
        body(&Alone { clock: &self.clock, mail: RefCell::default() });
        Ok(())
    }
}

/// What was sent.
enum Letter {
    Bytes(Vec<u8>),
    Len(usize),
}

/// Messages on their way, by tag and number, and how many of each tag were sent and asked for.
#[derive(Default)]
struct Mail {
    waiting: BTreeMap<(Tag, u64), Letter>,
    sent: BTreeMap<Tag, u64>,
    asked: BTreeMap<Tag, u64>,
}

fn next(counts: &mut BTreeMap<Tag, u64>, tag: Tag) -> u64 {
    let count = counts.entry(tag).or_default();
    *count += 1;
    *count - 1
}

impl Mail {
    fn send(&mut self, tag: Tag, data: Data<'_>) {
        let letter = match data {
            Data::Bytes(bytes) => Letter::Bytes(bytes.to_vec()),
            Data::Len(len) => Letter::Len(len),
        };
        let number = next(&mut self.sent, tag);
        self.waiting.insert((tag, number), letter);
    }

    /// Delivers a message if it is there.
    fn deliver(&mut self, key: (Tag, u64), into: &mut Buffer<'_>) -> bool {
        let Some(letter) = self.waiting.remove(&key) else { return false };
        let length = match &letter {
            Letter::Bytes(bytes) => bytes.len(),
            Letter::Len(len) => *len,
        };
        assert_eq!(length, into.len(), "a message with tag {} has another length than its receive", key.0);
        // If the values do not matter to either side, there is nothing to copy.
        if let (Letter::Bytes(bytes), Buffer::Bytes(room)) = (letter, into) {
            room.copy_from_slice(&bytes);
        }
        true
    }
}

/// The one rank.
struct Alone<'m> {
    clock: &'m dyn Fn() -> Time,
    mail: RefCell<Mail>,
}

/// Receives under way.
struct Receives<'a> {
    left: Vec<((Tag, u64), Buffer<'a>)>,
}

impl Receives<'_> {
    fn look(&mut self, mail: &RefCell<Mail>) -> bool {
        let mut mail = mail.borrow_mut();
        self.left.retain_mut(|(key, into)| !mail.deliver(*key, into));
        self.left.is_empty()
    }
    fn finish(&mut self, mail: &RefCell<Mail>) {
        if !self.look(mail) {
            let tags: Vec<Tag> = self.left.iter().map(|((tag, _), _)| *tag).collect();
            panic!("the only rank waits for messages to itself that it has not sent (tags {tags:?})");
        }
    }
}

/// What was started, of which only receives can be left.
struct Sets<'a, 'b> {
    mail: &'a RefCell<Mail>,
    sets: Vec<Receives<'b>>,
}

impl<'b> Pending<'b> for Sets<'_, 'b> {
    fn start(&mut self, ops: Vec<Op<'b>>) -> Set {
        let mut left = Vec::new();
        for op in ops {
            match op {
                Op::Send { tag, data, .. } => self.mail.borrow_mut().send(tag, data),
                Op::Recv { tag, into, .. } => left.push(((tag, next(&mut self.mail.borrow_mut().asked, tag)), into)),
            }
        }
        self.sets.push(Receives { left });
        self.sets.len() - 1
    }
    fn test(&mut self, set: Set) -> bool {
        self.sets[set].look(self.mail)
    }
    fn wait(&mut self, set: Set) {
        self.sets[set].finish(self.mail);
    }
}

struct Sum(f64);

impl PendingSum for Sum {
    fn wait(self: Box<Self>) -> f64 {
        self.0
    }
}

struct Memory(RefCell<Vec<u8>>);

impl Window for Memory {
    fn transfer(&self, accesses: &mut [Access<'_>]) {
        let mut memory = self.0.borrow_mut();
        for access in accesses {
            match access {
                Access::Put { at, data: Data::Bytes(bytes), .. } => {
                    memory[*at..*at + bytes.len()].copy_from_slice(bytes)
                }
                Access::Get { at, into: Buffer::Bytes(room), .. } => {
                    let len = room.len();
                    room.copy_from_slice(&memory[*at..*at + len]);
                }
                // Where values do not matter nothing is moved, and there is no time to charge.
                _ => {}
            }
        }
    }
    fn read(&self, at: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.0.borrow()[at..at + into.len()]);
    }
    fn write(&self, at: usize, bytes: &[u8]) {
        self.0.borrow_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

impl Comm for Alone<'_> {
    fn rank(&self) -> Rank {
        0
    }
    fn size(&self) -> usize {
        1
    }
    fn node(&self) -> Node {
        0
    }
    fn now(&self) -> Time {
        (self.clock)()
    }
    fn exchange(&self, ops: &mut [Op<'_>]) {
        let mut receives = Vec::new();
        for op in ops {
            match op {
                Op::Send { to, tag, data } => {
                    assert_eq!(*to, 0, "there is no rank {to} on a machine of one rank");
                    self.mail.borrow_mut().send(*tag, *data);
                }
                Op::Recv { from, tag, into } => {
                    assert_eq!(*from, 0, "there is no rank {from} on a machine of one rank");
                    let number = next(&mut self.mail.borrow_mut().asked, *tag);
                    let into = match into {
                        Buffer::Bytes(bytes) => Buffer::Bytes(bytes),
                        Buffer::Len(len) => Buffer::Len(*len),
                    };
                    receives.push(((*tag, number), into));
                }
            }
        }
        // Receives look only after every send was made, so a receive may stand before its send.
        Receives { left: receives }.finish(&self.mail);
    }
    fn overlap<'b>(&self, work: &mut dyn FnMut(&mut dyn Pending<'b>)) {
        let mut under_way = Sets { mail: &self.mail, sets: Vec::new() };
        work(&mut under_way);
        under_way.sets.iter_mut().for_each(|set| set.finish(&self.mail));
    }
    fn compute(&self, _: Work, f: &mut dyn FnMut()) {
        f();
    }
    fn charge(&self, _: Work) -> bool {
        false
    }
    fn split(&self, color: Option<u32>, _: u32) -> Option<Box<dyn Comm + '_>> {
        // The part has mail of its own: messages do not cross communicators.
        color.map(|_| Box::new(Alone { clock: self.clock, mail: RefCell::default() }) as Box<dyn Comm + '_>)
    }
    fn window(&self, len: usize) -> Result<Box<dyn Window + '_>, Refusal> {
        Ok(Box::new(Memory(RefCell::new(vec![0; len]))))
    }
    fn start_sum(&self, x: f64) -> Box<dyn PendingSum + '_> {
        Box::new(Sum(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A clock that moves a nanosecond with each look.
    fn machine() -> Solo<impl Fn() -> Time + Sync> {
        let ticks = AtomicU64::new(0);
        Solo::new(move || Time::from_ns(ticks.fetch_add(1, Ordering::Relaxed)))
    }

    #[test]
    fn one_rank_behaves_as_every_machine_must() {
        let passed = Mutex::new(0);
        machine().run(&|comm| crate::conformance::run_all(comm, |_| *passed.lock().unwrap() += 1)).unwrap();
        assert_eq!(*passed.lock().unwrap(), crate::conformance::ALL.len());
    }

    #[test]
    #[should_panic(expected = "waits for messages to itself that it has not sent (tags [5])")]
    fn waiting_for_ever_is_refused() {
        let _ = machine().run(&|comm| comm.exchange(&mut [Op::recv(0, 5, &mut [0])]));
    }

    #[test]
    #[should_panic(expected = "another length")]
    fn a_message_of_another_length_is_refused() {
        let _ = machine().run(&|comm| comm.exchange(&mut [Op::send(0, 5, &[1, 2]), Op::recv(0, 5, &mut [0])]));
    }
}
