//! How the time of each test grows: section 6 of the paper, with what the tests do around their timed part.
//!
//! The paper has t = (2/3) N^3 / r for HPL and t = 4 V / r for RandomAccess. Rates come from a trial of each test on the machine itself.
//! HPL's small problem spends much of its time outside of matrix products; that part grows with N^2, the products at DGEMM's rate.

use crate::trial::Trial;
use spec::{Params, ReadParams};

/// Updates of a table for each of its words.
const UPDATES: f64 = 4.0;

/// A look at the processor's peak, before and after a product of matrices, takes about as long as making so many elements.
const PEAK: f64 = 4e6;
/// Looking at a word of a table takes about this part of the time of an update.
const LOOK: f64 = 1.0 / 8.0;

/// Operations of HPL that count.
pub fn hpl(n: f64) -> f64 {
    2.0 / 3.0 * n * n * n
}

/// Updates of a table of so many words.
pub fn updates(words: f64) -> f64 {
    UPDATES * words
}

/// How much a test has to do before a step, in it and after it, in units of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Amount {
    before: f64,
    step: f64,
    after: f64,
}

fn amount(kernel: &str, params: &Params) -> Amount {
    let around = |step: f64, around: f64| Amount { before: around, step, after: around };
    let same = |x: f64| around(x, x);
    let n = || params.count("n") as f64;
    match kernel {
        "hpl" => around(hpl(n()), n() * n()),
        "dgemm" => around(2.0 * n() * n() * n(), n() * n() + PEAK),
        "ptrans" => same(n() * n()),
        "random-access" | "random-access-mpi" => {
            let words = (params.count("bits") as f64).exp2();
            let made = match params.get("updates").map_or(0, |_| params.count("updates")) {
                0 => updates(words),
                asked => updates(words).min(asked as f64),
            };
            // The table is filled beforehand; afterwards the same updates are made once more, and every word is looked at.
            Amount { before: words, step: made, after: made + LOOK * words }
        }
        "fft" | "fft-mpi" => around(n() * n().log2().max(1.0), n()),
        "stream" => same(n()),
        // Messages of one size: as long as they are many.
        "ping-pong" => around((params.count("measurements") * (params.count("loops") + 1)) as f64, 1.0),
        "hpcc-rings" => {
            let rings = (params.count("rings") + 1) * params.count("measurements") * params.count("loops");
            around(rings as f64, 1.0)
        }
        _ => same(1.0),
    }
}

/// How often a test runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Often {
    /// Blocks, each with what is around it.
    pub blocks: u64,
    /// Steps of a block.
    pub steps: u32,
}

