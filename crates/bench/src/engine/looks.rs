//! When data that arrived are looked at, and how closely.
//!
//! A look is never timed. Where the data of all steps of a block have memory of their own, there is one look after the block. Otherwise
//! there is one between steps, and it takes time in which the network rests. All looks together may take a small share of the time: if
//! everything can be looked at in that, it is; if not, a random choice of steps is, and of the others both ends and random lines. The last
//! steps of a block go first: nothing follows them that could be disturbed.
//!
//! On a simulated machine a look takes no time, but moving and comparing data takes the host's, more than the network itself. So only a
//! random choice of steps carries data there, and the others lengths, which changes no time that is measured.
//!
//! The choice is a function of numbers that all ranks share. They look after the same steps, so none waits long for another.

use super::recorder::{PIECE, Recorder};
use crate::kernel::{Arithmetic, Pattern, make_steps};
use comm::Comm;
use record::{Coverage, Payload, Verdict};
use spec::Rng;

/// Share of the time that whole looks may take.
// Chosen: with caches and neighbours that they disturb, and with glances, less than a tenth of the samples is lost. Ranks do not look for
// equally long, so looks of 3 % took 5 to 10 % of an all-to-all's samples.
const BUDGET: f64 = 0.02;
/// Where the data of several steps have memory of their own, so many groups of steps pass for each glance.
// Chosen: a group is of 32 KiB, so a glance follows a quarter of a MiB. After each group glances alone took 2 % of an all-to-all's samples
// with a core for each rank, and more without.
const GROUPS: u64 = 8;
/// Where so many steps fit into the memory that is kept apart, messages are of a few bytes, and all of them are always looked at.
const SMALL: u32 = 256;
/// Share of the steps of a load that are looked at whole: nobody agrees on what a look of a load takes.
const OF_LOAD: f64 = 1.0 / 20.0;
/// Share of the steps of a simulated machine that carry data.
// Chosen: two placements of the default machine took 13 s of processor time with data in all steps, 6 to 8 with these, 6 to 7 with none.
const CARRIED: f64 = 1.0 / 20.0;

/// The looks of one rank at a job.
pub(super) struct Looks {
    /// Share of looks within a block that are at everything, and of those at its end.
    share: f64,
    at_end: f64,
    /// Seconds of a whole look, as agreed.
    usual: Option<f64>,
    /// Looks so far; as many on every rank.
    count: u64,
    /// Groups of steps that nobody looks at until the next glance.
    resting: u64,
    /// Whether there are data.
    begun: bool,
    verdict: Option<Verdict>,
    /// Seconds of whole looks in the present block, and their number.
    spent: (f64, u32),
    /// Nobody looks.
    blind: bool,
    /// Not all steps carry data.
    sparing: bool,
    /// How often it was asked which do; as often on every rank.
    turns: u64,
}

impl Looks {
    /// Of a measured job: nothing within a block until it is known what that costs.
    pub fn measured(payload: Payload, arithmetic: Arithmetic) -> Looks {
        let sparing = payload == Payload::Checked && arithmetic == Arithmetic::Charged;
        Looks {
            // Simulated looks cost nothing that would have to be found out.
            share: if sparing { 1.0 } else { 0.0 },
            at_end: 1.0,
            usual: None,
            count: 0,
            resting: 0,
            begun: false,
            verdict: None,
            spent: (0.0, 0),
            blind: payload == Payload::Unchecked,
            sparing,
            turns: 0,
        }
    }

    /// Of a background job.
    pub fn load(payload: Payload, arithmetic: Arithmetic) -> Looks {
        Looks { share: OF_LOAD, ..Looks::measured(payload, arithmetic) }
    }

