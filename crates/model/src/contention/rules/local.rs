//! A component with its own small numbers, for rule sets that look at all of it; and the repair of receivers that would
//! take in more than they can.

use super::super::traffic::Traffic;

/// Flows of one component, numbered from 0, with senders and receivers numbered from 0.
#[derive(Clone, Debug)]
pub struct Local {
    /// Sender of each flow.
    pub sender: Vec<usize>,
    /// Receiver of each flow.
    pub receiver: Vec<usize>,
    /// Flows of each sender.
    pub out: Vec<Vec<usize>>,
    /// Flows of each receiver.
    pub into: Vec<Vec<usize>>,
}

impl Local {
    /// Numbers the flows of a component by their place in `flows`.
    pub fn new(traffic: &Traffic, flows: &[u32]) -> Local {
        let number = |nodes: Vec<u32>| {
            let mut distinct = nodes.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let place = |n: &u32| distinct.binary_search(n).expect("collected above");
            let numbered: Vec<usize> = nodes.iter().map(place).collect();
            let mut lists = vec![Vec::new(); distinct.len()];
            numbered.iter().enumerate().for_each(|(f, &n): (usize, &usize)| lists[n].push(f));
            (numbered, lists)
        };
        let (sender, out) = number(flows.iter().map(|&f| traffic.sender(f)).collect());
        let (receiver, into) = number(flows.iter().map(|&f| traffic.receiver_of(f)).collect());
        Local { sender, receiver, out, into }
    }

    /// How many flows leave the sender of a flow.
    pub fn out_degree(&self, flow: usize) -> usize {
        self.out[self.sender[flow]].len()
    }

    /// How many flows reach the receiver of a flow.
    pub fn in_degree(&self, flow: usize) -> usize {
        self.into[self.receiver[flow]].len()
    }

    /// The load of a receiver: the sum of its flows' shares 1/rho.
    pub fn load(&self, receiver: usize, rho: &[f64]) -> f64 {
        self.into[receiver].iter().map(|&f| 1.0 / rho[f]).sum()
    }
}

/// Loads above one by less than this are rounding.
const FULL: f64 = 1.0 + 1e-9;
/// Rounds after which the repair stops; loads fall geometrically, a few dozen rounds reach rounding.
const ROUNDS: usize = 500;

/// Capacity repair: where a receiver's load exceeds one, the flows of senders with several flows are slowed by the load,
/// siblings follow the slowest, single flows are recomputed by `singles`, until no receiver is overloaded. Penalties of
/// several-flow senders only grow, so the rounds cannot go back and forth. Returns whether anything was changed.
pub fn repair(local: &Local, rho: &mut [f64], singles: &dyn Fn(&mut [f64])) -> bool {
    let mut changed = false;
    for _ in 0..ROUNDS {
        let loads: Vec<f64> = (0..local.into.len()).map(|r| local.load(r, rho)).collect();
        if loads.iter().all(|&l| l <= FULL) {
            break;
        }
        changed = true;
        for (r, &load) in loads.iter().enumerate().filter(|l| *l.1 > FULL) {
            let several = |f: &&usize| local.out_degree(**f) > 1;
            let mut any = false;
            for &f in local.into[r].iter().filter(several) {
                rho[f] *= load;
                any = true;
            }
            if !any {
                local.into[r].iter().for_each(|&f| rho[f] *= load);
            }
        }
        for flows in local.out.iter().filter(|o| o.len() > 1) {
            // All flows of one sender share one penalty.
            let slowest = flows.iter().map(|&f| rho[f]).fold(1.0, f64::max);
            flows.iter().for_each(|&f| rho[f] = slowest);
        }
        singles(rho);
    }
    changed
}
