//! What a figure of merit is held against: a number in the unit shown, a quantity with its unit, or a share of a reference.

/// One side of a requirement.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// A number in the unit that the figure is shown in.
    Shown(f64),
    /// A number with a unit of its own.
    Quantity(f64, Unit),
    /// So many times what the reference has.
    OfReference(f64),
}

/// A unit that figures of merit have, or that people write for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    name: &'static str,
    kind: Kind,
    /// How many base units it is.
    factor: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Time,
    Rate,
    Bytes,
    Flops,
    Updates,
    Count,
    Factor,
}

const fn unit(name: &'static str, kind: Kind, factor: f64) -> Unit {
    Unit { name, kind, factor }
}

/// Every unit. Rates of a rank are rates: `/rank` may stand behind them.
const UNITS: &[Unit] = &[
    unit("s", Kind::Time, 1.0),
    unit("ms", Kind::Time, 1e-3),
    unit("us", Kind::Time, 1e-6),
    unit("usec", Kind::Time, 1e-6),
    unit("ns", Kind::Time, 1e-9),
    unit("B/s", Kind::Rate, 1.0),
    unit("kB/s", Kind::Rate, 1e3),
    unit("MB/s", Kind::Rate, 1e6),
    unit("GB/s", Kind::Rate, 1e9),
    unit("TB/s", Kind::Rate, 1e12),
    unit("KiB/s", Kind::Rate, 1024.0),
    unit("MiB/s", Kind::Rate, 1048576.0),
    unit("GiB/s", Kind::Rate, 1073741824.0),
    unit("B", Kind::Bytes, 1.0),
    unit("KiB", Kind::Bytes, 1024.0),
    unit("MiB", Kind::Bytes, 1048576.0),
    unit("flop/s", Kind::Flops, 1.0),
    unit("Mflop/s", Kind::Flops, 1e6),
    unit("Gflop/s", Kind::Flops, 1e9),
    unit("Tflop/s", Kind::Flops, 1e12),
    unit("Pflop/s", Kind::Flops, 1e15),
    unit("updates/s", Kind::Updates, 1.0),
    unit("MUP/s", Kind::Updates, 1e6),
    unit("GUP/s", Kind::Updates, 1e9),
    unit("/s", Kind::Count, 1.0),
    unit("x", Kind::Factor, 1.0),
];

fn named(name: &str) -> Option<Unit> {
    let name = name.strip_suffix("/rank").unwrap_or(name);
    UNITS.iter().find(|u| u.name == name).copied()
}

/// How to write a limit.
pub const EXAMPLES: &str = "`2`, `5 us`, `10 GB/s` or `1.1 x reference`";

impl Limit {
    /// Reads `2`, `5 us`, `90 % of reference` or `1.1 x reference`.
    pub fn parse(text: &str) -> Result<Limit, String> {
        let bad = || format!("`{text}` is not a limit; write it like {EXAMPLES}");
        let text = text.trim();
        let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+' | 'e' | 'E')).unwrap_or(text.len());
        let number: f64 = text[..end].parse().map_err(|_| bad())?;
        if !number.is_finite() {
            return Err(bad());
        }
        Ok(match text[end..].split_whitespace().collect::<Vec<_>>().as_slice() {
            [] => Limit::Shown(number),
            ["x" | "times" | "of", "reference"] => Limit::OfReference(number),
            ["%", "of", "reference"] => Limit::OfReference(number / 100.0),
            [name] => Limit::Quantity(number, named(name).ok_or_else(bad)?),
            _ => return Err(bad()),
        })
    }

    /// The limit in the unit that the figure is shown in; `reference` is what the reference has, in that unit.
    pub fn value(&self, shown: &str, reference: Option<f64>) -> Result<f64, String> {
        match *self {
            Limit::Shown(value) => Ok(value),
            Limit::Quantity(value, unit) => match named(shown) {
                Some(of) if of.kind == unit.kind => Ok(value * unit.factor / of.factor),
                _ => Err(format!("it is in {shown}, which {} cannot be compared with", unit.name)),
            },
            Limit::OfReference(times) => {
                reference.map(|value| value * times).ok_or_else(|| "the reference has no such figure".to_string())
            }
        }
    }

    /// Whether a reference is needed.
    pub fn is_relative(&self) -> bool {
        matches!(self, Limit::OfReference(_))
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Shown(value) => write!(f, "{value}"),
            Limit::Quantity(value, unit) => write!(f, "{value} {}", unit.name),
            Limit::OfReference(times) => write!(f, "{times} x reference"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_in_the_unit_of_the_figure() {
        let value = |text: &str, shown: &str| Limit::parse(text).unwrap().value(shown, Some(10.0));
        assert_eq!(value("2", "usec"), Ok(2.0));
        assert_eq!(value("1.5 ms", "usec"), Ok(1500.0));
        assert_eq!(value("2 MiB/s", "MiB/s/rank"), Ok(2.0));
        assert_eq!(value("3 GB/s", "B/s"), Ok(3e9));
        assert_eq!(value("90 % of reference", "x"), Ok(9.0));
        assert_eq!(value("1.1 x reference", "x"), Ok(11.0));
        assert!(value("2 us", "MiB/s/rank").unwrap_err().contains("cannot be compared"));
        for text in ["", "x", "nan", "1e999", "2 parsecs", "2 x", "1 of", "5 us us", "1 x references"] {
            // A factor may carry its sign: `2 x` is what reports print.
            assert_eq!(Limit::parse(text).is_ok(), text == "2 x", "{text}");
        }
        assert!(Limit::parse("1 x reference").unwrap().value("x", None).is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["2", "5 us", "0.9 x reference", "-1e-3", "12 Tflop/s"] {
            let limit = Limit::parse(text).unwrap();
            assert_eq!(Limit::parse(&limit.to_string()), Ok(limit));
        }
    }
}