    /// One block: untimed steps, then timed ones if there is a recorder; its value, if this rank measured any.
    pub fn block(
        &mut self,
        comm: &dyn Comm,
        pattern: &mut dyn Pattern,
        (warmup, steps): (u32, u32),
        end: End,
        mut recorder: Option<&mut Recorder>,
    ) -> Option<f64> {
        self.spent = (0.0, 0);
        let holds = pattern.holds().max(1);
        let within = holds < u32::MAX;
        let (mut untimed, mut left) = (warmup, warmup + steps);
        while left > 0 {
            let group = left.min(holds);
            let last = end == End::Whole && group == left;
            let small = within && holds >= SMALL;
            let whole =
                !self.blind && (small || (last || within) && self.chosen(if last { self.at_end } else { self.share }));
            let first = if end == End::Whole { left == warmup + steps } else { !self.begun };
            let carries = small || !within || self.carries(whole, self.share);
            if self.sparing {
                pattern.spare(!carries);
            }
            if whole && carries || first {
                // The blocks of a load are of any length, and not all of them have fresh data.
                let room = if end == End::Open && !small { holds } else { group };
                self.timed(comm, whole, || pattern.renew(room));
                self.begun = true;
            }
            left -= group;
            let mut here = group;
            while here > 0 {
                let mut piece = here.min(PIECE);
                if self.sparing && !within {
                    // One look follows them all, so each step is asked for itself.
                    pattern.spare(!self.carries(true, 1.0));
                    piece = 1;
                }
                here -= piece;
                let warm = piece.min(untimed);
                untimed -= warm;
                make_steps(comm, pattern, warm, |_| ());
                if let Some(recorder) = recorder.as_deref_mut() {
                    recorder.piece(comm, pattern, piece - warm);
                }
            }
            // What is not looked at within a block is not within a load, either.
            let due = !within || whole || last || holds == 1 || self.glances();
            if due && (within || end == End::Whole) {
                self.look(comm, pattern, whole);
            }
        }
        recorder?.end(steps)
    }

    /// Whether nobody looks at the steps of a load any more, because they carry nothing: its blocks are its steps and nothing else.
    pub fn rest(&self, pattern: &dyn Pattern) -> bool {
        !self.sparing && self.begun && pattern.holds() == u32::MAX
    }

    /// What is left to be looked at when a load is over.
    pub fn finish(&mut self, comm: &dyn Comm, pattern: &mut dyn Pattern) {
        if pattern.holds() == u32::MAX {
            self.look(comm, pattern, true);
        }
    }

    /// Whether the next steps carry data, which are looked at whole or not, and that in a share of all cases.
    fn carries(&mut self, whole: bool, share: f64) -> bool {
        if !self.sparing {
            return true;
        }
        self.turns += 1;
        // The first always do, so that no job ends without a look at data.
        self.turns == 1 || whole && Rng::new(0, "carry", self.turns).unit() * share.max(CARRIED) < CARRIED
    }

    /// Whether a group of several steps gets a glance.
    fn glances(&mut self) -> bool {
        self.resting = self.resting.checked_sub(1).unwrap_or(GROUPS - 1);
        // Simulated looks take no time.
        self.resting == 0 || self.sparing
    }

    fn chosen(&self, share: f64) -> bool {
        // Most shares are 1 or 0, which need no random number.
        share >= 1.0 || (share > 0.0 && Rng::new(0, "look", self.count).unit() < share)
    }

    fn look(&mut self, comm: &dyn Comm, pattern: &mut dyn Pattern, whole: bool) {
        if self.blind {
            return;
        }
        self.count += 1;
        let random = self.count.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_right(29);
        let mut seen = None;
        self.timed(comm, whole, || seen = Some(if whole { pattern.verify() } else { pattern.glance(random) }));
        self.spent.1 += u32::from(whole);
        self.verdict = match (self.verdict.take(), seen) {
            (Some(earlier), Some(seen)) => Some(earlier.and(seen)),
            (earlier, seen) => earlier.or(seen),
        };
    }

    fn timed(&mut self, comm: &dyn Comm, counts: bool, work: impl FnOnce()) {
        let begin = comm.now();
        work();
        if counts {
            self.spent.0 += comm.now().since(begin).secs();
        }
    }

    /// Seconds that a whole look of the last block took on this rank.
    pub fn cost(&self) -> f64 {
        self.spent.0 / f64::from(self.spent.1.max(1))
    }

