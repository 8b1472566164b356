//! Least squares between logarithms of measured and of simulated numbers.
//!
//! Every evaluation is a whole simulated run (`search` has the steps). A derivative-free search would need ten times the
//! runs and could not say what this must: which numbers the data tell. A number is told if its interval is narrower than [`TOLD`]; where
//! only a sum of two shows in the data, one is kept as it was and the other is told *with* it: every number that is kept is tried far away, the others follow it, and
//! intervals reach as far as those then go.
//!
//! Two things would make numbers look told that are not. A limit that nothing reaches shows on one side alone, so what counts is the
//! weaker slope of both. And flows that wait for each other may give something else for the slightest change: no twin can be asked to
//! repeat that, so what moves when all numbers are moved by a thousandth is known only so well, and a slope that is not clearly more
//! than such movements is none.

use super::search::{Given, Knob, Point, Search, Simulate, Slopes, kept, normal, solve};
use std::collections::BTreeMap;

/// What became of a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The data tell it: its value and 95 % interval.
    Told {
        /// The value.
        value: f64,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
        /// Numbers that were kept and could stand in for a part of it, if it is not told without them.
        with: Vec<String>,
    },
    /// The data do not, but for that its default does not fit: a limit that is not reached, or what others can stand in for on one side.
    Beyond {
        /// Where the search has left it.
        value: f64,
    },
    /// The data do not: its default is kept.
    Kept,
}

/// Where a search has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Values of all knobs, as they go into the machine.
    pub values: Vec<f64>,
    /// What the simulation gives for what was seen.
    pub given: Given,
    /// The spread of what was seen about what is given, in multiples of what the measurements' own errors let expect.
    pub misfit: f64,
    x: Vec<f64>,
    slopes: Slopes,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Twin {
    /// For each knob what became of it.
    pub found: Vec<Found>,
    /// The numbers, and what the twin gives with them.
    pub at: Place,
    /// How well what was seen is known, as far as a simulation can be asked to repeat it: standard deviations of logarithms.
    pub errors: Vec<f64>,
}

/// A number is told if half of its 95 % interval is less than this, as a logarithm.
pub const TOLD: f64 = 0.2;
/// A default that makes the sum of squares larger by so many times what one number is expected to add does not fit.
pub const UNFIT: f64 = 9.0;
/// Numbers whose errors go together so closely can stand in for each other.
const TOGETHER: f64 = 0.7;
/// So far away, as a logarithm, are numbers tried that are not told.
const FAR: f64 = 1.0;
const HALF: f64 = 1.96;
/// A number with another whose errors go with its own so far is tried outside of its interval: so many times half of it away, and so far
/// at least, as a logarithm.
const RELATED: f64 = 0.5;
const OUTSIDE: f64 = 3.0;
const AWAY: f64 = 0.3;

/// Comes near the numbers that repeat what was seen (value and error), from where the knobs begin, or from where a search with a machine of
/// another kind has come. The machine gives `given` there.
pub fn approach<E>(
    knobs: &[Knob],
    seen: &[(f64, f64)],
    (from, given): (Option<Place>, Given),
    simulate: &mut Simulate<'_, E>,
) -> Result<Place, E> {
    let mut search = Search::new(knobs, seen, simulate);
    let (x, slopes) = from.map_or_else(|| (search.start(), None), |place| (place.x, Some(place.slopes)));
    let (point, slopes) = search.approach(search.point(x, given), slopes)?;
    Ok(Place::new(&search, point, slopes, knobs.len()))
}

/// Goes on from a place to where slopes that are taken there lead no farther, by moving every number: that place, and how well what was
/// seen is known as far as a machine there can be asked to repeat it (see [`Twin::errors`]). What the slightest change moves would lead
/// every step astray, so that is asked first.
pub fn converge<E>(
    knobs: &[Knob],
    seen: &[(f64, f64)],
    near: Place,
    simulate: &mut Simulate<'_, E>,
) -> Result<(Place, Vec<f64>), E> {
    let mut search = Search::new(knobs, seen, simulate);
    let all: Vec<usize> = (0..knobs.len()).collect();
    let (point, mut slopes) = (search.point(near.x, near.given), near.slopes);
    let point = search.doubt(point)?;
    let (point, _) = search.descend(point, &all, &mut slopes, None)?;
    let errors = search.errors();
    Ok((Place::new(&search, point, slopes, knobs.len()), errors))
}

