//! Least squares between logarithms of measured and of simulated numbers.
//!
//! Every evaluation is a whole simulated run, so derivatives are taken by differences of a few per cent, all in one batch that may run
//! side by side, and a step tries several dampings at once. A derivative-free search would need ten times the runs and could not say
//! what this must: which numbers the data tell. A number is told if its interval is narrower than [`TOLD`]; where only a sum of two shows
//! in the data, one is kept as it was and the other is told *with* it. Intervals leave what is kept as open as it is.
//!
//! Two things would make numbers look told that are not. A limit that nothing reaches shows on one side alone, so what counts is the
//! weaker slope of both. And flows that wait for each other may give something else for the slightest change: no twin can be asked to
//! repeat that, so what moves when all numbers are moved by a thousandth is known only so well, and a slope that is not clearly more
//! than such movements is none.

/// A number that may be moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Knob {
    /// What it is called.
    pub name: String,
    /// What is kept where the data say nothing.
    pub default: f64,
    /// Where the search begins; above zero.
    pub start: f64,
    /// Limits.
    pub least: f64,
    /// And the other.
    pub most: f64,
}

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
    /// The data do not, but for that its default does not fit: it is a limit that is not reached.
    Beyond {
        /// Where the search has left it.
        value: f64,
    },
    /// The data do not: its default is kept.
    Kept,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Twin {
    /// For each knob what became of it.
    pub found: Vec<Found>,
    /// Values of all knobs, as they go into the machine.
    pub values: Vec<f64>,
    /// What the simulation gives for what was seen, in its order; nothing where it gave nothing.
    pub given: Vec<Option<f64>>,
    /// How many runs were simulated.
    pub runs: usize,
    /// How well what was seen is known, as far as a simulation can be asked to repeat it: standard deviations of logarithms.
    pub errors: Vec<f64>,
    /// The spread of what was seen about what is given, in multiples of what the measurements' own errors let expect.
    pub misfit: f64,
}

/// A number is told if half of its 95 % interval is less than this, as a logarithm.
pub const TOLD: f64 = 0.2;
/// Derivatives are differences of so much, as a logarithm: more than the noise of one simulated run.
const DIFFERENCE: f64 = 0.05;
/// A machine whose numbers are moved by so little, as a logarithm, is the same to every measurement.
const JITTER: f64 = 1e-3;
/// So many of them show what is chaotic.
const JITTERED: u64 = 4;
/// What moves by more than so many times what the slightest change does moves because of what was changed: two ends of a difference are
/// uncertain by 1.4 times the one, and three of those are rare.
const CLEAR: f64 = 4.2;
/// A default that makes the sum of squares larger by so many times what one number is expected to add does not fit.
pub const UNFIT: f64 = 9.0;
/// What is assumed of every number before anything is measured: a standard deviation of its logarithm. It only keeps those at home
/// that the data do not tell.
const PRIOR: f64 = 1.5;
/// Steps of a search at most, and the share by which a step must lower the sum of squares for another one to be tried.
const STEPS: usize = 8;
const WORTH: f64 = 0.02;
/// Dampings that are tried at once.
const DAMPINGS: [f64; 4] = [1e-3, 0.1, 1.0, 10.0];
/// No step moves a number by more than this, as a logarithm.
const FARTHEST: f64 = 1.5;
/// Numbers whose errors go together so closely can stand in for each other.
const TOGETHER: f64 = 0.7;
/// And where one is kept, others are named as told with it whose errors go with its own so far.
const PART: f64 = 0.2;
const HALF: f64 = 1.96;

/// What a batch of machines gives, for each what was seen in its order. Machines are values of all knobs.
pub type Simulate<'a, E> = dyn FnMut(&[Vec<f64>]) -> Result<Vec<Vec<Option<f64>>>, E> + 'a;

/// Numbers that are not told, and those of them that no other stands in for.
type Left<'a> = (&'a [usize], &'a [usize]);

