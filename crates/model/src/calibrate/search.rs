//! Steps towards the numbers that repeat what was measured, by as few simulations as possible.
//!
//! Slopes are differences of a few per cent, one simulation for each number, all in one batch that may run side by side. A step tries
//! several dampings at once, and what it gives corrects the slopes (Broyden's rule), so that they are taken anew only where steps by
//! them lead no farther.

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

/// Derivatives are differences of so much, as a logarithm: more than the noise of one simulated run.
const DIFFERENCE: f64 = 0.05;
/// A machine whose numbers are moved by so little, as a logarithm, is the same to every measurement.
const JITTER: f64 = 1e-3;
/// So many of them show what is chaotic.
const JITTERED: u64 = 4;
/// What moves by more than so many times what the slightest change does moves because of what was changed: two ends of a difference are
/// uncertain by 1.4 times the one, and three of those are rare.
const CLEAR: f64 = 4.2;
/// What is assumed of every number before anything is measured: a standard deviation of its logarithm. It only keeps those at home
/// that the data do not tell.
const PRIOR: f64 = 1.5;
/// Steps with the same slopes at most, and how often slopes are taken anew.
const STEPS: usize = 8;
const ANEW: usize = 6;
/// Steps after one number that was moved far.
const FEW: usize = 4;
/// The share by which a step must lower the sum of squares for another one to be tried.
const WORTH: f64 = 0.04;
/// Dampings that are tried at once, and then, if none of them leads down.
const DAMPINGS: [[f64; 2]; 2] = [[1e-3, 0.3], [3.0, 30.0]];
/// No step moves a number by more than this, as a logarithm.
const FARTHEST: f64 = 1.5;

/// What a machine gives for what was seen, in its order; nothing where it gives nothing.
pub type Given = Vec<Option<f64>>;
/// What a batch of machines gives. Machines are values of all knobs.
pub type Simulate<'a, E> = dyn FnMut(&[Vec<f64>]) -> Result<Vec<Given>, E> + 'a;
/// For each number what it does to the logarithm of each that was seen.
pub type Slopes = Vec<Vec<f64>>;

/// Numbers that are not told, and those of them that no other stands in for.
pub type Left<'a> = (&'a [usize], &'a [usize]);

/// A machine that was tried: logarithms of its numbers, what it gave, weighted residuals, and the sum of their squares with the prior's.
#[derive(Clone, Debug)]
pub struct Point {
    pub x: Vec<f64>,
    pub given: Given,
    pub residuals: Vec<f64>,
    sum: f64,
}

impl Point {
    /// The sum of squares without the prior's.
    pub fn misfit(&self) -> f64 {
        dot(&self.residuals, &self.residuals)
    }
}

/// Slopes upwards and downwards of some numbers, and where they were taken.
pub struct Sides {
    x: Vec<f64>,
    of: Vec<Option<[Vec<f64>; 2]>>,
}

impl Sides {
    /// Whether a point is so near that slopes there are the same.
    fn hold(&self, x: &[f64], free: &[usize]) -> bool {
        free.iter().all(|&k| self.of[k].is_some() && (self.x[k] - x[k]).abs() <= DIFFERENCE)
    }

    fn of(&self, k: usize) -> impl Iterator<Item = (f64, f64)> {
        let both = self.of[k].iter().flat_map(|[up, down]| up.iter().zip(down));
        both.map(|(a, b)| (*a, *b))
    }

    /// Whichever way a number goes: the weaker of both.
    pub fn weaker(&self, k: usize) -> Vec<f64> {
        self.of(k).map(|(a, b)| if a * b <= 0.0 { 0.0 } else { a.abs().min(b.abs()).copysign(a) }).collect()
    }

    fn mean(&self, k: usize) -> Vec<f64> {
        self.of(k).map(|(a, b)| (a + b) / 2.0).collect()
    }
}

pub struct Search<'a, 'b, E> {
    pub knobs: &'a [Knob],
    /// Logarithm and error of what was seen.
    pub seen: Vec<(f64, f64)>,
    /// How far the logarithm of each moves although next to nothing was changed.
    chaos: Vec<f64>,
    simulate: &'a mut Simulate<'b, E>,
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
pub fn kept(knob: &Knob) -> f64 {
    knob.default.max(f64::MIN_POSITIVE).ln()
}

impl<'a, 'b, E> Search<'a, 'b, E> {
    pub fn new(knobs: &'a [Knob], seen: &[(f64, f64)], simulate: &'a mut Simulate<'b, E>) -> Search<'a, 'b, E> {
        let seen: Vec<(f64, f64)> = seen.iter().map(|(value, error)| (value.ln(), *error)).collect();
        Search { knobs, chaos: vec![0.0; seen.len()], seen, simulate }
    }

