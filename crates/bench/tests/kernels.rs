//! Every kernel of the table, on the simulated machine: a new entry is tested without writing a test.
//!
//! A check is a function of a kernel, so that it can be shown kernels that are not in the table and that it must catch.

mod common;

use comm::{Comm, Machine, Refusal};
use common::wrap::{Spoiler, Wrapped};
use record::{Metric, Payload, Verdict};
use spec::{Card, Params, Work};
use std::sync::Mutex;
use tailback_bench::kernel::{Declares, Evidence, Traits};
use tailback_bench::{Arithmetic, KERNELS, Kernel, Pattern, Setup, called};

/// What all ranks did and saw.
struct Ran {
    work: Work,
    verdict: Verdict,
    injected: u64,
    spoiled: u64,
}

/// What is spoiled while a kernel runs.
#[derive(Clone, Copy, PartialEq)]
enum Spoil {
    Nothing,
    Work,
    Messages,
    /// One message of this rank, in the middle step of the first block.
    OneOf(usize),
}

/// How a kernel is run.
#[derive(Clone, Copy)]
struct How {
    ranks: usize,
    payload: Payload,
    steps: u32,
    spoil: Spoil,
}

const PLAIN: How = How { ranks: 3, payload: Payload::Checked, steps: 1, spoil: Spoil::Nothing };

/// Two blocks of a kernel on every rank.
fn run(kernel: &Kernel, params: &Params, how: How) -> Result<Ran, String> {
    let machine = common::machine(how.ranks, 1);
    let (total, spoiled) = (Mutex::new(Work::NONE), Mutex::new(0));
    let verdicts = Mutex::new(Vec::new());
    let refusals = Mutex::new(Vec::new());
    let body = |world: &dyn Comm| {
        let spoiler = Spoiler::default();
        let comm = Wrapped::new(world, &spoiler);
        let setup = Setup { seed: 7, payload: how.payload, ..Setup::new(&comm, params, Arithmetic::on(&comm)) };
        let mut pattern = match (kernel.start)(setup) {
            Ok(pattern) => pattern,
            Err(Refusal(why)) => return refusals.lock().unwrap().push(why),
        };
        for (round, steps) in [(0, how.steps), (1, 1)] {
            pattern.arrange(round);
            let mut done = 0;
            while done < steps {
                let group = (steps - done).min(pattern.holds());
                pattern.renew(group);
                for step in done..done + group {
                    spoiler.work.set(how.spoil == Spoil::Work);
                    spoiler.messages.set(match how.spoil {
                        Spoil::Messages => u64::MAX,
                        Spoil::OneOf(rank) => u64::from(rank == world.rank() && (round, step) == (0, steps / 2)),
                        _ => 0,
                    });
                    // Ranks take turns on one thread: none may yield while it holds a lock.
                    let work = pattern.step().unwrap_or(Work::NONE);
                    *total.lock().unwrap() += work;
                }
                spoiler.work.set(false);
                // A message that the step did not have is not to be taken from what the check sends.
                if how.spoil != Spoil::Messages {
                    spoiler.messages.set(0);
                }
                let verdict = pattern.verify();
                spoiler.messages.set(0);
                verdicts.lock().unwrap().push(verdict);
                done += group;
            }
        }
        *spoiled.lock().unwrap() += spoiler.spoiled.get();
    };
    machine.run(&body).map_err(|e| format!("on {} ranks: {e}", how.ranks))?;
    if let Some(why) = refusals.into_inner().unwrap().pop() {
        return Err(format!("refuses to run on {} ranks: {why}", how.ranks));
    }
    let verdict = verdicts.into_inner().unwrap().into_iter().reduce(Verdict::and).expect("at least one rank");
    let (work, spoiled) = (total.into_inner().unwrap(), spoiled.into_inner().unwrap());
    Ok(Ran { work, verdict, injected: machine.stats().injected_bytes, spoiled })
}

fn ranks(kernel: &Kernel) -> impl Iterator<Item = usize> {
    [1, 2, 3, 4, 5, 8].into_iter().filter(|ranks| *ranks >= kernel.min_ranks)
}

/// Right data are right on any number of ranks, and lengths alone are never called checked.
fn delivers(kernel: &Kernel, params: &Params) -> Result<(), String> {
    let how = How { steps: if kernel.traits.one_step { 1 } else { 2 }, ..PLAIN };
    for ranks in ranks(kernel) {
        let Ran { verdict, .. } = run(kernel, params, How { ranks, ..how })?;
        let fits = match (kernel.traits.evidence, &verdict) {
            (Evidence::Nothing(_), Verdict::Right { checked }) => *checked == 0,
            (_, Verdict::Right { checked }) => *checked > 0 || ranks == 1,
            _ => false,
        };
        if !fits {
            return Err(format!("data on {ranks} ranks: {verdict:?}"));
        }
        let Ran { verdict, .. } = run(kernel, params, How { ranks, payload: Payload::Lengths, ..how })?;
        let unchecked = matches!(verdict, Verdict::Unchecked { .. } | Verdict::Right { checked: 0 });
        if !unchecked && !matches!(kernel.traits.evidence, Evidence::Other(_)) {
            return Err(format!("lengths on {ranks} ranks: {verdict:?}"));
        }
    }
    Ok(())
}