/// Seconds that a test will take, from trials of small problems; nothing if none was of it.
pub fn seconds(trials: &[Trial], kernel: &str, params: &Params, often: Often) -> Option<f64> {
    let alike = |t: &&Trial| t.of.kernel == kernel && t.of.params.get("size") == params.get("size");
    let trial = trials.iter().find(alike)?;
    let (small, large) = (amount(kernel, &trial.of.params), amount(kernel, params));
    let (before, mut after) = (large.before / small.before, large.after / small.after);
    let mut step = match (kernel, trials.iter().find(|t| t.of.kernel == "dgemm")) {
        ("hpl", Some(dgemm)) => {
            let grid = |params: &Params| (params.count("p") * params.count("q")).max(1) as f64;
            let rate = amount("dgemm", &dgemm.of.params).step / dgemm.step;
            let products = small.step / (rate * grid(&trial.of.params));
            // What is not products in the small problem: panels, swaps, messages.
            let rest = (trial.step - products).max(0.0);
            products * large.step / small.step + rest * before
        }
        _ => trial.step * large.step / small.step,
    };
    let bound = |name: &str| {
        let given = params.get(name).map(|_| params.time(name).secs());
        given.filter(|bound| *bound > 0.0).unwrap_or(f64::INFINITY)
    };
    // Fewer updates are made, and checked, if they would take longer than this.
    let share = (bound("time-bound") / step).min(1.0);
    step *= share;
    after *= share;
    let steps = (step * f64::from(often.steps)).min(bound("budget"));
    Some(trial.start * before + often.blocks as f64 * (trial.before * before + steps + trial.after * after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Among, Try};

    /// Table 3 of the paper: flops per cycle, GHz, GiB per processor, GUP/s; minutes of HPL and RandomAccess on 64 processors, on 256.
    const TABLE3: [(&str, [f64; 4], [f64; 4]); 5] = [
        ("IBM Power 4, Federation", [4.0, 1.7, 1.0, 0.002628189], [29.08, 108.9, 58.1, 435.7]),
        ("Cray X1, 2D torus", [16.0, 0.8, 4.0, 0.145440128], [123.6, 7.8, 247.2, 31.4]),
        ("Atipa Opteron, Myrinet 2000", [2.0, 1.4, 1.0, 0.003195448], [70.6, 89.6, 141.2, 358.4]),
        ("SGI Itanium 2, NUMAlink", [4.0, 1.5, 8.0, 0.003053927], [745.9, 750.0, 1491.9, 3000.2]),
        ("Voltaire Xeon, InfiniBand", [2.0, 2.4, 1.0, 0.000650427], [41.2, 440.2, 82.4, 1760.8]),
    ];
    /// The share of the peak that HPL reaches there: derived from the table, which does not print it.
    const OF_PEAK: f64 = 0.7;

    fn minutes([flops, ghz, gib, gups]: [f64; 4], processors: f64) -> [f64; 2] {
        let memory = processors * gib * f64::from(1u32 << 30);
        let rate = OF_PEAK * processors * flops * ghz * 1e9;
        [hpl((memory / 8.0).sqrt()) / rate / 60.0, updates(memory / 16.0) / (gups * 1e9) / 60.0]
    }

    #[test]
    fn table_3_of_the_paper_follows() {
        let near = |ours: f64, printed: f64| (ours / printed - 1.0).abs() < 0.01;
        for (name, system, printed) in TABLE3 {
            let ours = [minutes(system, 64.0), minutes(system, 256.0)].concat();
            let all = ours.iter().zip(printed).all(|(ours, printed)| near(*ours, printed));
            assert!(all, "{name}: {ours:?} where {printed:?} is printed");
        }
        // An entry that must not follow: the same machine with half the memory.
        let [half, _] = minutes([4.0, 1.7, 0.5, 0.002628189], 64.0);
        assert!(!near(half, 29.08), "{half}");
    }

    /// With memory per processor constant HPL's time grows with the root of the processors and RandomAccess' with their number.
    #[test]
    fn times_grow_as_section_6_says() {
        for (_, system, _) in TABLE3 {
            let ([hpl_64, ra_64], [hpl_256, ra_256]) = (minutes(system, 64.0), minutes(system, 256.0));
            assert!((hpl_256 / hpl_64 - 2.0).abs() < 1e-9 && (ra_256 / ra_64 - 4.0).abs() < 1e-9);
        }
    }

    #[test]
    fn trials_are_scaled() {
        let params =
            |list: &[(&str, &str)]| list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect::<Params>();
        let trial = |kernel, list: &[(&str, &str)], times: [f64; 4]| Trial {
            of: Try { kernel, params: params(list), among: Among::Each },
            start: times[0],
            before: times[1],
            step: times[2],
            after: times[3],
        };
        let trials = [
            trial("dgemm", &[("n", "100")], [0.0, 0.1, 0.002, 0.1]),
            trial("hpl", &[("n", "100"), ("p", "1"), ("q", "2")], [0.1, 0.1, 0.01, 0.1]),
            trial("random-access", &[("bits", "10")], [0.5, 0.5, 2.0, 0.5]),
        ];
        let often = Often { blocks: 1, steps: 1 };
        // 1e9 flop/s; (2/3) 1e6 of them on two ranks take a third of a millisecond, and the rest grows with the square.
        let products = 2.0 / 3.0 * 1e6 / 2e9;
        let expected = (0.1 + 0.2) * 100.0 + products * 1000.0 + (0.01 - products) * 100.0;
        let hpl = seconds(&trials, "hpl", &params(&[("n", "1000"), ("p", "1"), ("q", "2")]), often).unwrap();
        assert!((hpl / expected - 1.0).abs() < 1e-9, "{hpl} {expected}");
        let twice = Often { blocks: 2, steps: 3 };
        assert_eq!(
            seconds(&trials, "random-access", &params(&[("bits", "12")]), twice),
            Some(4.0 * (0.5 + 2.0 * (1.0 + 6.0)))
        );
        // A trial of a fourth of the updates, and a run that is cut to an eighth of the time that all of them would take.
        let few = [trial("random-access", &[("bits", "10"), ("updates", "1024")], [0.5, 0.5, 2.0, 0.5])];
        let (bits, after) = (("bits", "10"), 0.5 * (4096.0 + LOOK * 1024.0) / (1024.0 + LOOK * 1024.0));
        assert_eq!(seconds(&few, "random-access", &params(&[bits]), often), Some(0.5 + (0.5 + 8.0 + after)));
        let bound = params(&[bits, ("time-bound", "1s")]);
        assert_eq!(seconds(&few, "random-access", &bound, often), Some(0.5 + (0.5 + 1.0 + after / 8.0)));
        assert_eq!(seconds(&trials, "stream", &params(&[("n", "12")]), often), None);
    }
}
