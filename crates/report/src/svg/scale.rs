//! From values to places: linear or logarithmic, with ticks at numbers that people like.

/// How values are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal differences.
    Linear,
    /// Equal ratios.
    Log,
    /// Equal differences of whole numbers.
    Whole,
    /// Equal differences of seconds since 1970, read as dates.
    Dates,
}

/// A scale from `low..high` to places `from..to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    spacing: Spacing,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// A place worth a line, and a label if it has one.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value there.
    pub value: f64,
    /// What to write, or nothing for a minor tick.
    pub label: Option<String>,
}

/// No picture shows more than this ratio of values; smaller ones lie on its edge.
const NARROW: f64 = 1e-15;

impl Scale {
    /// Linear from a good number at or below `low` to one at or above `high`.
    pub fn linear(low: f64, high: f64) -> Scale {
        let (low, high) = if low < high { (low, high) } else { (low - 0.5, low + 0.5) };
        let step = step(high - low);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Scale { spacing: Spacing::Linear, low, high, from: 0.0, to: 1.0 }
    }

    /// Linear over whole numbers: ticks stand at none but these.
    pub fn whole(low: f64, high: f64) -> Scale {
        let (low, high) = if low < high { (low, high) } else { (low - 1.0, low + 1.0) };
        let step = step(high - low).max(1.0);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Scale { spacing: Spacing::Whole, low, high, from: 0.0, to: 1.0 }
    }

    /// Linear over seconds since 1970, with ticks that are dates and a little room on both sides.
    pub fn dates(low: f64, high: f64) -> Scale {
        let room = ((high - low) * 0.02).max(1.0);
        Scale { spacing: Spacing::Dates, low: low - room, high: high + room, from: 0.0, to: 1.0 }
    }

    /// Logarithmic, around values that must be above 0, with a little room on both sides.
    pub fn log(low: f64, high: f64) -> Scale {
        assert!(low > 0.0 && high.is_finite(), "a logarithmic scale has values above 0");
        let (low, high) = if low < high { (low.max(high * NARROW), high) } else { (low / 1.5, low * 1.5) };
        // Three hundredths of the span in the logarithm, which is what the eye sees.
        let room = (high / low).powf(0.03);
        Scale { spacing: Spacing::Log, low: low / room, high: high * room, from: 0.0, to: 1.0 }
    }

    /// The same values on other places.
    pub fn over(self, from: f64, to: f64) -> Scale {
        Scale { from, to, ..self }
    }

    /// The lowest and highest value.
    pub fn domain(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Where a value lies; values outside lie on the edge.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.spacing {
            Spacing::Linear | Spacing::Whole | Spacing::Dates => (value - self.low) / (self.high - self.low),
            // 0 has no logarithm; it lies on the lower edge as everything below the scale does.
            Spacing::Log => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Ticks within the scale, in rising order.
    pub fn ticks(&self) -> Vec<Tick> {
        let decades = (self.high / self.low).log10();
        match self.spacing {
            // Over less than a factor of 5 too few powers, twos and fives are in sight to read values by.
            Spacing::Log if decades >= 0.7 => self.decades(decades),
            Spacing::Dates => super::dates::ticks(self.low, self.high),
            Spacing::Whole => self.even(1.0),
            Spacing::Log | Spacing::Linear => self.even(0.0),
        }
    }

    fn even(&self, least: f64) -> Vec<Tick> {
        let step = step(self.high - self.low).max(least);
        // The ends of a linear scale are multiples of the step, but a quotient may miss its whole number by rounding.
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|i| tick(i as f64 * step)).collect()
    }

    /// Powers of ten; between them 2 and 5 where few powers are in sight, else unlabelled ticks.
    fn decades(&self, decades: f64) -> Vec<Tick> {
        // About six labels fit; the other powers keep their ticks.
        let stride = (decades / 6.0).ceil() as i32;
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().floor() as i32);
        let mut ticks = Vec::new();
        for exponent in first..=last {
            for digit in 1..=9 {
                let value = f64::from(digit) * 10f64.powi(exponent);
                if value < self.low * (1.0 - 1e-9) || value > self.high * (1.0 + 1e-9) {
                    continue;
                }
                let labelled = match digit {
                    // Exponents may be negative.
                    1 => exponent.rem_euclid(stride) == 0,
                    2 | 5 => decades < 2.0,
                    _ => false,
                };
                if labelled {
                    ticks.push(tick(value));
                } else if decades < 4.0 || digit == 1 {
                    ticks.push(Tick { value, label: None });
                }
            }
        }
        ticks
    }
}