/// It moves exactly the bytes it declares, which the simulator counts; or it says that it does not, and does not.
fn declares(kernel: &Kernel, params: &Params) -> Result<(), String> {
    let mut differ = false;
    for ranks in [2, 5] {
        let how = How { ranks, payload: Payload::Lengths, ..PLAIN };
        let few = run(kernel, params, How { steps: 1, ..how })?;
        let many = run(kernel, params, How { steps: 4, ..how })?;
        let (moved, said) = (many.injected - few.injected, many.work.bytes - few.work.bytes);
        differ |= moved != said;
        if kernel.traits.declares == Declares::Exact && moved != said {
            return Err(format!("declares {said} bytes on {ranks} ranks and moves {moved}"));
        }
    }
    match kernel.traits.declares {
        Declares::AsCalled(reason) if !differ => Err(format!("declares its bytes exactly, against: {reason}")),
        _ => Ok(()),
    }
}

/// Its check sees work that was not done, or messages that arrive changed.
fn sees(kernel: &Kernel, params: &Params) -> Result<(), String> {
    let mut spoiled = 0;
    for spoil in [Spoil::Work, Spoil::Messages] {
        // Work that was not done may steer a kernel anywhere, even into a panic: then it is for messages to show.
        let Ok(ran) = run(kernel, params, How { spoil, ..PLAIN }) else { continue };
        spoiled += ran.spoiled;
        let blind = matches!(kernel.traits.evidence, Evidence::Data) != ran.verdict.is_wrong();
        if ran.spoiled > 0 && blind {
            return Err(format!("was spoiled {} times and says {:?}", ran.spoiled, ran.verdict));
        }
        if ran.spoiled > 0 {
            break;
        }
    }
    match kernel.traits.evidence {
        Evidence::Data if spoiled == 0 => Err("nothing could be spoiled: what does it check?".into()),
        _ => Ok(()),
    }
}

/// Its check sees one message that arrives changed in the middle of a block, whoever sent it.
fn sees_one(kernel: &Kernel, params: &Params) -> Result<(), String> {
    if !matches!(kernel.traits.evidence, Evidence::Data) {
        return Ok(());
    }
    let steps = if kernel.traits.one_step { 1 } else { 3 };
    let mut missed = None;
    for rank in 0..PLAIN.ranks {
        // A word that steers may lead a kernel anywhere; then it does not go on as if nothing were.
        let Ok(ran) = run(kernel, params, How { steps, spoil: Spoil::OneOf(rank), ..PLAIN }) else { continue };
        if ran.spoiled > 0 && !ran.verdict.is_wrong() {
            let step = steps / 2;
            missed.get_or_insert(format!(
                "one message of rank {rank} was spoiled in step {step}, and it says {:?}",
                ran.verdict
            ));
        }
    }
    match (missed, kernel.traits.beside) {
        (Some(missed), None) => Err(missed),
        (None, Some(reason)) => Err(format!("every message counts, against: {reason}")),
        _ => Ok(()),
    }
}

/// Everything that is asked of a kernel, under each of its names.
fn check(kernel: &Kernel) -> Result<(), String> {
    for (name, preset) in kernel.names() {
        let given = common::params(&[kernel.traits.tiny, preset].concat());
        let params = kernel.card.resolve(&given).map_err(|e| e.to_string())?;
        for part in [delivers, declares, sees, sees_one] {
            part(kernel, &params).map_err(|e| format!("{name}: {e}"))?;
        }
    }
    Ok(())
}

#[test]
fn every_kernel_moves_what_it_declares_and_sees_what_is_wrong() {
    common::install_shell();
    let found: Vec<String> = KERNELS.iter().filter_map(|kernel| check(kernel).err()).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// A ring with one thing wrong.
struct Twisted<'c> {
    inner: Box<dyn Pattern + 'c>,
    /// The round that this rank's data are of.
    round: fn(rank: usize, round: u64) -> u64,
    rank: usize,
    work: fn(Work) -> Work,
    verdict: fn(Verdict) -> Verdict,
    /// Only the last step of a block is looked at.
    forgets: bool,
}

impl Pattern for Twisted<'_> {
    fn arrange(&mut self, round: u64) {
        self.inner.arrange((self.round)(self.rank, round));
    }
    fn step(&mut self) -> Option<Work> {
        self.inner.step().map(self.work)
    }
    fn renew(&mut self, steps: u32) {
        self.inner.renew(if self.forgets { 1 } else { steps });
    }
    fn verify(&mut self) -> Verdict {
        (self.verdict)(self.inner.verify())
    }
}

