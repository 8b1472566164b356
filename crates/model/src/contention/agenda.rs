//! Who ends next: an indexed binary heap of senders by time, in which an entry can be moved.

const ABSENT: u32 = u32::MAX;

/// Senders by the time of their next end.
#[derive(Clone, Debug)]
pub struct Agenda {
    heap: Vec<(f64, u32)>,
    places: Vec<u32>,
}

impl Agenda {
    /// Empty, for senders below `senders`.
    pub fn new(senders: usize) -> Agenda {
        Agenda { heap: Vec::new(), places: vec![ABSENT; senders] }
    }

    /// The earliest (time, sender); equal times by sender number.
    pub fn first(&self) -> Option<(f64, u32)> {
        self.heap.first().copied()
    }

    /// Sets a sender's time, new or not.
    pub fn set(&mut self, sender: u32, time: f64) {
        let place = match self.places[sender as usize] {
            ABSENT => {
                self.heap.push((time, sender));
                self.heap.len() - 1
            }
            place => {
                self.heap[place as usize].0 = time;
                place as usize
            }
        };
        self.places[sender as usize] = place as u32;
        let place = self.up(place);
        self.down(place);
    }

    /// Takes a sender out; nothing happens if it is not in.
    pub fn remove(&mut self, sender: u32) {
        let place = self.places[sender as usize];
        if place == ABSENT {
            return;
        }
        self.places[sender as usize] = ABSENT;
        let last = self.heap.pop().expect("a sender with a place is in the heap");
        if (place as usize) < self.heap.len() {
            self.heap[place as usize] = last;
            self.places[last.1 as usize] = place;
            let place = self.up(place as usize);
            self.down(place);
        }
    }

    fn less(&self, a: usize, b: usize) -> bool {
        // Equal times are ordered by sender, so that the same graph is always solved in the same order.
        let (x, y) = (self.heap[a], self.heap[b]);
        x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)).is_lt()
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[self.heap[a].1 as usize] = a as u32;
        self.places[self.heap[b].1 as usize] = b as u32;
    }

    fn up(&mut self, mut at: usize) -> usize {
        while at > 0 && self.less(at, (at - 1) / 2) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        at
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let child = [2 * at + 1, 2 * at + 2]
                .into_iter()
                .filter(|&c| c < self.heap.len())
                .reduce(|a, b| if self.less(b, a) { b } else { a });
            match child {
                Some(c) if self.less(c, at) => self.swap(at, c),
                _ => return,
            }
            at = child.unwrap_or(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::Rng;

    #[test]
    fn agrees_with_a_sorted_list() {
        let mut rng = Rng::new(3, "agenda", 0);
        let mut agenda = Agenda::new(50);
        let mut naive: Vec<Option<f64>> = vec![None; 50];
        for _ in 0..5000 {
            let sender = rng.below(50) as u32;
            if rng.below(3) == 0 {
                agenda.remove(sender);
                naive[sender as usize] = None;
            } else {
                let time = rng.below(100) as f64;
                agenda.set(sender, time);
                naive[sender as usize] = Some(time);
            }
            let listed = naive.iter().enumerate().filter_map(|(i, t)| t.map(|t| (t, i as u32)));
            let expected = listed.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            assert_eq!(agenda.first(), expected);
        }
    }
}
