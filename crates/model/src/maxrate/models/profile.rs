//! Fitting through the saturation count r: for a fixed r models (3) and (3a) are linear, so r alone is searched. This avoids the
//! dead parameters of a search over rates: where R_N < k R_C for all k the derivative with respect to R_C vanishes, and a
//! gradient method started there never moves it.

use super::{Data, Limit, Raw};
use crate::numeric::least_squares::{Problem, Solution};
use crate::numeric::search::{boundary, golden_section};

/// Points of the logarithmic grid over [1, most pairs], besides the whole numbers.
const GRID: usize = 40;
/// r this close to the largest k (2 %) means that the node's rate was not reached.
const NOT_REACHED: f64 = 0.98;
/// r this close to 1 (2 %) means that one pair already fills the node, or that the latency grows with k.
const NOT_SEPARABLE: f64 = 1.02;

/// A linear model for fixed r: the coefficients of one point at (bytes, pairs, r).
pub struct Family {
    /// Number of coefficients; the last belongs to the inverse rate.
    pub columns: usize,
    /// The row of a point.
    pub row: fn(n: f64, k: f64, r: f64, out: &mut [f64]),
}

/// The least squares over the coefficients and r, all at least zero. Theta is the coefficients followed by r.
pub fn fit(data: &Data<'_>, family: &Family) -> Raw {
    let most = data.most_pairs();
    let solve = |r: f64| solve(data, family, r);
    let grid = grid(most);
    let sums: Vec<f64> = grid.iter().map(|&r| solve(r).sse).collect();
    let best = (0..grid.len()).min_by(|&i, &j| sums[i].total_cmp(&sums[j])).expect("the grid is not empty");
    let (low, high) = (grid[best.saturating_sub(1)], grid[(best + 1).min(grid.len() - 1)]);
    let (mut r, mut sse) = golden_section(low, high, &|r| solve(r).sse);
    // The sum has kinks where r is a measured k, so golden section can end above the best of the grid.
    if sums[best] <= sse {
        (r, sse) = (grid[best], sums[best]);
    }
    let mut theta = solve(r).x;
    let limits = limits(data, &grid, &sums, (r, sse), &|r| solve(r), family.columns + 1);
    theta.push(r);
    Raw { theta, sse, limits }
}

fn solve(data: &Data<'_>, family: &Family, r: f64) -> Solution {
    let mut problem = Problem::new(family.columns);
    let mut row = vec![0.0; family.columns];
    for p in data.points {
        (family.row)(p.bytes as f64, f64::from(p.pairs), r, &mut row);
        problem.row(data.weighting.of(p), &row, p.seconds);
    }
    problem.solve_nonnegative()
}

/// Every whole number up to 64 (a kink can sit on a measured k) and a logarithmic grid, in order.
fn grid(most: f64) -> Vec<f64> {
    let mut grid: Vec<f64> = (1..=most.min(64.0) as u32).map(f64::from).collect();
    grid.extend((0..GRID).map(|i| most.powf(i as f64 / (GRID - 1) as f64).clamp(1.0, most)));
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    grid
}

/// The profile interval of r is where SSE <= SSE_min (1 + 4/dof), about two standard deviations; what it touches is said. If it
/// reaches the largest k, the node's rate at its lower end is all that the data warrant.
fn limits(
    data: &Data<'_>,
    grid: &[f64],
    sums: &[f64],
    (r, sse): (f64, f64),
    at: &dyn Fn(f64) -> Solution,
    freedom: usize,
) -> Vec<Limit> {
    let most = data.most_pairs();
    let dof = data.points.len().saturating_sub(freedom).max(1) as f64;
    // Data without noise leave a sum of squares that is rounding only; the second term keeps the interval from being empty.
    let allowed = sse * (1.0 + 4.0 / dof) + 1e-24 * data.scale();
    let holds = |x: f64| at(x).sse <= allowed;
    let inside = |i: &usize| sums[*i] <= allowed;
    let first = (0..grid.len()).find(inside).map_or(r, |i| grid[i].min(r));
    let last = (0..grid.len()).rev().find(inside).map_or(r, |i| grid[i].max(r));
    let before = grid.iter().rev().find(|&&g| g < first).map_or(first, |&g| boundary(first, g, &holds));
    let after = grid.iter().find(|&&g| g > last).map_or(last, |&g| boundary(last, g, &holds));
    let slope = at(before).x.last().copied().unwrap_or(0.0);
    if most > 1.0 && before <= NOT_SEPARABLE {
        vec![Limit::RatesNotSeparable]
    } else if after >= NOT_REACHED * most && slope > 0.0 {
        vec![Limit::NodeRateNotReached { at_least: before / slope, pairs: most as u32 }]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_ordered_and_covers_the_interval() {
        for most in [1.0, 2.0, 16.0, 1000.0] {
            let g = grid(most);
            assert!(g[0] == 1.0 && *g.last().unwrap() == most && g.windows(2).all(|w| w[0] < w[1]), "{g:?}");
        }
    }
}
