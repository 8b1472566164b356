//! What waits for what, ready to be walked.

use super::Schedule;

/// The operations of a rank by what they wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// How many others each operation waits for.
    pub waits: Vec<u32>,
    /// Operations that wait for nothing.
    pub first: Vec<u32>,
    /// Those that wait for the begin of an operation, and for its end.
    lists: [Lists; 2],
}

/// A list for each operation, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lists {
    first: Vec<u32>,
    all: Vec<u32>,
}

impl Lists {
    fn new(operations: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Lists {
        let mut first = vec![0u32; operations + 1];
        pairs.clone().for_each(|(of, _)| first[of as usize + 1] += 1);
        (0..operations).for_each(|i| first[i + 1] += first[i]);
        let (mut next, mut all) = (first.clone(), vec![0; first[operations] as usize]);
        for (of, who) in pairs {
            all[next[of as usize] as usize] = who;
            next[of as usize] += 1;
        }
        Lists { first, all }
    }

    fn of(&self, operation: u32) -> &[u32] {
        let at = |i: usize| self.first[i] as usize;
        &self.all[at(operation as usize)..at(operation as usize + 1)]
    }
}

/// What an operation has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// It has begun.
    Begun,
    /// It has ended.
    Ended,
}

impl Graph {
    /// Of a schedule in which no operations wait for each other in a circle.
    pub fn new(schedule: &Schedule) -> Result<Graph, String> {
        let operations = schedule.operations.len();
        let pairs = |begin: bool| {
            let waits = schedule.waits.iter().filter(move |w| w.for_begin == begin);
            waits.map(|w| (w.for_whom, w.who))
        };
        let lists = [true, false].map(|begin| Lists::new(operations, pairs(begin)));
        let mut waits = vec![0; operations];
        schedule.waits.iter().for_each(|w| waits[w.who as usize] += 1);
        let first = (0..operations as u32).filter(|i| waits[*i as usize] == 0).collect();
        let graph = Graph { waits, first, lists };
        let mut left = graph.waits.clone();
        let mut ready = graph.first.clone();
        let mut done = 0;
        while let Some(operation) = ready.pop() {
            done += 1;
            for moment in [Moment::Begun, Moment::Ended] {
                graph.after(operation, moment, &mut left, &mut |next| ready.push(next));
            }
        }
        match operations - done {
            0 => Ok(graph),
            n => Err(format!("{n} operations wait for each other in a circle")),
        }
    }

    /// Tells of those that wait for nothing any more once an operation has begun or ended; `left` is what each still waits for.
    pub fn after(&self, operation: u32, moment: Moment, left: &mut [u32], ready: &mut dyn FnMut(u32)) {
        for who in self.lists[usize::from(moment == Moment::Ended)].of(operation) {
            let left = &mut left[*who as usize];
            *left -= 1;
            if *left == 0 {
                ready(*who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::parse;

    #[test]
    fn circles_are_found() {
        let graph = |text: &str| Graph::new(&parse(&format!("num_ranks 1 rank 0 {{ {text} }}")).unwrap().ranks[0]);
        let line = graph("a: calc 1 b: calc 1 c: calc 1 b requires a c irequires b").unwrap();
        assert_eq!((line.first.clone(), line.waits.clone()), (vec![0], vec![0, 1, 1]));
        let mut left = line.waits.clone();
        let mut ready = Vec::new();
        line.after(1, Moment::Ended, &mut left, &mut |next| ready.push(next));
        assert!(ready.is_empty());
        line.after(1, Moment::Begun, &mut left, &mut |next| ready.push(next));
        assert_eq!(ready, [2]);
        assert!(graph("a: calc 1 b: calc 1 a requires b b requires a").unwrap_err().contains("2 operations"));
        assert!(graph("a: calc 1 a requires a").unwrap_err().contains("circle"));
    }
}