struct Search<'a, 'b, E> {
    knobs: &'a [Knob],
    /// Logarithm and error of what was seen.
    seen: Vec<(f64, f64)>,
    /// How far each residual moves although next to nothing was changed.
    chaos: Vec<f64>,
    simulate: &'a mut Simulate<'b, E>,
    runs: usize,
}

/// A machine that was tried: logarithms of its numbers, what it gave, weighted residuals, and the sum of their squares with the prior's.
#[derive(Clone)]
struct Point {
    x: Vec<f64>,
    given: Vec<Option<f64>>,
    residuals: Vec<f64>,
    sum: f64,
}

impl Point {
    /// The sum of squares without the prior's.
    fn misfit(&self) -> f64 {
        dot(&self.residuals, &self.residuals)
    }
}

/// Finds the numbers that repeat what was seen (value and error) best.
pub fn fit<E>(knobs: &[Knob], seen: &[(f64, f64)], simulate: &mut Simulate<'_, E>) -> Result<Twin, E> {
    let seen: Vec<(f64, f64)> = seen.iter().map(|(value, error)| (value.ln(), *error)).collect();
    let chaos = vec![0.0; seen.len()];
    let mut search = Search { knobs, seen, chaos, simulate, runs: 0 };
    let mut free: Vec<usize> = (0..knobs.len()).collect();
    let start: Vec<f64> = knobs.iter().map(|k| k.start.clamp(k.least.max(f64::MIN_POSITIVE), k.most).ln()).collect();
    let first = search.points(vec![start])?.remove(0);
    let near = search.descend(first, &free)?;
    let mut point = search.doubt(near)?;
    let mut beyond = Vec::new();
    loop {
        point = search.descend(point, &free)?;
        let known = Known::new(&point, &search.slopes(&point, &free)?, free.len());
        let Some(worst) = known.least_told() else { break };
        // With it everything that no other number could stand in for: each of those would go in its turn.
        let untold = known.untold(worst);
        // What another number stands in for fits with any value, once that has moved.
        let lonely = untold.iter().filter(|i| known.partners(**i).is_empty()).map(|i| free[*i]).collect::<Vec<_>>();
        let left: Vec<usize> = untold.into_iter().map(|i| free[i]).collect();
        free.retain(|k| !left.contains(k));
        let (there, limits) = search.leave(&point, (&left, &lonely), known.scale)?;
        point = there;
        beyond.extend(limits);
    }
    // What is kept is not known: how well the others are known without it takes the slopes of all.
    let all: Vec<usize> = (0..knobs.len()).collect();
    let away: Vec<f64> =
        point.x.iter().zip(knobs).map(|(x, k)| if *x == kept(k) { k.start.ln() } else { *x }).collect();
    let whole = search.points(vec![away])?.remove(0);
    let slopes = search.slopes(&whole, &all)?;
    Ok(search.twin(&point, (&free, &beyond), &Known::new(&point, &slopes, free.len())))
}

/// What a machine gives beside the logarithm of what was seen, in standard deviations.
fn residual((seen, error): (f64, f64), given: Option<f64>) -> f64 {
    match given {
        Some(value) if value > 0.0 => (value.ln() - seen) / error,
        // What a machine does not give at all it does not repeat.
        _ => 10.0,
    }
}

/// The sum of squares between what was seen (value and error) and what a machine gives.
pub fn misfit(seen: &[(f64, f64)], given: &[Option<f64>]) -> f64 {
    seen.iter().zip(given).map(|((value, error), given)| residual((value.ln(), *error), *given).powi(2)).sum()
}

/// The logarithm of what is kept; a number that is zero stays as good as that.
fn kept(knob: &Knob) -> f64 {
    knob.default.max(f64::MIN_POSITIVE).ln()
}

