//! Whether the buffers of a plan fit the memory, told before any of them is made. What kernels say they need is a lower bound, so what is
//! refused cannot run.

use super::SuiteError;
use crate::kernel::{Kernel, Room};
use crate::site::Site;
use record::{Instances, Job, Members, Payload, Phase, Plan};
use spec::{Params, about_bytes};

/// Adds up what a phase needs, against what there is.
pub struct Memory<'s> {
    site: &'s Site,
    /// What there is; nothing is checked where it is not known, or not needed.
    have: Option<u64>,
    /// What the jobs of the phase take so far.
    taken: u64,
}

impl<'s> Memory<'s> {
    /// At a phase's beginning.
    pub fn new(plan: &Plan, site: &'s Site) -> Memory<'s> {
        // A simulated machine moves lengths without data.
        let nothing = site.simulated && plan.payload == Payload::Lengths;
        Memory { site, have: site.room.filter(|_| !nothing), taken: 0 }
    }

    /// One more job of the phase, with all its parameters. On a simulated machine all jobs are in one memory; on a real one each is looked
    /// at by itself, because they may be on different nodes.
    pub fn take(&mut self, phase: &Phase, job: &Job, kernel: &Kernel, params: &Params) -> Result<(), SuiteError> {
        let Some(have) = self.have else { return Ok(()) };
        let need = need(job, kernel, params, self.site);
        self.taken = if self.site.simulated { self.taken.saturating_add(need) } else { need };
        if self.taken <= have {
            return Ok(());
        }
        let place = if self.site.simulated { "this process, which simulates all ranks," } else { "a node" };
        let sizes = params.iter().filter(|(name, _)| SIZES.contains(&name.as_str()));
        let sizes: Vec<String> = sizes.map(|(name, value)| format!("{name}={value}")).collect();
        Err(SuiteError::Senseless(format!(
            "phase `{}`, job `{}` ({} {}): buffers take at least {}, but {place} may use {}; choose smaller or fewer messages, \
             or fewer ranks",
            phase.name,
            job.name,
            job.kernel,
            sizes.join(" "),
            about_bytes(self.taken),
            about_bytes(have),
        )))
    }
}

/// The parameters that a reader may want to make smaller.
const SIZES: [&str; 7] = ["size", "window", "messages", "n", "bits", "first", "most"];

/// What a job's buffers take: on the node that has most of them, or on a simulated machine in all.
fn need(job: &Job, kernel: &Kernel, params: &Params, site: &Site) -> u64 {
    let (nodes, slots) = extent(&job.members, site);
    let all = nodes.saturating_mul(slots);
    let ranks = match job.instances {
        Instances::Slot => nodes,
        Instances::Job => all,
        Instances::Rank => 1,
    };
    let Room { first, others } = (kernel.traits.room)(params, ranks);
    if site.simulated {
        let communicator = first.saturating_add(others.saturating_mul(ranks.saturating_sub(1)));
        return communicator.saturating_mul(all / ranks.max(1));
    }
    match job.instances {
        // The first ranks of all communicators are on one node.
        Instances::Slot | Instances::Rank => first.saturating_mul(slots),
        Instances::Job => first.saturating_add(others.saturating_mul(slots.saturating_sub(1))),
    }
}

/// Nodes of the members, and how many each has at least; a list's are counted as if each were on a node of its own.
fn extent(members: &Members, site: &Site) -> (u64, u64) {
    match members {
        Members::Block { nodes, slots, .. } => {
            (u64::from(*nodes), u64::from(slots.unwrap_or(site.layout.min_ranks_per_node)).max(1))
        }
        Members::Places(places) => (places.len() as u64, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::{check, suite};
    use record::Layout;

    /// What is said of a list of canaries on four nodes of two ranks with so much memory.
    fn said(room: u64, simulated: bool, payload: Payload, canaries: &str) -> Result<(), String> {
        let site = Site { room: Some(room), ..Site::new(Layout::even(4, 2), simulated) };
        let given = Params::from([("canaries".to_string(), canaries.to_string())]);
        let made = suite("ambient").unwrap().plan_on(&given, &site, 1, payload);
        made.map(|plan| check(&plan, &site).unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn buffers_are_compared_with_the_memory() {
        const MIB: u64 = 1 << 20;
        // Canary, what its ranks on one node take, and what all eight take: in MiB.
        let cases = [
            ("p2p-lat:1M", 2, 8),
            ("p2p-bw:1M:window=16", 32, 128),
            ("alltoall:1M", 16, 64),
            ("a2a:1M", 4, 16),
            ("p2p-incast:1M", 6, 12),
            ("put-incast:1M", 6, 12),
            ("pair-queue:1M:messages=100", 200, 206),
            ("eager-limit:most=64M", 128, 512),
        ];
        for (text, node, all) in cases {
            for (simulated, need) in [(false, node), (true, all)] {
                let of = |room| said(room, simulated, Payload::Checked, text);
                assert_eq!(of(need * MIB), Ok(()), "{text} simulated={simulated}");
                let refused = of(need * MIB - 1).unwrap_err();
                assert!(refused.contains("buffers take at least") && refused.contains("may use"), "{refused}");
            }
            assert_eq!(said(1, true, Payload::Lengths, text), Ok(()), "{text}: lengths take no memory");
        }
    }
}
