//! The corpus, whose findings of before must not come back, and some thousand changes of each of its inputs. Without coverage, but in
//! every check; the long run is `scripts/fuzz`.

use spec::Rng;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use tailback_fuzz::{TARGETS, Target};

/// Changes of inputs of each target. Pages of whole records take a hundred times what a unit takes.
fn tries(target: &Target) -> usize {
    match target.name {
        "record" | "record-edited" | "hpcc-output" | "systems" => 150,
        "plan-edited" | "suite" | "hpcc-input" => 1_000,
        _ => 5_000,
    }
}

/// What is put into inputs: what numbers and formats break at.
const WORDS: [&str; 16] = [
    "0",
    "-1",
    "18446744073709551615",
    "4294967296",
    "1e308",
    "NaN",
    "\n",
    "\0",
    "=",
    "[",
    "\"",
    "{}",
    "é",
    "0x",
    ",",
    "9999999999999999999999",
];

fn corpus(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<_> = files
        .map(|f| f.unwrap())
        .map(|f| (f.file_name().into_string().unwrap(), fs::read(f.path()).unwrap()))
        .collect();
    all.sort();
    assert!(!all.is_empty(), "{} has no corpus", target.name);
    all
}

/// One to four changes of an input.
fn changed(input: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..=rng.below(4) {
        let at = rng.below(out.len() as u64 + 1) as usize;
        let to = (at + rng.below(16) as usize).min(out.len());
        match rng.below(5) {
            0 => drop(out.splice(at..to, WORDS[rng.below(WORDS.len() as u64) as usize].bytes())),
            1 => drop(out.drain(at..to)),
            2 => out.insert(at, rng.below(256) as u8),
            3 => {
                let copy = out[at..to].to_vec();
                out.splice(at..at, copy);
            }
            _ => out.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << rng.below(8)),
        }
    }
    out
}

/// The panic of a target with an input, in words.
fn fault(target: &Target, input: &[u8]) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| (target.run)(input))).err()?;
    let said = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
    let start = String::from_utf8_lossy(&input[..input.len().min(400)]).into_owned();
    Some(format!("{}: {} on {start:?}", target.name, said.unwrap_or_default()))
}

#[test]
fn no_input_makes_a_parser_panic() {
    for target in TARGETS {
        let inputs = corpus(target);
        let mut faults: Vec<String> = inputs.iter().filter_map(|(_, input)| fault(target, input)).collect();
        let mut rng = Rng::new(1, target.name, 0);
        for i in 0..tries(target) {
            // Findings of before are long or strange on purpose; changing the others finds more.
            let input = &inputs[i % inputs.len()].1;
            if input.len() < 50_000 {
                faults.extend(fault(target, &changed(input, &mut rng)));
            }
        }
        assert!(faults.is_empty(), "{} faults, the first: {}", faults.len(), faults[0]);
    }
}

#[test]
fn a_target_that_panics_is_caught() {
    let bad = Target { name: "bad", run: |data| assert!(!data.contains(&b'\0'), "a zero") };
    assert!(fault(&bad, b"fine").is_none());
    let mut rng = Rng::new(1, "bad", 0);
    assert!((0..1000).any(|_| fault(&bad, &changed(b"fine", &mut rng)).is_some()));
}

#[test]
fn every_folder_of_the_corpus_has_a_target() {
    for folder in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        assert!(tailback_fuzz::target(&name).is_some(), "nothing reads corpus/{name}");
    }
}