impl<E> Search<'_, '_, E> {
    fn points(&mut self, all: Vec<Vec<f64>>) -> Result<Vec<Point>, E> {
        let machines: Vec<Vec<f64>> = all.iter().map(|x| self.values(x)).collect();
        self.runs += machines.len();
        let given = (self.simulate)(&machines)?;
        Ok(all.into_iter().zip(given).map(|(x, given)| self.point(x, given)).collect())
    }

    fn values(&self, x: &[f64]) -> Vec<f64> {
        let value = |(x, k): (&f64, &Knob)| if *x == kept(k) { k.default } else { x.exp().clamp(k.least, k.most) };
        x.iter().zip(self.knobs).map(value).collect()
    }

    fn point(&self, x: Vec<f64>, given: Vec<Option<f64>>) -> Point {
        let residuals: Vec<f64> = self.seen.iter().zip(&given).map(|(s, g)| residual(*s, *g)).collect();
        let sum = residuals.iter().map(|r| r * r).sum::<f64>() + self.prior(&x);
        Point { x, given, residuals, sum }
    }

    fn prior(&self, x: &[f64]) -> f64 {
        let away = |(x, k): (&f64, &Knob)| if *x == kept(k) { 0.0 } else { ((x - k.start.ln()) / PRIOR).powi(2) };
        x.iter().zip(self.knobs).map(away).sum()
    }

    /// Steps down from a point by moving some numbers: where it ended.
    fn descend(&mut self, from: Point, free: &[usize]) -> Result<Point, E> {
        let mut here = from;
        let mut slopes = self.rises(&here, free, DIFFERENCE)?;
        for _ in 0..STEPS {
            let tries: Vec<Vec<f64>> = DAMPINGS.iter().filter_map(|d| self.step(&here, &slopes, free, *d)).collect();
            let found = self.points(tries)?.into_iter().min_by(|a, b| a.sum.total_cmp(&b.sum));
            let Some(better) = found.filter(|p| p.sum < here.sum) else { break };
            let worth = better.sum < (1.0 - WORTH) * here.sum;
            here = better;
            if !worth {
                break;
            }
            slopes = self.rises(&here, free, DIFFERENCE)?;
        }
        Ok(here)
    }

    /// What each free number does to each residual when it is moved so far.
    fn rises(&mut self, here: &Point, free: &[usize], by: f64) -> Result<Vec<Vec<f64>>, E> {
        let moved = |k: &usize| {
            let mut x = here.x.clone();
            x[*k] += by;
            x
        };
        let there = self.points(free.iter().map(moved).collect())?;
        let clear = |(moved, chaos): (f64, &f64)| if moved.abs() > CLEAR * chaos { moved / by } else { 0.0 };
        let rise = |p: Point| -> Vec<f64> {
            let moved = p.residuals.iter().zip(&here.residuals).map(|(a, b)| a - b);
            moved.zip(&self.chaos).map(clear).collect()
        };
        Ok(there.into_iter().map(rise).collect())
    }

    /// What each free number does to each residual, whichever way it goes: the weaker of both sides.
    fn slopes(&mut self, here: &Point, free: &[usize]) -> Result<Vec<Vec<f64>>, E> {
        let (up, down) = (self.rises(here, free, DIFFERENCE)?, self.rises(here, free, -DIFFERENCE)?);
        let weaker = |(a, b): (f64, f64)| if a * b <= 0.0 { 0.0 } else { a.abs().min(b.abs()).copysign(a) };
        Ok(up.into_iter().zip(down).map(|(a, b)| a.into_iter().zip(b).map(weaker).collect()).collect())
    }