    /// After a block of so many steps in `seconds`, in which a whole look took `cost` on the slowest rank. Both are agreed.
    pub fn plan(&mut self, steps: u32, holds: u32, seconds: f64, cost: f64) {
        // What a look costs is known again after the next one.
        if self.spent.1 == 0 {
            return;
        }
        let looks = f64::from(steps.div_ceil(holds));
        let without = (seconds - cost * f64::from(self.spent.1)).max(0.0);
        // One look that was held up must not put off the next ones for long.
        let usual = self.usual.map_or(cost, |usual| (usual + cost.min(2.0 * usual)) / 2.0);
        self.usual = Some(usual);
        let fit = BUDGET * without / usual.max(f64::MIN_POSITIVE);
        self.at_end = fit.clamp(0.0, 1.0);
        self.share = ((fit - 1.0) / (looks - 1.0).max(1.0)).clamp(0.0, 1.0);
    }

    /// How much was looked at.
    pub fn coverage(&self, pattern: &dyn Pattern) -> Option<Coverage> {
        pattern.coverage().filter(|_| !self.blind)
    }

    /// What was found.
    pub fn verdict(self) -> Option<Verdict> {
        let unseen = || Verdict::Unchecked { reason: "nobody looked at the data (--payload)".into() };
        if self.blind { Some(unseen()) } else { self.verdict }
    }
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum End {
    /// Its last steps are looked at whole.
    Whole,
    /// As any other steps of a load that goes on.
    Open,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_take_a_small_share_of_the_time() {
        let mut looks = Looks::measured(Payload::Checked, Arithmetic::Real);
        looks.spent.1 = 1;
        // Nine steps of 1 ms; a look takes 1 us, 50 us, 150 us, 900 us.
        for (cost, share, at_end) in [(1e-6, 1.0, 1.0), (50e-6, 0.325, 1.0), (150e-6, 0.025, 1.0), (900e-6, 0.0, 0.2)] {
            looks.usual = None;
            looks.plan(9, 1, 9e-3 + cost, cost);
            let Looks { share: found, at_end: last, .. } = looks;
            assert!((found - share).abs() < 1e-3 && (last - at_end).abs() < 1e-3, "{cost}: {found} {last}");
            assert!(cost * (last + 8.0 * found) <= 1.001 * BUDGET * 9e-3);
        }
        // A look that was held up counts twice what looks usually take.
        looks.usual = Some(50e-6);
        looks.plan(9, 1, 9e-3, 5e-3);
        assert!(looks.usual.is_some_and(|usual| (usual - 75e-6).abs() < 1e-9));
        // On a simulated machine a look takes no time.
        looks.usual = None;
        looks.plan(9, 1, 9e-3, 0.0);
        assert_eq!((looks.share, looks.at_end), (1.0, 1.0));
    }

    #[test]
    fn one_group_in_eight_gets_a_glance() {
        let mut looks = Looks::measured(Payload::Checked, Arithmetic::Real);
        let seen: Vec<bool> = (0..3 * GROUPS).map(|_| looks.glances()).collect();
        assert_eq!(seen.iter().filter(|s| **s).count(), 3);
        assert!(seen.chunks(GROUPS as usize).all(|turn| turn.contains(&true)));
    }

    #[test]
    fn one_step_in_twenty_of_a_simulated_machine_carries_data() {
        type Whole = fn(u64) -> bool;
        let of = |mut looks: Looks, whole: Whole, share| {
            (0..20_000).filter(|&turn| looks.carries(whole(turn), share)).count()
        };
        let (all, some): (Whole, Whole) = (|_| true, |turn| turn % 20 == 7);
        let looks = || Looks::measured(Payload::Checked, Arithmetic::Charged);
        for (whole, share) in [(all, 1.0), (some, OF_LOAD)] {
            let carried = of(looks(), whole, share);
            assert!((900..1100).contains(&carried), "{carried} with a share of {share}");
        }
        assert_eq!(of(looks(), |_| false, 1.0), 1, "the first step");
        assert_eq!(of(Looks::measured(Payload::Checked, Arithmetic::Real), all, 1.0), 20_000);
    }
}
