//! A film of the network: what each bundle of cables sent and how long it stalled, in slices of virtual time while a phase lasts.
//!
//! Every part keeps a reel of its own outputs. All reels are cut at the same moments, which follow from virtual time alone, when all
//! that comes before has happened and nothing else, so the film is the same however many parts there are; and they only look on: no
//! event is made for them. Where a phase begins or ends the cut is late by the look-ahead, because other parts do not know sooner.
//!
//! Nobody knows how long a run will take. Slices begin short; when there are too many, neighbours of a phase become one and slices of
//! twice the length follow. Phases are not joined unless they alone are too many.

use super::draw::{self, Picture};
use crate::base::NONE;
use crate::link::{ENDPOINT, Outs};
use crate::net::Fabric;
use std::collections::{BTreeMap, BTreeSet};

/// Slices that a film has at most.
const MOST_SLICES: usize = 48;
/// The length of the first slices, in picoseconds.
// Ten microseconds; the length doubles whenever the film is full.
const FIRST_WIDTH: u64 = 10_000_000;
/// Bundles whose numbers are kept at most: those that stalled longest.
const MOST_BUNDLES: usize = 1000;
/// Bundles that are kept to be drawn only, at most.
const MOST_OTHERS: usize = 3000;

/// What a run looked like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Film {
    /// Width and height of the space in which the boxes lie.
    pub size: (f64, f64),
    /// Whether a box is a whole group of switches.
    pub grouped: bool,
    /// Switches or groups.
    pub boxes: Vec<FilmBox>,
    /// The slices of time.
    pub slices: Vec<Slice>,
    /// Those that stalled longest first.
    pub bundles: Vec<Bundle>,
    /// Pairs of boxes that other cables join.
    pub others: Vec<(u32, u32)>,
}

/// A switch or a group of them.
#[derive(Clone, Debug, PartialEq)]
pub struct FilmBox {
    /// `switch 3` or `group 7`.
    pub name: String,
    /// Its middle.
    pub at: (f64, f64),
    /// Cables to the nearest switch with endpoints.
    pub level: u32,
    /// Switches in it.
    pub switches: usize,
    /// Endpoints attached to them.
    pub endpoints: usize,
}

/// A slice of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The phase it is of, or the first and the last if phases are many.
    pub phase: String,
    /// From when, in picoseconds.
    pub from: u64,
    /// Until when.
    pub to: u64,
}

/// Cables of one kind from one box to another, one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bundle {
    /// The box they leave.
    pub from: usize,
    /// The box they reach.
    pub to: usize,
    /// `inject`, `eject`, or the kind of cable.
    pub kind: &'static str,
    /// How many.
    pub cables: usize,
    /// What they carry together, in bytes per second.
    pub rate: f64,
    /// Bytes sent, by slice.
    pub bytes: Vec<u64>,
    /// Picoseconds stalled, summed over the cables, by slice.
    pub stalled: Vec<u64>,
}

/// A phase begins or ends: when, and its name.
pub(crate) type Cut = (u64, Option<String>);

/// Which links are filmed together.
pub(crate) struct Scene {
    picture: Picture,
    bundles: Vec<Bundle>,
    /// By link; [`NONE`] for ports without a cable.
    bundle_of: Vec<u32>,
}

