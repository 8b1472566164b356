//! What a large machine costs, from smaller ones: even the smallest part of its run, a step of every phase, may take longer than anybody
//! waits for an answer. So the same machine is looked at with ever more of its nodes, for as long as that takes little time, and what it
//! takes is extended as a power of their number: phase by phase, because a time limit ends some phases of the large machine and not of the
//! small one. What is done in a moment, and how long a step takes, follow their number; how many steps that leaves follows from the limit.

use super::{Cost, PhaseCost};
use record::Stop;
use sim::Config;

/// Machines of at most so many ranks are looked at as they are.
const AS_IT_IS: usize = 2_000;
/// The smallest machine that says something of a larger one: enough nodes for an incast of some senders.
const LEAST_NODES: usize = 16;
const LEAST_RANKS: usize = 128;
/// How many times as many nodes each machine has as the one before.
const STEP: usize = 2;
/// After so many machines, and so many seconds for the last, the next is not looked at: it would take twice as long.
pub const ENOUGH_SIZES: usize = 3;
pub const LONG: f64 = 10.0;
/// A machine is compared with one of so many times fewer nodes, if there is one: with neighbours in size chance would decide.
const APART: usize = 4;
/// Powers of the number of nodes. A step takes longer on more of them, under an incast in proportion.
const OF_STEPS: Range = (0.0, 1.5);
/// What is done in a moment grows with the nodes that do it, and a little more where ways get longer.
const OF_RATES: Range = (0.0, 1.1);
/// The processor time of a message grows, because ever less of a machine is in a cache: from 192 ranks to 100,000 with powers from 0.1 to
/// 0.3, of which small machines, which are in a cache as a whole, do not show much.
const OF_TIMES: Range = (0.15, 0.5);
/// The start of a machine, rank by rank.
const OF_STARTS: Range = (0.0, 1.0);

type Range = (f64, f64);

/// Numbers of nodes to look at, up to all of the machine.
pub fn sizes(config: &Config) -> Vec<usize> {
    let (nodes, ranks) = (config.nodes, config.ranks_per_node);
    if config.ranks() <= AS_IT_IS {
        return vec![nodes];
    }
    let least = LEAST_NODES.max(LEAST_RANKS.div_ceil(ranks)).min(nodes);
    let mut sizes: Vec<usize> =
        std::iter::successors(Some(nodes), |n| Some(n / STEP)).take_while(|&n| n >= least).collect();
    sizes.reverse();
    sizes
}

/// A quantity on so many nodes, by what it is on fewer, from few to many.
fn extend(known: &[(usize, f64)], nodes: usize, powers: Range) -> f64 {
    let &[.., (most, last)] = known else { return 0.0 };
    let smaller = known.iter().rev().find(|k| k.0 * APART <= most).or(known.first()).filter(|k| k.0 < most);
    // Of a single size nothing is known but that more nodes do more.
    let power = smaller.map_or(1.0, |&(few, first)| (last / first).ln() / (most as f64 / few as f64).ln());
    let power = if power.is_finite() { power } else { 1.0 };
    last * (nodes as f64 / most as f64).powf(power.clamp(powers.0, powers.1))
}

/// The same of what is there once and what each node adds.
fn line(known: &[(usize, f64)], nodes: usize) -> f64 {
    let (Some(&(few, first)), Some(&(most, last))) = (known.first(), known.last()) else { return 0.0 };
    let each = if most > few { (last - first) / (most - few) as f64 } else { last / most as f64 };
    last + each * (nodes - most) as f64
}

