//! What torus and HyperX share: switches at the points of a grid, written `8x8x8`.

use super::Switch;
use spec::{Params, Rate, ReadParams, parse_rate};

/// Up to so many dimensions all their 24 orders are tried.
const FEW_DIMENSIONS: usize = 4;

/// More switches than this are a mistake.
const MOST_SWITCHES: usize = 1 << 20;

/// A grid of switches; the first dimension changes fastest.
pub(super) struct Grid {
    pub(super) sizes: Vec<u16>,
    /// Each switch's coordinates, one after another.
    points: Vec<u16>,
}

impl Grid {
    /// Reads `AxBxC`, or says what is wrong with it.
    pub(super) fn read(name: &str, text: &str, most: usize) -> Result<Grid, String> {
        let bad = |why: &str| format!("{name}: dims={text}: {why}; write sizes like 8x8x4");
        let sizes: Vec<u16> = text
            .split('x')
            .map(|n| n.trim().parse::<u16>().ok().filter(|&n| n > 0))
            .collect::<Option<_>>()
            .ok_or_else(|| bad("not a list of sizes"))?;
        if sizes.len() > most {
            return Err(bad(&format!("at most {most} dimensions")));
        }
        // Five sizes of 16 bits may be more than a number holds.
        let switches = sizes.iter().try_fold(1usize, |all, &n| all.checked_mul(usize::from(n)));
        let Some(switches) = switches.filter(|&all| all <= MOST_SWITCHES) else {
            return Err(bad(&format!("too many switches, at most {MOST_SWITCHES}")));
        };
        let mut points = Vec::with_capacity(switches * sizes.len());
        for s in 0..switches {
            let mut rest = s;
            for &n in &sizes {
                points.push((rest % usize::from(n)) as u16);
                rest /= usize::from(n);
            }
        }
        Ok(Grid { sizes, points })
    }

    pub(super) fn switches(&self) -> usize {
        self.points.len() / self.sizes.len()
    }

    /// The coordinates of a switch.
    #[inline]
    pub(super) fn point(&self, s: Switch) -> &[u16] {
        let d = self.sizes.len();
        &self.points[s as usize * d..s as usize * d + d]
    }

    /// The switch that lies `to` in dimension `d` and where `s` does in all others.
    pub(super) fn moved(&self, s: Switch, d: usize, to: u16) -> Switch {
        let stride: u32 = self.sizes[..d].iter().map(|&n| u32::from(n)).product();
        // Added first, because the way to a lower place is negative.
        s + u32::from(to) * stride - u32::from(self.point(s)[d]) * stride
    }

    /// The part in which a switch is simulated: slices of the last dimension, at most 16.
    pub(super) fn part(&self, s: Switch) -> u32 {
        // `read` makes at least one dimension: an empty text is not a list of sizes.
        let (at, size) =
            (u32::from(*self.point(s).last().expect("a dimension")), u32::from(*self.sizes.last().expect("one")));
        at * size.min(16) / size
    }

    /// The switches along each dimension: in every order of the dimensions if they are few, else with each of them once as
    /// the slowest. Where the slowest has an odd size, the second slowest halves its middle slice.
    pub(super) fn orders(&self) -> Vec<Vec<Switch>> {
        let d = self.sizes.len();
        let mut dimensions: Vec<Vec<usize>> = vec![Vec::new()];
        if d <= FEW_DIMENSIONS {
            for next in 0..d {
                let longer = |p: Vec<usize>| (0..=p.len()).map(move |at| [&p[..at], &[next], &p[at..]].concat());
                dimensions = dimensions.into_iter().flat_map(longer).collect();
            }
        } else {
            dimensions = (0..d).map(|first| (first..d).chain(0..first).collect()).collect();
        }
        let along = |slowest_first: Vec<usize>| {
            let mut order: Vec<Switch> = (0..self.switches() as Switch).collect();
            order.sort_by_cached_key(|&s| slowest_first.iter().map(|&d| self.point(s)[d]).collect::<Vec<_>>());
            order
        };
        dimensions.into_iter().map(along).collect()
    }

    /// Refuses a grid that is too small for the machine.
    pub(super) fn fits(&self, name: &str, endpoints: usize, per_switch: usize) -> Result<(), String> {
        if per_switch == 0 || per_switch > 4096 {
            return Err(format!("{name}: endpoints={per_switch}: choose 1 to 4096 per switch"));
        }
        let room = self.switches() * per_switch;
        if room < endpoints {
            return Err(format!(
                "{name}: dims: {} switches with {per_switch} endpoints each have room for {room} and the machine has \
                 {endpoints}; choose larger dims or more endpoints per switch",
                self.switches()
            ));
        }
        Ok(())
    }

    /// One rate per dimension from a list: one for all, or one for each.
    pub(super) fn rates(&self, name: &str, params: &Params) -> Result<Vec<Rate>, String> {
        let texts = params.names("rate");
        let rates: Result<Vec<Rate>, String> =
            texts.iter().map(|t| parse_rate(t).map_err(|e| format!("{name}: rate: {e}"))).collect();
        let rates = rates?;
        if let Some(slow) = rates.iter().find(|r| r.bytes_per_s() < 1e6) {
            return Err(format!("{name}: rate={slow}: too low; at least 1MB/s"));
        }
        match rates.len() {
            1 => Ok(vec![rates[0]; self.sizes.len()]),
            n if n == self.sizes.len() => Ok(rates),
            n => Err(format!("{name}: rate: {n} rates for {} dimensions; give one, or one for each", self.sizes.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_that_no_number_holds_are_refused() {
        for dims in ["32768x32768x32768x32768x32768", "2048x1024"] {
            let said = Grid::read("torus", dims, 5).err().expect(dims);
            assert!(said.contains(dims) && said.contains("too many switches"), "{said}");
        }
        assert_eq!(Grid::read("torus", "1024x1024", 5).map(|g| g.switches()).ok(), Some(1 << 20));
    }
}