impl Scene {
    pub(crate) fn new(fabric: &Fabric) -> Scene {
        let picture = draw::placed(fabric);
        let item = |switch: u32| picture.item_of[switch as usize];
        let mut known: BTreeMap<(usize, usize, &'static str), u32> = BTreeMap::new();
        let mut bundles: Vec<Bundle> = Vec::new();
        let mut bundle_of = Vec::with_capacity(fabric.links.len());
        for link in &fabric.links {
            let (from, to, kind) = match (link.from, link.to) {
                (_, NONE) => {
                    bundle_of.push(NONE);
                    continue;
                }
                (e, s) if e & ENDPOINT != 0 => (item(s), item(s), "inject"),
                (s, e) if e & ENDPOINT != 0 => (item(s), item(s), "eject"),
                (a, b) => (item(a), item(b), link.kind),
            };
            let id = *known.entry((from, to, kind)).or_insert_with(|| {
                bundles.push(Bundle { from, to, kind, ..Bundle::default() });
                bundles.len() as u32 - 1
            });
            bundles[id as usize].cables += 1;
            bundles[id as usize].rate += link.rate;
            bundle_of.push(id);
        }
        Scene { picture, bundles, bundle_of }
    }

    /// Puts the reels of all parts together.
    pub(crate) fn film(self, reels: &[Reel], cuts: &[Cut]) -> Film {
        let names: Vec<&String> = cuts.iter().filter_map(|(_, name)| name.as_ref()).collect();
        let Some(first) = reels.first().filter(|r| !r.frames.is_empty()) else { return Film::default() };
        let phase = |f: &Frame| match f.last == f.phase {
            true => names[f.phase].clone(),
            false => format!("{} to {}", names[f.phase], names[f.last]),
        };
        let slice = |f: &Frame| Slice { phase: phase(f), from: f.from, to: f.to };
        let slices: Vec<Slice> = first.frames.iter().map(slice).collect();
        let mut bundles = self.bundles;
        for bundle in &mut bundles {
            (bundle.bytes, bundle.stalled) = (vec![0; slices.len()], vec![0; slices.len()]);
        }
        for reel in reels {
            for (i, frame) in reel.frames.iter().enumerate() {
                for (&id, sum) in reel.bundles.iter().zip(&frame.sums) {
                    bundles[id as usize].bytes[i] += sum.bytes;
                    bundles[id as usize].stalled[i] += sum.stalled;
                }
            }
        }
        let (bundles, others) = worst(bundles);
        let grouped = self.picture.grouped;
        let boxes = self.picture.items.iter().enumerate().map(|(i, item)| FilmBox {
            name: if grouped { format!("group {}", item.group) } else { format!("switch {i}") },
            at: (item.x, item.y),
            level: item.level,
            switches: item.switches,
            endpoints: item.endpoints,
        });
        Film { size: (draw::WIDTH, draw::HEIGHT), grouped, boxes: boxes.collect(), slices, bundles, others }
    }
}

/// The bundles that did most, and the pairs of boxes that only others join.
fn worst(mut bundles: Vec<Bundle>) -> (Vec<Bundle>, Vec<(u32, u32)>) {
    let done = |b: &Bundle| (b.stalled.iter().sum::<u64>(), b.bytes.iter().sum::<u64>());
    // Counted down from the top: most first. The sort is stable, so equal ones stay in the order of links.
    bundles.sort_by_cached_key(|b| {
        let (stalled, bytes) = done(b);
        (u64::MAX - stalled, u64::MAX - bytes)
    });
    let busy = bundles.iter().take_while(|b| done(b) != (0, 0)).count();
    let rest = bundles.split_off(busy.min(MOST_BUNDLES));
    let pair = |b: &Bundle| (b.from.min(b.to) as u32, b.from.max(b.to) as u32);
    let drawn: BTreeSet<(u32, u32)> = bundles.iter().map(pair).collect();
    let others: BTreeSet<(u32, u32)> = rest.iter().map(pair).filter(|p| p.0 != p.1 && !drawn.contains(p)).collect();
    (bundles, others.into_iter().take(MOST_OTHERS).collect())
}

#[derive(Clone, Copy, Default)]
struct Sum {
    bytes: u64,
    stalled: u64,
}

/// What one part did in a slice, by its bundles.
struct Frame {
    /// The first and the last phase in it.
    phase: usize,
    last: usize,
    from: u64,
    to: u64,
    sums: Vec<Sum>,
}

/// One part's share of the film.
#[derive(Default)]
pub(crate) struct Reel {
    /// The part's bundles, and which of them an output belongs to; made when the first phase begins.
    bundles: Vec<u32>,
    place: Vec<u32>,
    /// What they had done when the present slice began.
    before: Vec<Sum>,
    frames: Vec<Frame>,
    /// When the present slice began, if a phase is under way.
    since: Option<u64>,
    /// Phases that have begun.
    phases: usize,
    width: u64,
}

impl Reel {
    /// When the present slice is over; never, if nothing is filmed.
    pub(crate) fn due(&self) -> u64 {
        self.since.map_or(u64::MAX, |since| since + self.width)
    }

    /// Ends the present slice because its time is over.
    pub(crate) fn tick(&mut self, outs: &Outs) {
        let at = self.due();
        let sums = self.look(outs, at);
        self.end(at, &sums);
        (self.before, self.since) = (sums, Some(at));
    }

    /// A phase begins or ends.
    pub(crate) fn cut(&mut self, scene: &Scene, outs: &Outs, at: u64, begins: bool) {
        // No length yet: this is the first phase of the run.
        if self.width == 0 {
            self.load(scene, outs);
        }
        let sums = self.look(outs, at);
        self.end(at, &sums);
        (self.before, self.since) = (sums, begins.then_some(at));
        self.phases += usize::from(begins);
    }