fn tick(value: f64) -> Tick {
    Tick { value, label: Some(short(value)) }
}

/// The step of 1, 2 or 5 times a power of ten that gives 4 to 9 ticks over a span.
fn step(span: f64) -> f64 {
    let raw = span / 6.0;
    let power = 10f64.powf(raw.log10().floor());
    power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| raw / power <= m + 1e-9).unwrap_or(10.0)
}

/// A tick's value in few characters: `0.5`, `20`, `10k`, `3M`, `1e-6`.
pub fn short(x: f64) -> String {
    let trim = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    };
    let a = x.abs();
    match a {
        0.0 => "0".into(),
        // Limits lie half a last digit below the power, so that what rounds up to it is written with its prefix.
        _ if a >= 999_999_999.5 => trim(format!("{:.3}", x / 1e9)) + "G",
        _ if a >= 999_999.5 => trim(format!("{:.3}", x / 1e6)) + "M",
        _ if a >= 9_999.5 => trim(format!("{:.3}", x / 1e3)) + "k",
        _ if a >= 0.000_999_5 => trim(format!("{x:.*}", (3 - a.log10().floor() as i32).max(0) as usize)),
        _ => {
            let exponent = a.log10().floor() as i32;
            let exponent = if a / 10f64.powi(exponent) >= 9.9995 { exponent + 1 } else { exponent };
            trim(format!("{:.3}", x / 10f64.powi(exponent))) + &format!("e{exponent}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale) -> Vec<String> {
        scale.ticks().into_iter().filter_map(|t| t.label).collect()
    }

    #[test]
    fn ticks_are_numbers_people_like() {
        assert_eq!(labels(Scale::linear(0.0, 97.0)), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(Scale::linear(-0.3, 0.31)), ["-0.4", "-0.2", "0", "0.2", "0.4"]);
        assert_eq!(labels(Scale::whole(1.0, 3.0)), ["1", "2", "3"]);
        assert_eq!(labels(Scale::log(1.0, 1e5)), ["1", "10", "100", "1000", "10k", "100k"]);
        assert_eq!(labels(Scale::log(1.7, 40.0)), ["2", "5", "10", "20"]);
        assert_eq!(labels(Scale::log(1e-7, 1.0)), ["1e-6", "1e-4", "0.01", "1"]);
    }

    #[test]
    fn every_scale_has_ticks_within_it_and_places_within_bounds() {
        for (low, high) in [(1.0, 1.0), (1.0, 1.02), (0.9, 1.4), (3.0, 3e9), (1e-12, 1e-11), (5e-324, 1.0)] {
            for scale in [Scale::log(low, high), Scale::linear(low, high)] {
                let scale = scale.over(10.0, 110.0);
                let ticks = scale.ticks();
                let labelled = ticks.iter().filter(|t| t.label.is_some()).count();
                assert!((2..=12).contains(&labelled), "{low} {high} {ticks:?}");
                assert!(ticks.iter().all(|t| (10.0..=110.0).contains(&scale.at(t.value))));
                assert!((10.0..=110.0).contains(&scale.at(-1.0)) && (10.0..=110.0).contains(&scale.at(f64::INFINITY)));
            }
        }
    }

    #[test]
    fn short_numbers() {
        for (x, text) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (1500.0, "1500"),
            (20_000.0, "20k"),
            (2.5e6, "2.5M"),
            (1e-6, "1e-6"),
            (3e-5, "3e-5"),
            (1e12, "1000G"),
            (-0.2, "-0.2"),
        ] {
            assert_eq!(short(x), text);
        }
    }
}
