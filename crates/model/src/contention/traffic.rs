//! The flows that are under way, arranged so that a change touches only what it can reach.

/// How far a change of one flow can reach in a rule set's penalties. Said by the rule set, used by the solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Senders into the changed receiver.
    Receiver,
    /// Also senders that meet the changed sender at any of its receivers.
    Siblings,
    /// Also single flows that meet one of those senders and nobody else.
    Nested,
    /// Everything connected, directly or not.
    Component,
}

/// What the rules ask of a receiver again and again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Receiver {
    /// Sum over its flows of 1/out(sender).
    pub weight: f64,
    /// Smallest out-degree among its senders.
    pub least_out: usize,
    /// Largest out-degree among its senders.
    pub most_out: usize,
}

/// Active flows by sender and by receiver. Node numbers are those of the graph; a node's two roles are separate.
#[derive(Clone, Debug)]
pub struct Traffic {
    ends: Vec<(u32, u32)>,
    /// Flows of each sender, ordered by (receiver, flow): parallel flows are neighbours.
    out: Vec<Vec<u32>>,
    /// Flows of each receiver, ordered by (sender, flow).
    into: Vec<Vec<u32>>,
    receivers: Vec<Receiver>,
    /// Ends of flows that changed since the last [`Traffic::settle`].
    changed: Vec<(u32, u32)>,
    marks: Vec<u32>,
    round: u32,
}

impl Traffic {
    /// No flow is active yet. Edges are (sender, receiver) below `nodes`.
    pub fn new(nodes: usize, edges: &[(usize, usize)]) -> Traffic {
        Traffic {
            ends: edges.iter().map(|&(s, d)| (s as u32, d as u32)).collect(),
            out: vec![Vec::new(); nodes],
            into: vec![Vec::new(); nodes],
            receivers: vec![Receiver::default(); nodes],
            changed: Vec::new(),
            marks: vec![0; nodes],
            round: 0,
        }
    }

    /// All of these flows at once, settled.
    pub fn of(nodes: usize, edges: &[(usize, usize)]) -> Traffic {
        let mut traffic = Traffic::new(nodes, edges);
        (0..edges.len()).for_each(|f| traffic.start(f));
        traffic.settle();
        traffic
    }

    /// A flow begins. Call [`Traffic::settle`] before asking anything.
    pub fn start(&mut self, flow: usize) {
        let (s, d) = self.ends[flow];
        let ends = &self.ends;
        insert(&mut self.out[s as usize], flow as u32, |f| (ends[f as usize].1, f));
        insert(&mut self.into[d as usize], flow as u32, |f| (ends[f as usize].0, f));
        self.changed.push((s, d));
    }

    /// A flow has ended. Call [`Traffic::settle`] before asking anything.
    pub fn end(&mut self, flow: usize) {
        let (s, d) = self.ends[flow];
        let ends = &self.ends;
        remove(&mut self.out[s as usize], flow as u32, |f| (ends[f as usize].1, f));
        remove(&mut self.into[d as usize], flow as u32, |f| (ends[f as usize].0, f));
        self.changed.push((s, d));
    }

    /// Brings the receivers up to date after changes; returns the changed (sender, receiver) ends for [`Traffic::affected`].
    pub fn settle(&mut self) -> Vec<(u32, u32)> {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        let round = self.next_round();
        for &(s, d) in &changed {
            self.refresh(d as usize, round);
            // Marks are of receivers here: a sender's new out-degree matters at all of its receivers.
            for i in 0..self.out[s as usize].len() {
                let receiver = self.ends[self.out[s as usize][i] as usize].1;
                self.refresh(receiver as usize, round);
            }
        }
        changed
    }

    fn refresh(&mut self, receiver: usize, round: u32) {
        if self.marks[receiver] == round {
            return;
        }
        self.marks[receiver] = round;
        let mut r = Receiver { weight: 0.0, least_out: usize::MAX, most_out: 0 };
        for &f in &self.into[receiver] {
            let out = self.out[self.ends[f as usize].0 as usize].len();
            r.weight += 1.0 / out as f64;
            r.least_out = r.least_out.min(out);
            r.most_out = r.most_out.max(out);
        }
        self.receivers[receiver] = r;
    }

    fn next_round(&mut self) -> u32 {
        // After 2^32 rounds an old mark would pass for a new one.
        if self.round == u32::MAX {
            self.marks.fill(0);
            self.round = 0;
        }
        self.round += 1;
        self.round
    }