    fn load(&mut self, scene: &Scene, outs: &Outs) {
        let first = outs.first as usize;
        let ids = &scene.bundle_of[first..first + outs.list.len()];
        self.bundles = ids.iter().copied().filter(|&id| id != NONE).collect();
        self.bundles.sort_unstable();
        self.bundles.dedup();
        let place = |id: &u32| self.bundles.binary_search(id).map_or(NONE, |at| at as u32);
        self.place = ids.iter().map(place).collect();
        self.width = FIRST_WIDTH;
    }

    /// What each bundle has done until a time.
    fn look(&self, outs: &Outs, at: u64) -> Vec<Sum> {
        let mut sums = vec![Sum::default(); self.bundles.len()];
        for (o, &place) in self.place.iter().enumerate().filter(|(_, place)| **place != NONE) {
            let (bytes, stalled) = outs.so_far(o as u32, at);
            sums[place as usize].bytes += bytes;
            sums[place as usize].stalled += stalled;
        }
        sums
    }

    fn end(&mut self, to: u64, sums: &[Sum]) {
        // No phase is under way, or the slice would have no length.
        let Some(from) = self.since.filter(|&from| from < to) else { return };
        let grown = |(now, then): (&Sum, &Sum)| Sum {
            bytes: now.bytes - then.bytes,
            // A rank that marks a phase may be ahead of the network, and a stall may end before its clock.
            stalled: now.stalled.saturating_sub(then.stalled),
        };
        let sums = sums.iter().zip(&self.before).map(grown).collect();
        self.frames.push(Frame { phase: self.phases - 1, last: self.phases - 1, from, to, sums });
        if self.frames.len() > MOST_SLICES {
            self.width *= 2;
            self.join(|a, b| a.last == b.phase);
            if self.frames.len() > MOST_SLICES {
                self.join(|_, _| true);
            }
        }
    }

    /// Makes one slice of two neighbours that may be joined, all along the film.
    fn join(&mut self, may: impl Fn(&Frame, &Frame) -> bool) {
        let mut joined: Vec<Frame> = Vec::with_capacity(self.frames.len());
        let mut open = false;
        for frame in self.frames.drain(..) {
            match joined.last_mut().filter(|last| open && may(last, &frame)) {
                Some(last) => {
                    (last.to, last.last) = (frame.to, frame.last);
                    for (a, b) in last.sums.iter_mut().zip(frame.sums) {
                        a.bytes += b.bytes;
                        a.stalled += b.stalled;
                    }
                    open = false;
                }
                None => {
                    joined.push(frame);
                    open = true;
                }
            }
        }
        self.frames = joined;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reel of phases that last so long, one after the other.
    fn reel(phases: &[u64]) -> Reel {
        let mut reel = Reel { width: 1, ..Reel::default() };
        let mut now = 0;
        for &length in phases {
            let end = now + length;
            reel.phases += 1;
            while now < end {
                (reel.since, reel.before) = (Some(now), vec![Sum::default()]);
                let to = reel.due().min(end);
                reel.end(to, &[Sum { bytes: to - now, stalled: 1 }]);
                now = to;
            }
        }
        reel
    }

    #[test]
    fn long_phases_are_joined_before_short_ones() {
        let reel = reel(&[1, 4000, 1, 100]);
        assert!(reel.frames.len() <= MOST_SLICES && reel.frames.len() > MOST_SLICES / 4, "{}", reel.frames.len());
        for phase in 0..4 {
            assert!(reel.frames.iter().any(|f| f.phase == phase), "phase {phase} is gone");
        }
        let whole = reel.frames.last().unwrap().to;
        assert_eq!(reel.frames.iter().map(|f| f.sums[0].bytes).sum::<u64>(), whole);
        assert!(reel.frames.windows(2).all(|w| w[0].to == w[1].from));
    }

    #[test]
    fn a_film_of_many_phases_stays_short() {
        let reel = reel(&[1; 500]);
        assert!(reel.frames.len() <= MOST_SLICES);
    }

    #[test]
    fn what_did_nothing_is_only_drawn() {
        let bundle = |from, to, bytes, stalled| Bundle {
            from,
            to,
            bytes: vec![bytes],
            stalled: vec![stalled],
            ..Bundle::default()
        };
        let (kept, others) = worst(vec![
            bundle(0, 1, 5, 0),
            bundle(1, 0, 0, 0),
            bundle(1, 2, 1, 9),
            bundle(3, 2, 0, 0),
            bundle(3, 3, 0, 0),
        ]);
        assert_eq!(kept.iter().map(|b| (b.from, b.to)).collect::<Vec<_>>(), [(1, 2), (0, 1)]);
        assert_eq!(others, [(2, 3)]);
    }
}