impl Place {
    fn new<E>(search: &Search<'_, '_, E>, point: Point, slopes: Slopes, free: usize) -> Place {
        let misfit = scale(&point, free);
        Place { values: search.values(&point.x), given: point.given, misfit, x: point.x, slopes }
    }
}

/// Finds the numbers that repeat what was seen (value and error) best.
pub fn fit<E>(knobs: &[Knob], seen: &[(f64, f64)], near: Place, simulate: &mut Simulate<'_, E>) -> Result<Twin, E> {
    let mut search = Search::new(knobs, seen, simulate);
    let mut free: Vec<usize> = (0..knobs.len()).collect();
    let (mut slopes, mut sides) = (near.slopes, None);
    let near = search.point(near.x, near.given);
    let mut point = search.doubt(near)?;
    let mut beyond = Vec::new();
    let known = loop {
        let (there, taken) = search.descend(point, &free, &mut slopes, sides)?;
        let rows: Slopes = free.iter().map(|&k| search.weighted(&taken.weaker(k))).collect();
        let known = Known::new(&there, &rows, free.len());
        let (left, lonely) = match known.least_told() {
            Some(worst) => known.left(worst, &free),
            None => match impostor(&mut search, &there, (&free, &slopes), &known)? {
                Some(k) => (vec![k], Vec::new()),
                None => {
                    point = there;
                    break known;
                }
            },
        };
        free.retain(|k| !left.contains(k));
        let (there, limits) = search.leave(&there, (&left, &lonely), known.clear())?;
        point = there;
        beyond.extend(limits);
        sides = Some(taken);
    };
    let elsewhere = elsewhere(&mut search, &point, (&free, &slopes), known.clear())?;
    let found = found(&search, &point, (&free, &beyond), &known, &elsewhere);
    let errors = search.errors();
    Ok(Twin { found, errors, at: Place::new(&search, point, slopes, free.len()) })
}

/// A number that looks told and is not: others can stand in for it when it is moved out of its interval. Slopes are differences of a few
/// per cent, in which what two latencies do to a time is alike but for noise, and noise looks like knowledge.
fn impostor<E>(
    search: &mut Search<'_, '_, E>,
    point: &Point,
    (free, slopes): (&[usize], &Slopes),
    known: &Known,
) -> Result<Option<usize>, E> {
    let mut suspects: Vec<usize> = (0..free.len()).filter(|i| !known.related(*i, RELATED).is_empty()).collect();
    suspects.sort_by(|i, j| known.deviation(*j).total_cmp(&known.deviation(*i)));
    for i in suspects {
        let (k, by) = (free[i], (OUTSIDE * HALF * known.deviation(i)).max(AWAY));
        let others: Vec<usize> = free.iter().copied().filter(|other| *other != k).collect();
        let moved = |by: f64| {
            let mut x = point.x.clone();
            x[k] += by;
            x
        };
        for there in search.points(vec![moved(-by), moved(by)])? {
            if search.follow_to(point.misfit() + known.clear(), there, &others, slopes.clone())?.is_some() {
                return Ok(Some(k));
            }
        }
    }
    Ok(None)
}

/// For each number that is not told what the others would be if it were far less and far more, if they then repeat what was seen as well.
type Elsewhere = BTreeMap<usize, [Option<Vec<f64>>; 2]>;

/// Moves every number that is not told to both sides, and after it those that are told; if that does not do, all others.
fn elsewhere<E>(
    search: &mut Search<'_, '_, E>,
    point: &Point,
    (free, slopes): (&[usize], &Slopes),
    clear: f64,
) -> Result<Elsewhere, E> {
    let knobs = search.knobs;
    let others: Vec<usize> = (0..knobs.len()).filter(|k| !free.contains(k)).collect();
    let moved = |k: usize, by: f64| {
        let mut x = point.x.clone();
        x[k] = by + if knobs[k].default <= 0.0 && x[k] == kept(&knobs[k]) { knobs[k].start.ln() } else { x[k] };
        x
    };
    let enough = point.misfit() + clear;
    let sides: Vec<(usize, usize)> = others.iter().flat_map(|k| [(*k, 0), (*k, 1)]).collect();
    let there = search.points(sides.iter().map(|&(k, side)| moved(k, [-FAR, FAR][side])).collect())?;
    let mut found: Elsewhere = others.iter().map(|k| (*k, [None, None])).collect();
    for ((k, side), there) in sides.into_iter().zip(there) {
        let mut fits = search.follow_to(enough, there.clone(), free, slopes.clone())?;
        // What is kept is only assumed, and may be elsewhere, too.
        let rest: Vec<usize> = (0..knobs.len()).filter(|other| *other != k).collect();
        if fits.is_none() && rest.len() > free.len() {
            fits = search.follow_to(enough, there, &rest, slopes.clone())?;
        }
        found.get_mut(&k).expect("it is there")[side] = fits.map(|p| p.x);
    }
    Ok(found)
}

