//! Minimising a function of one number on an interval.

/// Steps of golden section; each keeps 61.8 % of the interval, so 44 leave 6e-10 of it: a minimum is not sharper than the
/// square root of rounding.
const STEPS: usize = 44;

/// The place and value of the smallest `f` in `[low, high]` if `f` has one valley there; some local one otherwise.
pub fn golden_section(mut low: f64, mut high: f64, f: &dyn Fn(f64) -> f64) -> (f64, f64) {
    let keep = (5f64.sqrt() - 1.0) / 2.0;
    let mut inner = [high - keep * (high - low), low + keep * (high - low)];
    let mut value = [f(inner[0]), f(inner[1])];
    for _ in 0..STEPS {
        if value[0] <= value[1] {
            high = inner[1];
            inner = [high - keep * (high - low), inner[0]];
            value = [f(inner[0]), value[0]];
        } else {
            low = inner[0];
            inner = [inner[1], low + keep * (high - low)];
            value = [value[1], f(inner[1])];
        }
    }
    let best = usize::from(value[1] < value[0]);
    (inner[best], value[best])
}

/// Halves `[inside, outside]` until the last place where `holds` is true is known; `holds(inside)` is taken for granted.
pub fn boundary(mut inside: f64, mut outside: f64, holds: &dyn Fn(f64) -> bool) -> f64 {
    // 40 halvings leave 1e-12 of the interval.
    for _ in 0..40 {
        let middle = 0.5 * (inside + outside);
        if holds(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_valley_and_an_edge() {
        let (x, y) = golden_section(0.0, 10.0, &|x| (x - 3.25) * (x - 3.25) + 1.0);
        assert!((x - 3.25).abs() < 1e-6 && (y - 1.0).abs() < 1e-12);
        assert!((boundary(0.0, 8.0, &|x| x < 5.5) - 5.5).abs() < 1e-9);
    }
}