    /// Where the search begins.
    pub fn start(&self) -> Vec<f64> {
        self.knobs.iter().map(|k| k.start.clamp(k.least.max(f64::MIN_POSITIVE), k.most).ln()).collect()
    }

    /// How well what was seen is known.
    pub fn errors(&self) -> Vec<f64> {
        self.seen.iter().map(|(_, error)| *error).collect()
    }

    pub fn points(&mut self, all: Vec<Vec<f64>>) -> Result<Vec<Point>, E> {
        let machines: Vec<Vec<f64>> = all.iter().map(|x| self.values(x)).collect();
        let given = (self.simulate)(&machines)?;
        Ok(all.into_iter().zip(given).map(|(x, given)| self.point(x, given)).collect())
    }

    pub fn values(&self, x: &[f64]) -> Vec<f64> {
        let value = |(x, k): (&f64, &Knob)| if *x == kept(k) { k.default } else { x.exp().clamp(k.least, k.most) };
        x.iter().zip(self.knobs).map(value).collect()
    }

    pub fn point(&self, x: Vec<f64>, given: Given) -> Point {
        let residuals: Vec<f64> = self.seen.iter().zip(&given).map(|(s, g)| residual(*s, *g)).collect();
        let sum = residuals.iter().map(|r| r * r).sum::<f64>() + self.prior(&x);
        Point { x, given, residuals, sum }
    }

    fn prior(&self, x: &[f64]) -> f64 {
        let away = |(x, k): (&f64, &Knob)| if *x == kept(k) { 0.0 } else { ((x - k.start.ln()) / PRIOR).powi(2) };
        x.iter().zip(self.knobs).map(away).sum()
    }

