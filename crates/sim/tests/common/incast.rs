//! The victim test: many senders fill one endpoint while two others exchange small messages beside it.
#![allow(dead_code, reason = "each program uses a part of it")]

use comm::{Access, Comm, Data, Machine as _, Op};
use spec::Time;
use std::sync::Mutex;
use tailback_sim::Simulator;

/// What a run of the victim test showed.
pub struct IncastResult {
    /// Half round trips of the victim with the time they began.
    pub samples: Vec<(Time, Time)>,
    /// Each sender's bytes per second.
    pub shares: Vec<f64>,
    /// Their sum.
    pub goodput: f64,
}

impl IncastResult {
    /// Mean, median and 99th percentile in microseconds of the samples that began after a time.
    pub fn summary(&self, after: Time) -> [f64; 3] {
        let mut us: Vec<f64> = self.samples.iter().filter(|s| s.0 >= after).map(|s| s.1.us()).collect();
        us.sort_by(f64::total_cmp);
        let rank = |q: f64| us[((us.len() as f64 * q).ceil() as usize).clamp(1, us.len()) - 1];
        [us.iter().sum::<f64>() / us.len() as f64, rank(0.5), rank(0.99)]
    }
}

/// Who does what. All are ranks.
#[derive(Clone, Copy)]
pub struct Roles {
    /// The target of all senders; it does nothing.
    pub root: usize,
    /// Exchange 8 bytes in turn; the first measures.
    pub victims: Option<[usize; 2]>,
    /// Senders write so many bytes at a time, one after the other; 0 leaves the machine to the victims.
    pub bytes: usize,
    /// How long all go on.
    pub duration: Time,
}

/// Everybody but the root and the victims sends, until the time is over.
pub fn run(machine: &Simulator, roles: Roles) -> IncastResult {
    let samples = Mutex::new(Vec::new());
    let shares = Mutex::new(Vec::new());
    machine
        .run(&|comm: &dyn Comm| {
            let me = comm.rank();
            let window = comm.window(roles.bytes).unwrap();
            comm.barrier();
            match roles.victims {
                Some([a, b]) if me == a => *samples.lock().unwrap() = ping(comm, b, roles.duration),
                Some([a, b]) if me == b => pong(comm, a),
                _ if me == roles.root || roles.bytes == 0 => {}
                _ => {
                    let (begin, mut sent) = (comm.now(), 0);
                    while comm.now() < roles.duration {
                        let data = Data::Len(roles.bytes);
                        window.transfer(&mut [Access::Put { to: roles.root, at: 0, data }]);
                        sent += roles.bytes;
                    }
                    shares.lock().unwrap().push((me, sent as f64 / comm.now().since(begin).secs()));
                }
            }
        })
        .unwrap();
    let mut shares = shares.into_inner().unwrap();
    shares.sort_by_key(|s| s.0);
    let shares: Vec<f64> = shares.into_iter().map(|s| s.1).collect();
    IncastResult { samples: samples.into_inner().unwrap(), goodput: shares.iter().sum(), shares }
}

/// Jain's index of fairness: 1 if all shares are equal, 1/n if one has everything.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|x| x * x).sum::<f64>())
}

fn ping(comm: &dyn Comm, other: usize, duration: Time) -> Vec<(Time, Time)> {
    let mut samples = Vec::new();
    loop {
        let begin = comm.now();
        let stop = begin >= duration;
        let (out, mut back) = ([u8::from(stop); 8], [0; 8]);
        comm.exchange(&mut [Op::send(other, 2, &out), Op::recv(other, 2, &mut back)]);
        if stop {
            return samples;
        }
        samples.push((begin, Time::from_ps(comm.now().since(begin).ps() / 2)));
    }
}

fn pong(comm: &dyn Comm, other: usize) {
    let mut word = [0; 8];
    while word[0] == 0 {
        comm.exchange(&mut [Op::recv(other, 2, &mut word)]);
        comm.exchange(&mut [Op::send(other, 2, &word)]);
    }
}