    /// The sender of a flow.
    pub fn sender(&self, flow: u32) -> u32 {
        self.ends[flow as usize].0
    }
    /// The receiver of a flow.
    pub fn receiver_of(&self, flow: u32) -> u32 {
        self.ends[flow as usize].1
    }
    /// Active flows of a sender, parallel ones together.
    pub fn flows_from(&self, sender: u32) -> &[u32] {
        &self.out[sender as usize]
    }
    /// Active flows into a receiver, those of one sender together.
    pub fn flows_into(&self, receiver: u32) -> &[u32] {
        &self.into[receiver as usize]
    }
    /// The summary of a receiver.
    pub fn receiver(&self, receiver: u32) -> Receiver {
        self.receivers[receiver as usize]
    }
    /// How many flows a sender has.
    pub fn out_degree(&self, sender: u32) -> usize {
        self.out[sender as usize].len()
    }
    /// How many flows a receiver has.
    pub fn in_degree(&self, receiver: u32) -> usize {
        self.into[receiver as usize].len()
    }

    /// The senders with active flows whose penalties may differ after these changes, each once, in a fixed order.
    pub fn affected(&mut self, changed: &[(u32, u32)], reach: Reach) -> Vec<u32> {
        let round = self.next_round();
        let mut found = Vec::new();
        for &(s, d) in changed {
            self.add(s, round, &mut found);
            self.add_senders_into(d, round, &mut found);
            if reach != Reach::Receiver {
                self.add_rivals(s, round, &mut found, |_| true);
            }
        }
        match reach {
            Reach::Receiver | Reach::Siblings => {}
            Reach::Nested => {
                for i in 0..found.len() {
                    if self.out_degree(found[i]) > 1 {
                        // Only a flow with exactly one competitor depends on that competitor's penalty (rule R3).
                        self.add_rivals(found[i], round, &mut found, |flows| flows == 2);
                    }
                }
            }
            Reach::Component => {
                let mut i = 0;
                while i < found.len() {
                    self.add_rivals(found[i], round, &mut found, |_| true);
                    i += 1;
                }
            }
        }
        found
    }

    fn add(&mut self, sender: u32, round: u32, found: &mut Vec<u32>) {
        if self.marks[sender as usize] != round && !self.out[sender as usize].is_empty() {
            self.marks[sender as usize] = round;
            found.push(sender);
        }
    }

    fn add_senders_into(&mut self, receiver: u32, round: u32, found: &mut Vec<u32>) {
        for i in 0..self.into[receiver as usize].len() {
            let sender = self.ends[self.into[receiver as usize][i] as usize].0;
            self.add(sender, round, found);
        }
    }

    /// Adds the senders that meet `sender` at those of its receivers whose in-degree passes.
    fn add_rivals(&mut self, sender: u32, round: u32, found: &mut Vec<u32>, pass: fn(usize) -> bool) {
        let mut last = u32::MAX;
        for i in 0..self.out[sender as usize].len() {
            let receiver = self.ends[self.out[sender as usize][i] as usize].1;
            // Flows are ordered by receiver, so each receiver is looked at once.
            if receiver != last && pass(self.into[receiver as usize].len()) {
                self.add_senders_into(receiver, round, found);
            }
            last = receiver;
        }
    }

    /// The active flows connected with a sender, through receivers and senders, in increasing order.
    pub fn component(&mut self, sender: u32) -> Vec<u32> {
        let senders = self.affected(&[(sender, self.receiver_of(self.out[sender as usize][0]))], Reach::Component);
        let mut flows: Vec<u32> = senders.iter().flat_map(|&s| self.out[s as usize].iter().copied()).collect();
        flows.sort_unstable();
        flows
    }
}

fn insert(list: &mut Vec<u32>, flow: u32, key: impl Fn(u32) -> (u32, u32)) {
    let place = list.partition_point(|&f| key(f) < key(flow));
    list.insert(place, flow);
}

fn remove(list: &mut Vec<u32>, flow: u32, key: impl Fn(u32) -> (u32, u32)) {
    let place = list.partition_point(|&f| key(f) < key(flow));
    assert_eq!(list.get(place), Some(&flow), "a flow ends only once and only after it began");
    list.remove(place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_reach_as_far_as_said() {
        // 0 -> 10, 0 -> 11, 1 -> 11, 1 -> 12, 2 -> 12 and, apart, 3 -> 13.
        let mut t = Traffic::of(14, &[(0, 10), (0, 11), (1, 11), (1, 12), (2, 12), (3, 13)]);
        t.end(0);
        let changed = t.settle();
        assert_eq!(t.affected(&changed, Reach::Receiver), [0]);
        assert_eq!(t.affected(&changed, Reach::Siblings), [0, 1]);
        assert_eq!(t.affected(&changed, Reach::Nested), [0, 1, 2]);
        assert_eq!(t.affected(&changed, Reach::Component), [0, 1, 2]);
        assert_eq!(t.component(2), [1, 2, 3, 4]);
        assert_eq!(t.receiver(11), Receiver { weight: 1.5, least_out: 1, most_out: 2 });
    }
}