    /// What moved between two points, as logarithms; nothing where the slightest change moves as much.
    fn moved<'s>(&'s self, from: &'s Point, to: &'s Point) -> impl Iterator<Item = Option<f64>> + 's {
        let moved =
            to.residuals.iter().zip(&from.residuals).zip(&self.seen).map(|((a, b), (_, error))| (a - b) * error);
        moved.zip(&self.chaos).map(|(moved, chaos)| (moved.abs() > CLEAR * chaos).then_some(moved))
    }

    /// What each of some numbers does when it is moved so far.
    fn rises(&mut self, here: &Point, which: &[usize], by: f64) -> Result<Slopes, E> {
        let moved = |k: &usize| {
            let mut x = here.x.clone();
            x[*k] += by;
            x
        };
        let there = self.points(which.iter().map(moved).collect())?;
        Ok(there.iter().map(|p| self.moved(here, p).map(|m| m.unwrap_or(0.0) / by).collect()).collect())
    }

    /// The slopes of some numbers on both sides of a point.
    fn sides(&mut self, here: &Point, which: &[usize]) -> Result<Sides, E> {
        let (up, down) = (self.rises(here, which, DIFFERENCE)?, self.rises(here, which, -DIFFERENCE)?);
        let mut of = vec![None; self.knobs.len()];
        which.iter().zip(up.into_iter().zip(down)).for_each(|(&k, (up, down))| of[k] = Some([up, down]));
        Ok(Sides { x: here.x.clone(), of })
    }

    /// Slopes in standard deviations of what was seen.
    pub fn weighted(&self, slope: &[f64]) -> Vec<f64> {
        slope.iter().zip(&self.seen).map(|(s, (_, error))| s / error).collect()
    }

    /// Towards what was seen as far as slopes lead that are taken here, if there are none yet.
    pub fn approach(&mut self, from: Point, slopes: Option<Slopes>) -> Result<(Point, Slopes), E> {
        let all: Vec<usize> = (0..self.knobs.len()).collect();
        let mut slopes = match slopes {
            Some(slopes) => slopes,
            None => self.rises(&from, &all, DIFFERENCE)?,
        };
        let there = self.follow(from, &all, &mut slopes)?;
        Ok((there, slopes))
    }

    /// To where slopes that are taken there lead no farther, by moving some numbers: that point and those slopes. Slopes of before are
    /// good enough if they were taken nearby.
    pub fn descend(
        &mut self,
        from: Point,
        free: &[usize],
        slopes: &mut Slopes,
        before: Option<Sides>,
    ) -> Result<(Point, Sides), E> {
        let mut here = self.follow(from, free, slopes)?;
        if let Some(before) = before.filter(|sides| sides.hold(&here.x, free)) {
            return Ok((here, before));
        }
        for left in (0..ANEW).rev() {
            let sides = self.sides(&here, free)?;
            free.iter().for_each(|&k| slopes[k] = sides.mean(k));
            let sum = here.sum;
            here = self.follow(here, free, slopes)?;
            if left == 0 || here.sum > (1.0 - WORTH) * sum {
                return Ok((here, sides));
            }
        }
        unreachable!("the last one returns")
    }

    /// Steps by these slopes, which are corrected by what each step gives, as long as they are worth it.
    fn follow(&mut self, from: Point, free: &[usize], slopes: &mut Slopes) -> Result<Point, E> {
        let mut here = from;
        for _ in 0..if free.is_empty() { 0 } else { STEPS } {
            let Some(better) = self.down(&here, free, slopes)? else { break };
            self.learn(slopes, free, &here, &better);
            let worth = better.sum < (1.0 - WORTH) * here.sum;
            here = better;
            if !worth {
                break;
            }
        }
        Ok(here)
    }

    /// A few steps until the sum of squares is no more than this, if it gets there.
    pub fn follow_to(
        &mut self,
        enough: f64,
        from: Point,
        free: &[usize],
        mut slopes: Slopes,
    ) -> Result<Option<Point>, E> {
        let mut here = from;
        for _ in 0..FEW {
            if here.misfit() <= enough || free.is_empty() {
                break;
            }
            let Some(better) = self.down(&here, free, &slopes)? else { break };
            self.learn(&mut slopes, free, &here, &better);
            here = better;
        }
        Ok((here.misfit() <= enough).then_some(here))
    }

    /// The best point of a step, if it is better than where it begins.
    fn down(&mut self, here: &Point, free: &[usize], slopes: &Slopes) -> Result<Option<Point>, E> {
        for dampings in DAMPINGS {
            let tries: Vec<Vec<f64>> = dampings.iter().filter_map(|d| self.step(here, slopes, free, *d)).collect();
            let best = self.points(tries)?.into_iter().min_by(|a, b| a.sum.total_cmp(&b.sum));
            if let Some(better) = best.filter(|p| p.sum < here.sum) {
                return Ok(Some(better));
            }
        }
        Ok(None)
    }

    /// Broyden's rule: the least change of the slopes by which they give what a step has given.
    fn learn(&self, slopes: &mut Slopes, free: &[usize], from: &Point, to: &Point) {
        let step: Vec<(usize, f64)> = free.iter().map(|&k| (k, to.x[k] - from.x[k])).collect();
        let square: f64 = step.iter().map(|(_, d)| d * d).sum();
        if square < JITTER * JITTER {
            return;
        }
        for (i, moved) in self.moved(from, to).enumerate() {
            let Some(moved) = moved else { continue };
            let more = (moved - step.iter().map(|(k, d)| slopes[*k][i] * d).sum::<f64>()) / square;
            step.iter().for_each(|(k, d)| slopes[*k][i] += more * d);
        }
    }

    /// Learns what no twin can repeat: what moves although next to nothing was changed.
    pub fn doubt(&mut self, here: Point) -> Result<Point, E> {
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
            self.chaos[i] = spread;
        }
        Ok(self.point(here.x, here.given))
    }

    /// Takes back numbers that are not told: to their defaults, but for those whose default makes the sum of squares larger by more than
    /// `clear`, which are limits that are not reached; and those.
    pub fn leave(&mut self, from: &Point, (left, lonely): Left<'_>, clear: f64) -> Result<(Point, Vec<usize>), E> {
        let knobs = self.knobs;
        let back = |which: &[usize]| {
            let mut x = from.x.clone();
            which.iter().for_each(|&k| x[k] = kept(&knobs[k]));
            x
        };
        let mut alone = self.points(lonely.iter().map(|k| back(&[*k])).collect())?;
        let unfit = |p: &Point| p.misfit() > from.misfit() + clear;
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

    fn step(&self, here: &Point, slopes: &Slopes, free: &[usize], damping: f64) -> Option<Vec<f64>> {
        let slopes: Vec<Vec<f64>> = free.iter().map(|&k| self.weighted(&slopes[k])).collect();
        let mut normal = normal(&slopes);
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
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Products of slopes, with the prior on the diagonal.
pub fn normal(slopes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = slopes.len();
    let own = |i: usize, j: usize| if i == j { PRIOR.powi(-2) } else { 0.0 };
    (0..n).map(|i| (0..n).map(|j| dot(&slopes[i], &slopes[j]) + own(i, j)).collect()).collect()
}

pub fn solve(a: Vec<Vec<f64>>, b: Vec<f64>) -> Option<Vec<f64>> {
    crate::numeric::levenberg::solve_square(a, b)
}