fn ring(setup: Setup<'_>) -> Result<Twisted<'_>, Refusal> {
    let rank = setup.comm.rank();
    let inner = (called("p2p-lat").expect("it is in the table").kernel.start)(setup)?;
    Ok(Twisted { inner, round: |_, round| round, rank, work: |work| work, verdict: |verdict| verdict, forgets: false })
}

fn entry(name: &'static str, start: tailback_bench::kernel::Start) -> Kernel {
    let card = Card { name, ..called("p2p-lat").expect("it is in the table").kernel.card };
    let traits = Traits { tiny: &[("size", "24"), ("order", "natural")], ..Traits::PLAIN };
    Kernel { card, metric: Metric::Latency, min_ranks: 2, traits, start }
}

#[test]
fn kernels_that_are_wrong_are_caught() {
    let sound = entry("sound", |setup| Ok(Box::new(ring(setup)?)));
    assert_eq!(check(&sound), Ok(()));
    let with = |traits: Traits| Kernel { traits, ..entry("sound", |setup| Ok(Box::new(ring(setup)?))) };
    let wrong = [
        (
            "data on 2 ranks: Wrong",
            entry("stale", |setup| Ok(Box::new(Twisted { round: |rank, n| n + (rank == 1) as u64, ..ring(setup)? }))),
        ),
        (
            "declares",
            entry("sevenfold", |setup| {
                Ok(Box::new(Twisted { work: |w| Work { bytes: 7 * w.bytes, ..w }, ..ring(setup)? }))
            }),
        ),
        (
            "lengths on 2 ranks: Right",
            entry("boastful", |setup| {
                Ok(Box::new(Twisted { verdict: |_| Verdict::Right { checked: 1 }, ..ring(setup)? }))
            }),
        ),
        (
            "was spoiled",
            entry("blind", |setup| {
                let carried = setup.payload == Payload::Checked;
                let blind = |_| Verdict::Right { checked: 1 };
                Ok(Box::new(if carried { Twisted { verdict: blind, ..ring(setup)? } } else { ring(setup)? }))
            }),
        ),
        (
            "one message of rank 0 was spoiled in step 1",
            entry("forgetful", |setup| Ok(Box::new(Twisted { forgets: true, ..ring(setup)? }))),
        ),
        ("every message counts", with(Traits { beside: Some("nobody knows"), ..sound.traits })),
        ("refuses to run", entry("shy", |_| Err(Refusal("not today".into())))),
        ("against", with(Traits { declares: Declares::AsCalled("of no reason"), ..sound.traits })),
        ("data on 2 ranks: Right", with(Traits { evidence: Evidence::Nothing("it looks away"), ..sound.traits })),
        ("was spoiled", with(Traits { evidence: Evidence::Other("the weather"), ..sound.traits })),
        ("nothing could be spoiled", Kernel { card: sound.card, ..self_made_null() }),
    ];
    for (what, kernel) in wrong {
        let said = check(&kernel).expect_err(what);
        assert!(said.contains(what), "{}: {said}", kernel.card.name);
    }
}

/// A kernel that sends nothing and says that it has checked something.
fn self_made_null() -> Kernel {
    struct Idle(bool);
    impl Pattern for Idle {
        fn arrange(&mut self, _: u64) {}
        fn step(&mut self) -> Option<Work> {
            Some(Work::messages(1, 0))
        }
        fn verify(&mut self) -> Verdict {
            Verdict::Right { checked: u64::from(self.0) }
        }
    }
    entry("idle", |setup| Ok(Box::new(Idle(setup.payload == Payload::Checked))))
}

/// What a kernel may not call: it would read a clock, or find out whether its machine is simulated.
fn neutral(text: &str) -> Result<(), String> {
    let forbidden = [".now()", "charge(Work::NONE", "Arithmetic::on"];
    let found = forbidden.into_iter().find(|call| text.contains(call));
    found.map_or(Ok(()), |call| Err(format!("calls `{call}`")))
}

#[test]
fn every_kernel_leaves_clocks_and_machines_alone() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kernels")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            assert_eq!(neutral(&std::fs::read_to_string(&path).unwrap()), Ok(()), "{}", path.display());
        }
    }
    assert!(files > 20, "{files} files of kernels");
    for wrong in ["let begin = self.comm.now();", "if comm.charge(Work::NONE) {"] {
        assert!(neutral(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn every_name_is_one_kernel_s() {
    let mut names: Vec<&str> = KERNELS.iter().flat_map(|k| k.names()).map(|(name, _)| name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for kernel in KERNELS {
        for (name, preset) in kernel.names() {
            let found = called(name).unwrap();
            assert_eq!(found.kernel.card.name, kernel.card.name);
            let params = found.resolve(&Params::new()).unwrap();
            assert!(preset.iter().all(|(name, value)| params[*name] == *value), "{name}");
        }
    }
    assert!(called("a2b").err().unwrap().contains("did you mean `a2a`"));
}