/// What becomes of every number. An interval reaches to what it would be with others that are not told at other places.
fn found<E>(
    search: &Search<'_, '_, E>,
    point: &Point,
    (free, beyond): (&[usize], &[usize]),
    known: &Known,
    elsewhere: &Elsewhere,
) -> Vec<Found> {
    let values = search.values(&point.x);
    let mut found = vec![Found::Kept; search.knobs.len()];
    for &k in beyond {
        // What fits on no side is known, only not well.
        let loose = elsewhere[&k].iter().all(Option::is_none);
        let (low, high) = (values[k] * (-FAR).exp(), values[k] * FAR.exp());
        found[k] = match loose {
            true => Found::Told { value: values[k], low, high, with: Vec::new() },
            false => Found::Beyond { value: values[k] },
        };
    }
    for (i, &k) in free.iter().enumerate() {
        let half = HALF * known.deviation(i);
        let (mut ends, mut with) = ([point.x[k], point.x[k]], Vec::new());
        for (other, x) in elsewhere.iter().flat_map(|(other, both)| both.iter().flatten().map(move |x| (*other, x))) {
            ends = [ends[0].min(x[k]), ends[1].max(x[k])];
            let name = &search.knobs[other].name;
            if (x[k] - point.x[k]).abs() > half && !with.contains(name) {
                with.push(name.clone());
            }
        }
        let [low, high] = [(ends[0] - half).exp(), (ends[1] + half).exp()];
        found[k] = Found::Told { value: values[k], low, high, with };
    }
    found
}

/// How well the free numbers are known.
struct Known {
    covariance: Vec<Vec<f64>>,
    /// What errors are multiplied by, because the twin does not repeat the data as well as those are known.
    scale: f64,
}

/// What errors are multiplied by where so many numbers were free.
fn scale(point: &Point, free: usize) -> f64 {
    let spare = point.residuals.len().saturating_sub(free).max(1) as f64;
    (point.misfit() / spare).sqrt().max(1.0)
}

impl Known {
    fn new(point: &Point, slopes: &[Vec<f64>], free: usize) -> Known {
        let scale = scale(point, free);
        Known { covariance: inverse(normal(slopes)), scale }
    }

    /// What makes the sum of squares larger by so much does not fit.
    fn clear(&self) -> f64 {
        UNFIT * self.scale.powi(2)
    }

    fn deviation(&self, i: usize) -> f64 {
        self.covariance[i][i].max(0.0).sqrt() * self.scale
    }

    fn correlation(&self, i: usize, j: usize) -> f64 {
        let of = |i: usize| self.covariance[i][i].max(f64::MIN_POSITIVE).sqrt();
        self.covariance[i][j] / of(i) / of(j)
    }

    /// The number that is known worst, if it is not told.
    fn least_told(&self) -> Option<usize> {
        let worst = (0..self.covariance.len()).max_by(|&i, &j| self.deviation(i).total_cmp(&self.deviation(j)))?;
        (HALF * self.deviation(worst) > TOLD).then_some(worst)
    }

    /// Numbers whose errors go with this one's more closely than that.
    fn related(&self, i: usize, closely: f64) -> Vec<usize> {
        (0..self.covariance.len()).filter(|&j| j != i && self.correlation(i, j).abs() > closely).collect()
    }

    /// Numbers that could stand in for this one.
    fn partners(&self, i: usize) -> Vec<usize> {
        self.related(i, TOGETHER)
    }

    /// What is left out with the worst one, as knobs, and those of them that no other number could stand in for.
    fn left(&self, worst: usize, free: &[usize]) -> (Vec<usize>, Vec<usize>) {
        // With it everything that no other number could stand in for: each of those would go in its turn.
        let untold = self.untold(worst);
        // What another number stands in for fits with any value, once that has moved.
        let lonely = untold.iter().filter(|i| self.partners(**i).is_empty()).map(|i| free[*i]).collect();
        (untold.into_iter().map(|i| free[i]).collect(), lonely)
    }