    /// Learns what no twin can repeat: what moves although next to nothing was changed.
    fn doubt(&mut self, here: Point) -> Result<Point, E> {
        let knobs = self.knobs;
        let near = |t: u64| -> Vec<f64> {
            let away =
                |k: usize| if spec::Rng::new(0, "jitter", t << 32 | k as u64).unit() < 0.5 { -JITTER } else { JITTER };
            let moved =
                |(k, x): (usize, &f64)| if knobs[k].default <= 0.0 && *x == kept(&knobs[k]) { *x } else { x + away(k) };
            here.x.iter().enumerate().map(moved).collect()
        };
        let there = self.points((0..JITTERED).map(near).collect())?;
        for (i, (_, error)) in self.seen.iter_mut().enumerate() {
            let moved = |p: &Point| (p.residuals[i] - here.residuals[i]) * *error;
            let spread = (there.iter().map(|p| moved(p).powi(2)).sum::<f64>() / JITTERED as f64).sqrt();
            *error = error.hypot(spread);
            self.chaos[i] = spread / *error;
        }
        Ok(self.point(here.x, here.given))
    }

    /// Takes back numbers that are not told: to their defaults, but for those whose default does not fit, which are limits that are not
    /// reached; and those.
    fn leave(&mut self, from: &Point, (left, lonely): Left<'_>, scale: f64) -> Result<(Point, Vec<usize>), E> {
        let knobs = self.knobs;
        let back = |which: &[usize]| {
            let mut x = from.x.clone();
            which.iter().for_each(|&k| x[k] = kept(&knobs[k]));
            x
        };
        let mut alone = self.points(lonely.iter().map(|k| back(&[*k])).collect())?;
        let unfit = |p: &Point| p.misfit() > from.misfit() + UNFIT * scale * scale;
        let limits: Vec<usize> = lonely.iter().zip(&alone).filter(|(_, p)| unfit(p)).map(|(k, _)| *k).collect();
        let rest: Vec<usize> = left.iter().copied().filter(|k| !limits.contains(k)).collect();
        // A single one was tried just now.
        let tried = if let [only] = rest[..] { lonely.iter().position(|k| *k == only) } else { None };
        let there = match tried {
            Some(i) => alone.swap_remove(i),
            None => self.points(vec![back(&rest)])?.remove(0),
        };
        Ok((there, limits))
    }

    fn step(&self, here: &Point, slopes: &[Vec<f64>], free: &[usize], damping: f64) -> Option<Vec<f64>> {
        let mut normal = normal(slopes);
        let mut down = Vec::with_capacity(free.len());
        for (i, &k) in free.iter().enumerate() {
            let home = (here.x[k] - self.knobs[k].start.ln()) / PRIOR.powi(2);
            down.push(-dot(&slopes[i], &here.residuals) - home);
            normal[i][i] *= 1.0 + damping;
        }
        let delta = solve(normal, down)?;
        let mut x = here.x.clone();
        for (&k, d) in free.iter().zip(delta) {
            let knob = &self.knobs[k];
            x[k] = (x[k] + d.clamp(-FARTHEST, FARTHEST)).clamp(knob.least.max(1e-30).ln(), knob.most.ln());
        }
        Some(x)
    }

    fn twin(&self, point: &Point, (free, beyond): (&[usize], &[usize]), known: &Known) -> Twin {
        let values = self.values(&point.x);
        let mut found = vec![Found::Kept; self.knobs.len()];
        beyond.iter().for_each(|&k| found[k] = Found::Beyond { value: values[k] });
        for &k in free {
            let half = HALF * known.deviation(k);
            let (low, high) = (values[k] * (-half).exp(), values[k] * half.exp());
            let stands_in = |i: &usize| !free.contains(i) && half > TOLD && known.correlation(*i, k).abs() > PART;
            let with = (0..self.knobs.len()).filter(stands_in).map(|i| self.knobs[i].name.clone()).collect();
            found[k] = Found::Told { value: values[k], low, high, with };
        }
        let errors = self.seen.iter().map(|(_, error)| *error).collect();
        Twin { found, values, given: point.given.clone(), runs: self.runs, errors, misfit: known.scale }
    }
}

/// How well the free numbers are known.
struct Known {
    covariance: Vec<Vec<f64>>,
    /// What errors are multiplied by, because the twin does not repeat the data as well as those are known.
    scale: f64,
}