impl Cost {
    /// With phases that stop so on so many nodes, by what the same phases take on fewer.
    pub(super) fn extended(self, stops: &[Option<&Stop>], known: &[(usize, Cost)], nodes: usize) -> Cost {
        let points = |powers: Range, of: &dyn Fn(&Cost) -> f64| -> f64 {
            let points: Vec<_> = known.iter().map(|(nodes, cost)| (*nodes, of(cost))).collect();
            extend(&points, nodes, powers)
        };
        let last = &known.last().expect("some size was looked at").1;
        let phases = stops.iter().enumerate().map(|(p, stop)| {
            let of = |powers, of: fn(&PhaseCost) -> f64| points(powers, &|cost| cost.phases.get(p).map_or(0.0, of));
            let (step_s, mut virtual_s) = (of(OF_STEPS, |p| p.step_s), of(OF_STEPS, |p| p.virtual_s));
            let mut steps_s = 0.0;
            if let Some(stop) = stop.filter(|_| step_s > 0.0) {
                steps_s = bench::steps_taken(stop, step_s) * step_s;
                // What a phase takes beside its steps is taken for a share of it.
                virtual_s = steps_s * last.phases[p].virtual_s / last.phases[p].steps_s;
            }
            let messages = virtual_s * of(OF_RATES, |p| p.messages / p.virtual_s);
            PhaseCost {
                messages,
                packet_hops: virtual_s * of(OF_RATES, |p| p.packet_hops / p.virtual_s),
                virtual_s,
                cpu_s: messages * of(OF_TIMES, |p| p.cpu_s / p.messages.max(1.0)),
                step_s,
                steps_s,
            }
        });
        let memory: Vec<_> =
            known.iter().map(|(nodes, cost)| (*nodes, cost.memory as f64 / cost.at_once as f64)).collect();
        let memory = line(&memory, nodes) * self.at_once as f64;
        Cost {
            phases: phases.collect(),
            start_s: points(OF_STARTS, &|c| c.start_s),
            memory: (memory as u64).max(super::peak_memory()),
            left_out: last.left_out.clone(),
            looked_at: known.iter().map(|k| k.0).collect(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes_of(nodes: usize, ranks_per_node: usize) -> Vec<usize> {
        sizes(&Config { nodes, ranks_per_node, ..Config::default() })
    }

    #[test]
    fn sizes_grow_to_the_whole_machine() {
        assert_eq!(sizes_of(100, 20), [100], "2,000 ranks are looked at as they are");
        assert_eq!(sizes_of(485, 20), [30, 60, 121, 242, 485]);
        assert_eq!(sizes_of(4_096, 1), [128, 256, 512, 1_024, 2_048, 4_096], "an incast needs some ranks");
        assert_eq!(sizes_of(10, 1_000), [10], "there is none that is smaller");
    }

    /// A canary whose steps take a microsecond a node, and a load alone. 100 steps end in time on 40 nodes and not on 400.
    #[test]
    fn a_limit_ends_phases_of_large_machines() {
        let stop = Stop {
            warmup: 0,
            steps: 10,
            arrangements: 1,
            blocks: 10,
            min_blocks: 1,
            time_s: Some(8e-3),
            precision: None,
            pulse: None,
        };
        let cost = |nodes: usize| {
            let (n, steps_s) = (nodes as f64, nodes as f64 * 1e-4);
            let canary = PhaseCost {
                messages: n * n,
                packet_hops: n * n,
                virtual_s: steps_s,
                cpu_s: n * n,
                step_s: n * 1e-6,
                steps_s,
            };
            let load = PhaseCost { messages: n, packet_hops: n, virtual_s: 1.0, cpu_s: n, step_s: 0.0, steps_s: 0.0 };
            let memory = 1 << 40 | (nodes as u64) << 20;
            (nodes, Cost { at_once: 1, phases: vec![canary, load], memory, ..Cost::default() })
        };
        let whole = Cost { simulations: 6, at_once: 2, placements: 3.0, ..Cost::default() };
        let cost = whole.extended(&[Some(&stop), None], &[cost(10), cost(20), cost(40)], 400);
        let [canary, load] = cost.phases[..] else { panic!("{cost:?}") };
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-6, "{a} and not {b}: {cost:?}");
        close(canary.step_s, 400e-6);
        // The step before the first block, and two blocks of ten: the second began before the limit.
        close(canary.steps_s, 21.0 * 400e-6);
        close(canary.messages, 400.0 * 1e4 * canary.virtual_s);
        close(load.messages, 400.0);
        close(load.cpu_s / load.messages, 10f64.powf(OF_TIMES.0));
        close(cost.memory as f64, 2.0 * ((1u64 << 40) + (400 << 20)) as f64);
        assert_eq!((cost.simulations, cost.at_once, &cost.looked_at[..]), (6, 2, &[10, 20, 40][..]));
    }

    #[test]
    fn quantities_are_extended_as_powers() {
        let any = (-9.0, 9.0);
        let even = [(10, 1.0), (20, 2.0), (40, 4.0)];
        assert!((extend(&even, 400, any) - 40.0).abs() < 1e-9);
        // The neighbour in size would say the third power.
        let rough = [(10, 1.0), (20, 0.5), (40, 4.0)];
        assert!((extend(&rough, 80, any) - 8.0).abs() < 1e-9);
        assert_eq!(extend(&[(10, 3.0)], 40, any), 12.0, "one size: in proportion");
        let two = [(10, 1.0), (20, 8.0)];
        assert_eq!((extend(&two, 40, (0.0, 1.0)), extend(&two, 40, (4.0, 5.0))), (16.0, 128.0), "within bounds");
        assert_eq!((extend(&[(10, 0.0), (20, 0.0)], 40, any), extend(&[], 40, any)), (0.0, 0.0));
        assert_eq!((line(&[(10, 7.0), (20, 8.0)], 40), line(&[(10, 7.0)], 40), line(&[], 40)), (10.0, 28.0, 0.0));
    }
}