    /// The worst one and all others that are not told and have no partner.
    fn untold(&self, worst: usize) -> Vec<usize> {
        let lonely = |&i: &usize| HALF * self.deviation(i) > TOLD && self.partners(i).is_empty();
        let mut all: Vec<usize> = (0..self.covariance.len()).filter(|i| *i == worst || lonely(i)).collect();
        all.dedup();
        all
    }
}

fn inverse(a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    let column = |j: usize| {
        let unit = (0..n).map(|i| if i == j { 1.0 } else { 0.0 }).collect();
        // The prior keeps it regular; if numbers are lost all the same, nothing is known.
        solve(a.clone(), unit).unwrap_or_else(|| vec![f64::INFINITY; n])
    };
    (0..n).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob(name: &str, default: f64) -> Knob {
        Knob { name: name.into(), default, start: default, least: 1e-12, most: 1e12 }
    }

    fn near(knobs: &[Knob], seen: &[(f64, f64)], simulate: &mut Simulate<'_, ()>) -> Result<Place, ()> {
        let given = simulate(&[knobs.iter().map(|k| k.start).collect()])?.remove(0);
        approach(knobs, seen, (None, given), simulate)
    }

    /// Fits a machine whose numbers are known; what it gives has no noise.
    fn back(knobs: &[Knob], truth: &[f64], machine: impl Fn(&[f64]) -> Vec<f64>) -> Twin {
        let seen: Vec<(f64, f64)> = machine(truth).into_iter().map(|v| (v, 0.01)).collect();
        let mut runs = 0;
        let mut simulate = |all: &[Vec<f64>]| -> Result<Vec<Vec<Option<f64>>>, ()> {
            runs += all.len();
            Ok(all.iter().map(|x| machine(x).into_iter().map(Some).collect()).collect())
        };
        let near = near(knobs, &seen, &mut simulate).unwrap();
        let twin = fit(knobs, &seen, near, &mut simulate).unwrap();
        // Each of them is a whole simulation.
        assert!(runs <= 110, "{runs}");
        twin
    }

    #[test]
    fn overhead_and_rate_come_back() {
        let times = |x: &[f64]| [8.0, 1e3, 1e5, 1e7].iter().map(|n| x[0] + n / x[1]).collect::<Vec<f64>>();
        let twin = back(&[knob("overhead", 1e-6), knob("rate", 1e9)], &[3e-6, 1.2e10], times);
        let value = |i: usize| match &twin.found[i] {
            Found::Told { value, low, high, with } => {
                assert!(low < value && value < high && with.is_empty());
                *value
            }
            _ => panic!("{twin:?}"),
        };
        assert!((value(0) / 3e-6 - 1.0).abs() < 0.02 && (value(1) / 1.2e10 - 1.0).abs() < 0.02, "{twin:?}");
        assert!(twin.at.misfit < 1.1, "{twin:?}");
    }

    #[test]
    fn what_does_not_show_is_kept_and_said() {
        let times = |x: &[f64]| [8.0, 1e3, 1e5].iter().map(|n| x[0] + n / 1e10).collect::<Vec<f64>>();
        let twin = back(&[knob("overhead", 1e-6), knob("buffer", 65536.0)], &[2e-6, 1e6], times);
        assert_eq!(twin.found[1], Found::Kept);
        assert_eq!(twin.at.values[1], 65536.0);
        assert!(matches!(&twin.found[0], Found::Told { with, .. } if with.is_empty()), "{twin:?}");
    }

    #[test]
    fn of_a_sum_one_is_kept_and_the_other_told_with_it() {
        let times = |x: &[f64]| [8.0, 1e3, 1e5].iter().map(|n| x[0] + x[1] + n / 1e10).collect::<Vec<f64>>();
        let twin = back(&[knob("cable", 1e-6), knob("switch", 1e-6)], &[2e-6, 3e-6], times);
        let kept = twin.found.iter().filter(|f| **f == Found::Kept).count();
        assert_eq!(kept, 1, "{twin:?}");
        let told = twin.found.iter().find_map(|f| match f {
            Found::Told { value, with, .. } => Some((*value, with.len())),
            _ => None,
        });
        let (value, with) = told.unwrap();
        assert!((value / 4e-6 - 1.0).abs() < 0.02 && with == 1, "{twin:?}");
    }

    #[test]
    fn what_a_kept_number_could_stand_in_for_is_not_claimed() {
        // A small part of every time is a sum. With the one as kept the other is known to be small, but only so.
        let times = |x: &[f64]| [2.2, 2.3, 2.4].iter().map(|n| n + x[0] + x[1]).collect::<Vec<f64>>();
        let truth = [0.05, 0.35];
        let twin = back(&[knob("nic", 0.3), knob("switch", 1.0)], &truth, times);
        for (found, truth) in twin.found.iter().zip(truth) {
            let alone = matches!(found, Found::Told { low, high, with, .. } if with.is_empty() && !(low..high).contains(&&truth));
            assert!(!alone, "{:?}", twin.found);
        }
    }

    #[test]
    fn a_limit_that_is_not_reached_is_not_told() {
        // The default is too low, and from 4e9 on nothing depends on it.
        let times = |x: &[f64]| [1e3, 1e5, 1e7].iter().map(|n| x[0] + n / x[1].min(4e9)).collect::<Vec<f64>>();
        let twin = back(&[knob("overhead", 1e-6), knob("limit", 1e9)], &[2e-6, 1e10], times);
        let Found::Beyond { value } = twin.found[1] else { panic!("{twin:?}") };
        assert!(value > 3.9e9 && twin.at.values[1] == value, "{twin:?}");
    }

    #[test]
    fn many_chaotic_numbers_do_not_tell_two_apart() {
        // Only a sum shows, cleanly in two numbers and in many that the slightest change of either moves by a tenth.
        let machine = |x: &[f64]| {
            let sum = x[0] + x[1];
            let wild = (1..60).map(|k| sum * (1.0 + 0.1 * ((x[0] * 7e12 + x[1] * 13e12) * f64::from(k)).sin()));
            [sum, 2.0 * sum].into_iter().chain(wild).collect()
        };
        let twin = back(&[knob("cable", 50e-9), knob("switch", 100e-9)], &[40e-9, 150e-9], machine);
        let alone = |f: &Found| matches!(f, Found::Told { with, .. } if with.is_empty());
        assert!(!twin.found.iter().any(alone), "{twin:?}");
        assert!((twin.at.values.iter().sum::<f64>() / 190e-9 - 1.0).abs() < 0.02, "{twin:?}");
    }

    #[test]
    fn texture_does_not_tell_two_apart() {
        // Only a sum shows, but for a third of a per cent that goes up and down with one of the two: not chaos, and no knowledge.
        let machine = |x: &[f64]| {
            let wave = |k: u32| 1.0 + 0.003 * (30.0 * x[0].ln() + f64::from(k)).sin();
            (0..60).map(|k| (x[0] + x[1]) * wave(k)).collect()
        };
        let twin = back(&[knob("cable", 50e-9), knob("switch", 100e-9)], &[40e-9, 150e-9], machine);
        let alone = |f: &Found| matches!(f, Found::Told { with, .. } if with.is_empty());
        assert!(!twin.found.iter().any(alone), "{:?}", twin.found);
    }

    #[test]
    fn what_the_slightest_change_moves_tells_nothing() {
        // One number is chaotic, by 30 %, and two are not.
        let chaos = |v: f64| 1.0 + 0.3 * (v * 1e12).sin();
        let machine = |x: &[f64]| vec![x[0], x[0] * 2.0, x[1] * chaos(x[0] * 1e6)];
        let twin = back(&[knob("overhead", 1e-6), knob("rate", 1e9)], &[3e-6, 2e9], machine);
        assert!(matches!(&twin.found[0], Found::Told { value, .. } if (value / 3e-6 - 1.0).abs() < 0.02), "{twin:?}");
        assert!(!matches!(twin.found[1], Found::Told { .. }), "{twin:?}");
    }

    /// A machine of another kind: the interval grows with what is left over.
    #[test]
    fn lack_of_fit_widens_intervals() {
        let line = |x: &[f64]| [1.0, 2.0, 3.0, 4.0].iter().map(|n| x[0] * n).collect::<Vec<f64>>();
        let seen: Vec<(f64, f64)> = [1.0, 2.0, 3.0, 4.0f64].iter().map(|n| (n.powf(1.2), 0.01)).collect();
        let mut simulate = |all: &[Vec<f64>]| -> Result<_, ()> {
            Ok(all.iter().map(|x| line(x).into_iter().map(Some).collect()).collect())
        };
        let near = near(&[knob("slope", 1.0)], &seen, &mut simulate).unwrap();
        let twin = fit(&[knob("slope", 1.0)], &seen, near, &mut simulate).unwrap();
        assert!(twin.at.misfit > 5.0, "{twin:?}");
        let Found::Told { value, low, high, .. } = &twin.found[0] else { panic!("{twin:?}") };
        assert!((high / low).ln() > 0.05 && (1.0..1.3).contains(value), "{twin:?}");
    }
}