impl Known {
    fn new(point: &Point, slopes: &[Vec<f64>], free: usize) -> Known {
        let spare = point.residuals.len().saturating_sub(free).max(1) as f64;
        let scale = (dot(&point.residuals, &point.residuals) / spare).sqrt().max(1.0);
        Known { covariance: inverse(normal(slopes)), scale }
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

    /// Numbers that could stand in for this one.
    fn partners(&self, i: usize) -> Vec<usize> {
        (0..self.covariance.len()).filter(|&j| j != i && self.correlation(i, j).abs() > TOGETHER).collect()
    }

    /// The worst one and all others that are not told and have no partner.
    fn untold(&self, worst: usize) -> Vec<usize> {
        let lonely = |&i: &usize| HALF * self.deviation(i) > TOLD && self.partners(i).is_empty();
        let mut all: Vec<usize> = (0..self.covariance.len()).filter(|i| *i == worst || lonely(i)).collect();
        all.dedup();
        all
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Products of slopes, with the prior on the diagonal.
fn normal(slopes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = slopes.len();
    let own = |i: usize, j: usize| if i == j { PRIOR.powi(-2) } else { 0.0 };
    (0..n).map(|i| (0..n).map(|j| dot(&slopes[i], &slopes[j]) + own(i, j)).collect()).collect()
}

fn solve(a: Vec<Vec<f64>>, b: Vec<f64>) -> Option<Vec<f64>> {
    crate::numeric::levenberg::solve_square(a, b)
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

    /// Fits a machine whose numbers are known; what it gives has no noise.
    fn back(knobs: &[Knob], truth: &[f64], machine: impl Fn(&[f64]) -> Vec<f64>) -> Twin {
        let seen: Vec<(f64, f64)> = machine(truth).into_iter().map(|v| (v, 0.01)).collect();
        let mut simulate = |all: &[Vec<f64>]| -> Result<Vec<Vec<Option<f64>>>, ()> {
            Ok(all.iter().map(|x| machine(x).into_iter().map(Some).collect()).collect())
        };
        fit(knobs, &seen, &mut simulate).unwrap()
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
        assert!(twin.misfit < 1.1 && twin.runs < 60, "{twin:?}");
    }

    #[test]
    fn what_does_not_show_is_kept_and_said() {
        let times = |x: &[f64]| [8.0, 1e3, 1e5].iter().map(|n| x[0] + n / 1e10).collect::<Vec<f64>>();
        let twin = back(&[knob("overhead", 1e-6), knob("buffer", 65536.0)], &[2e-6, 1e6], times);
        assert_eq!(twin.found[1], Found::Kept);
        assert_eq!(twin.values[1], 65536.0);
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
    fn a_limit_that_is_not_reached_is_not_told() {
        // The default is too low, and from 4e9 on nothing depends on it.
        let times = |x: &[f64]| [1e3, 1e5, 1e7].iter().map(|n| x[0] + n / x[1].min(4e9)).collect::<Vec<f64>>();
        let twin = back(&[knob("overhead", 1e-6), knob("limit", 1e9)], &[2e-6, 1e10], times);
        let Found::Beyond { value } = twin.found[1] else { panic!("{twin:?}") };
        assert!(value > 3.9e9 && twin.values[1] == value, "{twin:?}");
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
        assert!((twin.values.iter().sum::<f64>() / 190e-9 - 1.0).abs() < 0.02, "{twin:?}");
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
        let twin = fit(&[knob("slope", 1.0)], &seen, &mut simulate).unwrap();
        assert!(twin.misfit > 5.0, "{twin:?}");
        let Found::Told { value, low, high, .. } = &twin.found[0] else { panic!("{twin:?}") };
        assert!((high / low).ln() > 0.05 && (1.0..1.3).contains(value), "{twin:?}");
    }
}
