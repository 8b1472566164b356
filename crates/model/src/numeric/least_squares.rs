//! Linear least squares by Householder reflections, with and without the condition that no coefficient is negative.

/// A least-squares problem: rows of coefficients, their right-hand sides, each row already multiplied by its weight.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    columns: usize,
    rows: Vec<f64>,
    rhs: Vec<f64>,
}

/// Coefficients and the sum of squared residuals that is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// One coefficient per column; a column without influence has coefficient zero.
    pub x: Vec<f64>,
    /// Sum of squared weighted residuals.
    pub sse: f64,
}

/// A column whose part orthogonal to the others is below this share of its length has no influence of its own.
const RANK_TOLERANCE: f64 = 1e-11;

impl Problem {
    /// An empty problem with so many unknowns.
    pub fn new(columns: usize) -> Problem {
        Problem { columns, ..Problem::default() }
    }

    /// Adds one equation `coefficients * x = rhs` with a weight on its residual.
    pub fn row(&mut self, weight: f64, coefficients: &[f64], rhs: f64) {
        assert_eq!(coefficients.len(), self.columns, "every row has one coefficient per unknown");
        self.rows.extend(coefficients.iter().map(|c| c * weight));
        self.rhs.push(rhs * weight);
    }

    /// How many equations there are.
    pub fn len(&self) -> usize {
        self.rhs.len()
    }

    /// Whether there are no equations.
    pub fn is_empty(&self) -> bool {
        self.rhs.is_empty()
    }

    /// The sum of squared residuals at `x`.
    pub fn sse(&self, x: &[f64]) -> f64 {
        let residual = |(row, b): (&[f64], &f64)| row.iter().zip(x).map(|(c, x)| c * x).sum::<f64>() - b;
        self.rows.chunks_exact(self.columns).zip(&self.rhs).map(residual).map(|r| r * r).sum()
    }

    /// The least-squares solution over all columns.
    pub fn solve(&self) -> Solution {
        let all: Vec<usize> = (0..self.columns).collect();
        self.solve_columns(&all)
    }

    /// The least-squares solution with every coefficient at least zero. With few unknowns the set of positive ones is found
    /// by trying all sets, which cannot cycle or stop early as an active-set method can.
    pub fn solve_nonnegative(&self) -> Solution {
        assert!(self.columns <= 12, "all sets of columns are tried");
        // The compressed problem has one row more than columns, so this happens once.
        if self.len() > 2 * (self.columns + 1) {
            return self.compress().solve_nonnegative();
        }
        let mut best = Solution { x: vec![0.0; self.columns], sse: self.sse(&vec![0.0; self.columns]) };
        for mask in 1u32..1 << self.columns {
            let chosen: Vec<usize> = (0..self.columns).filter(|c| mask >> c & 1 == 1).collect();
            let found = self.solve_columns(&chosen);
            if found.sse < best.sse && found.x.iter().all(|&x| x >= 0.0) {
                best = found;
            }
        }
        best
    }

    /// A problem of as many rows as unknowns, and one more, with the same sum of squares at every x: the triangle of the
    /// orthogonal factorisation and the length of what it leaves. Saves trying sets of columns on all rows.
    fn compress(&self) -> Problem {
        let (m, n) = (self.len(), self.columns);
        let (mut a, scale) = self.scaled_columns(&(0..n).collect::<Vec<usize>>());
        let mut b = self.rhs.clone();
        let diagonal = triangulate(&mut a, &mut b);
        let mut small = Problem::new(n);
        for r in 0..n.min(m) {
            let entry = |c: usize| {
                if c == r {
                    diagonal[r]
                } else if c > r {
                    a[c][r]
                } else {
                    0.0
                }
            };
            let row: Vec<f64> = (0..n).map(|c| entry(c) * scale[c]).collect();
            small.row(1.0, &row, b[r]);
        }
        small.row(1.0, &vec![0.0; n], norm(&b[n.min(m)..]));
        small
    }

    /// The chosen columns, each of unit length, and their lengths.
    fn scaled_columns(&self, chosen: &[usize]) -> (Vec<Vec<f64>>, Vec<f64>) {
        let column = |&c: &usize| (0..self.len()).map(|r| self.rows[r * self.columns + c]).collect();
        let mut a: Vec<Vec<f64>> = chosen.iter().map(column).collect();
        let scale: Vec<f64> = a.iter().map(|col| norm(col)).collect();
        for (col, &s) in a.iter_mut().zip(&scale) {
            if s > 0.0 {
                col.iter_mut().for_each(|v| *v /= s);
            }
        }
        (a, scale)
    }

