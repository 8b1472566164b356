//! Order statistics and random deviates.

use spec::Rng;

/// The `q`-quantile (0 to 1) of finite values, interpolated between neighbours (Hyndman and Fan's type 7); none of none.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = q.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

/// The middle value.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The mean; none of none.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample's standard deviation (n-1); zero for fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    match (mean(values), values.len()) {
        (Some(m), n) if n > 1 => (values.iter().map(|v| (v - m) * (v - m)).sum::<f64>() / (n - 1) as f64).sqrt(),
        _ => 0.0,
    }
}

/// A normal deviate of mean 0 and variance 1 (Box and Muller).
pub fn normal(rng: &mut Rng) -> f64 {
    (2.0 * rng.exponential()).sqrt() * (2.0 * std::f64::consts::PI * rng.unit()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_statistics() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(quantile(&[1.0, 2.0], 1.0), Some(2.0));
        assert_eq!((median(&[]), mean(&[])), (None, None));
        assert_eq!(deviation(&[1.0, 3.0]), 2f64.sqrt());
    }

    #[test]
    fn normal_deviates_have_mean_zero_and_variance_one() {
        let mut rng = Rng::new(1, "normal", 0);
        let x: Vec<f64> = (0..20_000).map(|_| normal(&mut rng)).collect();
        assert!(mean(&x).unwrap().abs() < 0.03 && (deviation(&x) - 1.0).abs() < 0.03);
    }
}
