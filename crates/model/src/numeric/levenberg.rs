//! Levenberg-Marquardt: least squares of residuals that are not linear in the unknowns.
//!
//! Residuals and unknowns should be of order one (scale residuals, use logarithms of rates): the derivative step and the
//! stopping rule are relative.

/// Where the search ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// The unknowns.
    pub x: Vec<f64>,
    /// Sum of squared residuals there.
    pub sse: f64,
    /// Unknowns whose derivative vanished at the end: the data say nothing about them ("dead" parameters).
    pub dead: Vec<usize>,
}

/// Steps until the search gives up; the fits here need 10 to 40.
const MAX_STEPS: usize = 200;
/// The search ends when a step lowers the sum of squares by less than this share.
const ENOUGH: f64 = 1e-14;
/// Damping beyond which no step can make progress in double precision.
const MAX_DAMPING: f64 = 1e16;

/// Minimises the sum of squares of `residuals(x)` from a start. A start whose residuals are not finite is returned as it is,
/// with an infinite sum.
pub fn minimise(start: &[f64], residuals: &dyn Fn(&[f64]) -> Vec<f64>) -> Minimum {
    let mut x = start.to_vec();
    let mut r = residuals(&x);
    let mut sse = sum_of_squares(&r);
    if !sse.is_finite() {
        return Minimum { x, sse: f64::INFINITY, dead: Vec::new() };
    }
    let mut damping = 1e-3;
    for _ in 0..MAX_STEPS {
        let jacobian = jacobian(&x, residuals);
        let Some((next, next_r, next_sse)) = step(&x, &r, sse, &jacobian, &mut damping, residuals) else { break };
        let gain = sse - next_sse;
        (x, r) = (next, next_r);
        sse = next_sse;
        if gain <= ENOUGH * sse {
            break;
        }
    }
    let columns = jacobian(&x, residuals);
    let length = |c: &Vec<f64>| sum_of_squares(c).sqrt();
    let longest = columns.iter().map(length).fold(0.0, f64::max);
    let dead = (0..x.len()).filter(|&i| length(&columns[i]) <= 1e-9 * longest).collect();
    Minimum { x, sse, dead }
}

type Point = (Vec<f64>, Vec<f64>, f64);

/// One accepted step, with more damping until the sum of squares falls; none if no damping helps.
fn step(
    x: &[f64],
    r: &[f64],
    sse: f64,
    jacobian: &[Vec<f64>],
    damping: &mut f64,
    residuals: &dyn Fn(&[f64]) -> Vec<f64>,
) -> Option<Point> {
    let n = x.len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let gradient: Vec<f64> = jacobian.iter().map(|c| dot(c, r)).collect();
    let normal: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| dot(&jacobian[i], &jacobian[j])).collect()).collect();
    while *damping < MAX_DAMPING {
        let mut a = normal.clone();
        for (i, row) in a.iter_mut().enumerate() {
            // A dead unknown has a zero diagonal; any positive number keeps it where it is.
            row[i] += *damping * if normal[i][i] > 0.0 { normal[i][i] } else { 1.0 };
        }
        if let Some(delta) = solve_square(a, gradient.clone()) {
            let next: Vec<f64> = x.iter().zip(&delta).map(|(x, d)| x - d).collect();
            let next_r = residuals(&next);
            let next_sse = sum_of_squares(&next_r);
            if next_sse < sse {
                *damping = (*damping * 0.3).max(1e-12);
                return Some((next, next_r, next_sse));
            }
        }
        *damping *= 4.0;
    }
    None
}

/// Central differences: the models here cost nanoseconds, and no derivative can be written wrongly.
fn jacobian(x: &[f64], residuals: &dyn Fn(&[f64]) -> Vec<f64>) -> Vec<Vec<f64>> {
    (0..x.len())
        .map(|i| {
            let h = 1e-6 * x[i].abs().max(1e-2);
            let at = |v: f64| {
                let mut p = x.to_vec();
                p[i] = v;
                residuals(&p)
            };
            at(x[i] + h).iter().zip(&at(x[i] - h)).map(|(a, b)| (a - b) / (2.0 * h)).collect()
        })
        .collect()
}

fn sum_of_squares(r: &[f64]) -> f64 {
    r.iter().map(|x| x * x).sum()
}

/// Gauss elimination with row exchanges; none if the matrix is singular or not finite.
pub(crate) fn solve_square(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    for c in 0..n {
        let pivot = (c..n).max_by(|&i, &j| a[i][c].abs().total_cmp(&a[j][c].abs()))?;
        if a[pivot][c] == 0.0 || !a[pivot][c].is_finite() {
            return None;
        }
        a.swap(c, pivot);
        b.swap(c, pivot);
        let (top, rest) = a.split_at_mut(c + 1);
        for (i, row) in rest.iter_mut().enumerate() {
            let f = row[c] / top[c][c];
            row.iter_mut().zip(&top[c]).skip(c).for_each(|(x, y)| *x -= f * y);
            b[c + 1 + i] -= f * b[c];
        }
    }
    for r in (0..n).rev() {
        let known: f64 = (r + 1..n).map(|k| a[r][k] * b[k]).sum();
        b[r] = (b[r] - known) / a[r][r];
    }
    b.iter().all(|v| v.is_finite()).then_some(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rosenbrocks_valley() {
        let m = minimise(&[-1.2, 1.0], &|x| vec![10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0]]);
        assert!(m.sse < 1e-16 && (m.x[0] - 1.0).abs() < 1e-7 && (m.x[1] - 1.0).abs() < 1e-7, "{m:?}");
        assert!(m.dead.is_empty());
    }

    #[test]
    fn a_dead_unknown_is_named_and_stays() {
        let m = minimise(&[0.0, 7.0], &|x| vec![x[0] - 3.0, 2.0 * (x[0] - 3.0) + 1.0]);
        assert_eq!(m.dead, [1]);
        assert_eq!(m.x[1], 7.0);
        assert!((m.x[0] - 2.6).abs() < 1e-6);
    }

    #[test]
    fn a_start_that_is_not_finite_is_refused() {
        assert_eq!(minimise(&[1.0], &|_| vec![f64::NAN]).sse, f64::INFINITY);
    }
}