    /// Solves with the coefficients of all other columns held at zero. Columns are scaled to unit length first, because a
    /// latency column (1) and a size column (10^6 bytes) would otherwise lose half of the digits.
    fn solve_columns(&self, chosen: &[usize]) -> Solution {
        let (mut a, scale) = self.scaled_columns(chosen);
        let mut b = self.rhs.clone();
        let diagonal = triangulate(&mut a, &mut b);
        let y = back_substitute(&a, &diagonal, &b);
        let mut x = vec![0.0; self.columns];
        for ((&c, &s), y) in chosen.iter().zip(&scale).zip(y) {
            x[c] = if s > 0.0 { y / s } else { 0.0 };
        }
        let sse = self.sse(&x);
        Solution { x, sse }
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Householder's reduction to an upper triangle, in place: above the diagonal in `a`, the diagonal returned. Dependent
/// columns get a zero diagonal.
fn triangulate(a: &mut [Vec<f64>], b: &mut [f64]) -> Vec<f64> {
    let (n, m) = (a.len(), b.len());
    let mut diagonal = vec![0.0; n];
    for j in 0..n {
        if j >= m {
            break;
        }
        let length = norm(&a[j][j..]);
        // Columns come with unit length, so the bound is relative to the column.
        if length < RANK_TOLERANCE {
            continue;
        }
        // The sign opposite to the diagonal, so that the difference below loses no digits.
        let alpha = if a[j][j] > 0.0 { -length } else { length };
        let mut v = a[j][j..].to_vec();
        v[0] -= alpha;
        let vv: f64 = v.iter().map(|x| x * x).sum();
        let reflect = |target: &mut [f64]| {
            let f = 2.0 * v.iter().zip(target.iter()).map(|(x, y)| x * y).sum::<f64>() / vv;
            target.iter_mut().zip(&v).for_each(|(t, x)| *t -= f * x);
        };
        for col in a.iter_mut().skip(j + 1) {
            reflect(&mut col[j..]);
        }
        reflect(&mut b[j..]);
        diagonal[j] = alpha;
    }
    diagonal
}

fn back_substitute(a: &[Vec<f64>], diagonal: &[f64], b: &[f64]) -> Vec<f64> {
    let n = a.len();
    let mut x = vec![0.0; n];
    for j in (0..n).rev() {
        if diagonal[j] != 0.0 {
            let known: f64 = (j + 1..n).map(|c| a[c][j] * x[c]).sum();
            x[j] = (b[j] - known) / diagonal[j];
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points_of_very_different_size() {
        let mut p = Problem::new(2);
        for n in [1.0, 1e3, 1e6, 1e9] {
            p.row(1.0 / n, &[1.0, n], 2e-6 + n * 3e-10);
        }
        let s = p.solve();
        assert!((s.x[0] / 2e-6 - 1.0).abs() < 1e-9 && (s.x[1] / 3e-10 - 1.0).abs() < 1e-9, "{s:?}");
    }

    #[test]
    fn dependent_and_empty_columns_get_zero() {
        let mut p = Problem::new(3);
        for n in 1..6 {
            p.row(1.0, &[1.0, 2.0, 0.0], f64::from(n));
        }
        let s = p.solve();
        assert!((s.x[0] - 3.0).abs() < 1e-12 && s.x[1] == 0.0 && s.x[2] == 0.0, "{s:?}");
        assert!(Problem::new(2).solve().x.iter().all(|x| *x == 0.0));
    }

    #[test]
    fn compressing_keeps_the_sum_of_squares() {
        let mut rng = spec::Rng::new(2, "compress", 0);
        let mut p = Problem::new(3);
        for _ in 0..50 {
            p.row(rng.unit() + 0.1, &[1.0, 1e6 * rng.unit(), rng.unit()], rng.unit());
        }
        let small = p.compress();
        assert_eq!(small.len(), 4);
        for x in [[0.0; 3], [1.0, 1e-6, -2.0], [-0.3, 2e-6, 0.5]] {
            assert!((small.sse(&x) / p.sse(&x) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn negative_coefficients_are_avoided() {
        let mut p = Problem::new(2);
        for n in [1.0, 2.0, 3.0] {
            p.row(1.0, &[1.0, n], 4.0 - n);
        }
        assert!(p.solve().x[1] < 0.0);
        let s = p.solve_nonnegative();
        assert_eq!(s.x[1], 0.0);
        assert!((s.x[0] - 2.0).abs() < 1e-12);
    }
}
