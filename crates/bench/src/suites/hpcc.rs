//! HPC Challenge: seven tests, alone (single), on every rank at once (star) and on all ranks together (mpi).
//!
//! The order is that of version 1.5.0, HPL last. Sizes come from HPL's matrix (`sizes.rs`), which fills a share of the memory;
//! or everything comes from an `hpccinf.txt` (`input.rs`).

mod input;
mod memory;
mod scale;
mod sizes;
mod time;

use super::{Request, Suite, SuiteError};
use crate::kernels::hpcc::MOST_THREADS;
use crate::site::Ask;
use input::Input;
use record::{About, Instances, Job, Layout, Members, Missing, NodeOrder, Phase, Plan, RankAt, Role, Stop, TestMode};
use spec::card::parse_share;
use spec::near::unknown;
use spec::{Card, Kind, Param, Params, ReadParams, Rng, about_bytes, parse_bytes};
use time::tries;

/// The suite.
pub const HPCC: Suite = Suite {
    card: Card {
        name: "hpcc",
        about: "HPC Challenge: HPL, DGEMM, STREAM, PTRANS, RandomAccess, FFT, latency and bandwidth",
        source: "HPC Challenge 1.5.0 (Luszczek, Dongarra et al.)",
        params: &[
            Param::new(
                "only",
                Kind::Text,
                "",
                "tests, modes or mode/test: `hpl,ptrans`, `star`, `single/fft`; empty for all",
            )
            .known(test_names),
            Param::new(
                "memory",
                Kind::Text,
                "auto",
                "how much of a rank's memory HPL's matrix takes: a share, a size like `64MiB`, or `auto`: 80% under a launcher, at most 256MiB without one",
            )
            .simulated("1MiB"),
            Param::new("rank-memory", Kind::Size, "0", "memory of a rank, 0 = what the node has").up_to(RANK_MEMORY),
            Param::new("threads-per-rank", Kind::Count, "0", "threads of a rank, 0 = the cores it may use")
                .up_to(MOST_THREADS),
            Param::new("n", Kind::Count, "0", "order of HPL's system, 0 = from the memory"),
            Param::new(
                "budget",
                Kind::Time,
                "0",
                "choose N so that all tests take about so long, by a trial of each; 0 for no limit",
            ),
            Param::new(
                "estimate",
                Kind::Choice(&["yes", "no"]),
                "yes",
                "say before the run how long it will take, by a trial of each test of about a second in all",
            ),
            Param::new("nb", Kind::Count, "0", "block size, 0 = from the order"),
            Param::new("p", Kind::Count, "0", "process rows, 0 = as square as possible"),
            Param::new("q", Kind::Count, "0", "process columns, 0 = as square as possible"),
            Param::new("repetitions", Kind::Count, "1", "how often each test runs").up_to(1e6),
            Param::new("hpccinf", Kind::File, "", "an input file of the original"),
            Param::new(
                "hpccmemf",
                Kind::File,
                "",
                "a memory file of the original, `Total=MB`, `Thread=MB` or `Process=MB`, of which it takes 80 %",
            ),
            Param::new(
                "blas",
                Kind::Text,
                "fastest",
                "dense kernels: fastest, builtin, system, or the path of a library",
            )
            .known(|| vec!["fastest", "builtin", "system"]),
            Param::new(
                "class",
                Kind::Choice(&["optimized", "base"]),
                "optimized",
                "base: plain stores in STREAM and updates as the original's loop in RandomAccess; optimized: what the rules allow to replace",
            ),
            Param::new(
                "stores",
                Kind::Choice(&["fastest", "plain", "streaming"]),
                "fastest",
                "STREAM's stores: plain, streaming (an optimized run), or the fastest of both; plain in a base run",
            ),
            Param::new(
                "algorithm",
                Kind::Choice(&["auto", "bucket", "hypercube"]),
                "auto",
                "how RandomAccess's updates travel",
            ),
        ],
    },
    asks: &[Ask::Memory],
    alone: true,
    shortcut: None,
    tries: Some(tries),
    plan,
    // All but the messages of two megabytes, of which the simulator sends every packet.
    tiny: &[
        ("n", "64"),
        ("nb", "8"),
        ("memory", "1MiB"),
        ("only", "star,single,random-access,random-access-lcg,ptrans,fft,ping-pong-latency,ring-latency,hpl"),
    ],
};

/// No rank has more memory than this.
const RANK_MEMORY: f64 = (1u64 << 46) as f64;
/// The share of the memory that HPL's matrix takes under a launcher, unless told.
const FILL: f64 = 0.8;
/// What it takes at most of a machine without a launcher, unless told. Somebody works there, and the suite should take minutes.
const MODEST: u64 = 256 << 20;

/// Permutations of the ranks that PTRANS tries.
// HPC Challenge 1.5.0 tries five for every grid, order and block size, and takes the worst.
const PERMUTATIONS: u64 = 5;
/// Rounds of STREAM.
// As in McCalpin's MPI version 1.7, which the original contains.
const ROUNDS: u32 = 10;
/// Extra sizes of PTRANS below this part of half of N are not run.
// 0.9486 is about the root of 0.9: such a matrix takes at least 90 % of the memory that one of half of N takes.
const PTRANS_LEAST: f64 = 0.9486 * 0.5;

fn refuse(text: String) -> SuiteError {
    SuiteError::Unknown(format!("hpcc: {text}"))
}

/// The input file, or its equivalent from flags, memory and ranks.
fn read(request: &Request<'_>) -> Result<Input, SuiteError> {
    let (params, ranks) = (request.params, request.site.layout.ranks as usize);
    let path = params.word("hpccinf");
    // A simulated machine's host is not this one: there the original's assumption holds.
    let given = Some(params.size("rank-memory") as u64).filter(|bytes| *bytes > 0);
    let known = memory::given(request)?.or(given).or(request.site.memory);
    let memory = known.unwrap_or(sizes::DEFAULT_MEMORY);
    let mut input = if path.is_empty() {
        chosen(request, memory)?
    } else {
        let text = request.files.get("hpccinf").ok_or_else(|| refuse(format!("{path} was not read")))?;
        let mut input = Input::read(text).map_err(|e| refuse(format!("{path}: {e}")))?;
        input.notes.insert(0, format!("sizes and choices from {path}"));
        input
    };
    input.few().map_err(|e| refuse(format!("{path}: {e}")))?;
    for (p, q) in &input.grids {
        // An input file may name any two numbers, so their product may not fit.
        if p.checked_mul(*q).is_none_or(|pq| pq > ranks as u64) {
            let place = if path.is_empty() { "--p and --q".into() } else { format!("{path}: lines 11 and 12") };
            return Err(refuse(format!("{place}: a grid of {p} x {q} does not fit {ranks} ranks")));
        }
    }
    let (most, fewest) = (input.largest(), input.fewest());
    let bytes = sizes::matrix_bytes(most, fewest);
    // Only a memory that is known can be too small: the default is the original's guess and forbids nothing.
    if known.is_some() && bytes > memory {
        let place = match (path, params.count("n")) {
            ("", 0) => format!("--memory {}", params.word("memory")),
            ("", n) => format!("--n {n}"),
            (path, _) => format!("{path}: line 6"),
        };
        let (need, have) = (about_bytes(bytes), about_bytes(memory));
        return Err(refuse(format!(
            "{place}: N = {most} takes {need} of each rank, which has {have}; choose a smaller N"
        )));
    }
    input.notes.push(format!("other tests are sized by HPL's {} per rank", about_bytes(bytes)));
    Ok(input)
}

// The choices for HPL are those of the original without an input file, but for the mapping (column there) and NB (80 there).
fn chosen(request: &Request<'_>, memory: u64) -> Result<Input, SuiteError> {
    let (params, ranks) = (request.params, request.site.layout.ranks as usize);
    let mut notes = Vec::new();
    let grid = match (params.count("p"), params.count("q")) {
        (0, 0) => {
            let (p, q) = sizes::grid(ranks);
            notes.push(format!("grid {p} x {q}: as square as {ranks} ranks allow"));
            (p as u64, q as u64)
        }
        (0, q) => ((ranks as u64 / q).max(1), q),
        (p, 0) => (p, (ranks as u64 / p).max(1)),
        given => given,
    };
    let share = share(request, memory)?;
    let on_grid = grid.0.saturating_mul(grid.1).min(ranks as u64).max(1) as usize;
    let n = match params.count("n") {
        0 => {
            let rough = sizes::order(share, memory, on_grid, 1);
            let nb = if params.count("nb") == 0 { sizes::block(rough) } else { params.count("nb") };
            let n = sizes::order(share, memory, on_grid, nb);
            let (taken, there) = (about_bytes((share * memory as f64) as u64), about_bytes(memory));
            notes.push(format!("N = {n}: {taken} of {there} on each of {on_grid} ranks, in whole blocks"));
            notes.extend(more(request, share));
            n
        }
        n => n,
    };
    let nb = match params.count("nb") {
        0 => {
            let nb = sizes::block(n);
            notes.push(format!("NB = {nb}: by the order of the system"));
            nb
        }
        nb => nb,
    };
    Ok(Input {
        ns: vec![n],
        nbs: vec![nb],
        mapping: "row",
        grids: vec![grid],
        threshold: 16.0,
        pfacts: vec!["right"],
        nbmins: vec![4],
        ndivs: vec![2],
        rfacts: vec!["crout"],
        bcasts: vec!["1ringM"],
        depths: vec![1],
        swap: "mix",
        swap_threshold: 64,
        align: 8,
        ptrans_ns: Vec::new(),
        ptrans_nbs: Vec::new(),
        notes,
    })
}

/// The share of a rank's memory that HPL's matrix takes.
fn share(request: &Request<'_>, memory: u64) -> Result<f64, SuiteError> {
    let text = request.params.word("memory");
    if !request.params.word("hpccmemf").is_empty() {
        return Ok(FILL);
    }
    match (text, parse_share(text), parse_bytes(text)) {
        ("auto", ..) if request.site.alone => Ok(FILL.min(MODEST as f64 / memory as f64)),
        ("auto", ..) => Ok(FILL),
        (_, Some(share), _) if share > 0.0 => Ok(share),
        (_, _, Ok(bytes)) if bytes > 0 => Ok(bytes as f64 / memory as f64),
        _ => Err(refuse(format!("memory={text}: `auto`, a share like `80%` or a size like `64MiB`"))),
    }
}

/// How to fill the memory where nobody said how much of it to take, and what that costs.
fn more(request: &Request<'_>, share: f64) -> Option<String> {
    let modest = request.site.alone && request.params.word("memory") == "auto" && share < FILL;
    modest.then(|| {
        let bytes = FILL / share;
        format!(
            "a modest problem, because no launcher started it; --memory 80% fills the memory with {bytes:.0} times the data, \
             on which HPL computes {:.0} times as much (its order cubed)",
            bytes.powf(1.5)
        )
    })
}

impl Input {
    fn largest(&self) -> u64 {
        self.ns.iter().copied().max().unwrap_or(0)
    }
    fn fewest(&self) -> usize {
        // The smallest grid has the largest part of the matrix on each rank; `read` has seen that no product overflows.
        self.grids.iter().map(|(p, q)| p * q).min().unwrap_or(1) as usize
    }

    /// Whether a plan can have all combinations of the lists: of HPL, and of PTRANS.
    fn few(&self) -> Result<(), record::PlanError> {
        let words = [self.pfacts.len(), self.rfacts.len(), self.bcasts.len()];
        let numbers = [&self.ns, &self.nbs, &self.nbmins, &self.ndivs, &self.depths].map(Vec::len);
        Plan::may_have(&[&words[..], &numbers[..], &[self.grids.len()]].concat(), 1)?;
        let ptrans = [self.ptrans_ns.len() + self.ns.len(), self.ptrans_nbs.len() + self.nbs.len(), self.grids.len()];
        Plan::may_have(&ptrans, 1)
    }

    /// Every combination of HPL's lists, as parameters of its kernel.
    fn hpl(&self) -> Vec<Params> {
        let mut all = vec![Params::new()];
        let mut vary = |values: Vec<Vec<(&str, String)>>| {
            let with = |old: &Params, new: &[(&str, String)]| {
                let mut params = old.clone();
                params.extend(new.iter().map(|(name, value)| (name.to_string(), value.clone())));
                params
            };
            all = all.iter().flat_map(|old| values.iter().map(move |new| with(old, new))).collect();
        };
        let numbers =
            |name: &'static str, list: &[u64]| list.iter().map(|x| vec![(name, x.to_string())]).collect::<Vec<_>>();
        let words =
            |name: &'static str, list: &[&str]| list.iter().map(|x| vec![(name, x.to_string())]).collect::<Vec<_>>();
        vary(numbers("n", &self.ns));
        vary(numbers("nb", &self.nbs));
        vary(self.grids.iter().map(|(p, q)| vec![("p", p.to_string()), ("q", q.to_string())]).collect());
        vary(words("pfact", &self.pfacts));
        vary(numbers("nbmin", &self.nbmins));
        vary(numbers("ndiv", &self.ndivs));
        vary(words("rfact", &self.rfacts));
        vary(words("bcast", &self.bcasts));
        vary(numbers("depth", &self.depths));
        let fixed = [
            ("mapping", self.mapping.to_string()),
            ("swap", self.swap.to_string()),
            ("threshold", self.threshold.to_string()),
        ];
        let numbers =
            [("swap-threshold", self.swap_threshold), ("align", self.align)].map(|(name, x)| (name, x.to_string()));
        vary(vec![fixed.into_iter().chain(numbers).collect()]);
        all
    }

    /// Every case of PTRANS: extra sizes first, then half of each N; extra block sizes first.
    fn ptrans(&self) -> Vec<Params> {
        let least = PTRANS_LEAST * self.largest() as f64;
        // The original keeps only those that take about as much memory as half of N.
        let extra = self.ptrans_ns.iter().copied().filter(|n| *n as f64 >= least);
        let ns: Vec<u64> = extra.chain(self.ns.iter().map(|n| n / 2)).collect();
        let mut all = Vec::new();
        for (p, q) in &self.grids {
            for n in &ns {
                for nb in self.ptrans_nbs.iter().chain(&self.nbs) {
                    let numbers = [("p", p), ("q", q), ("n", n), ("nb", nb)];
                    let mut params: Params = numbers.map(|(name, x)| (name.to_string(), x.to_string())).into();
                    params.insert("mapping".into(), self.mapping.into());
                    params.insert("threshold".into(), self.threshold.to_string());
                    all.push(params);
                }
            }
        }
        all
    }
}

/// One test in one mode.
struct Case {
    mode: TestMode,
    test: &'static str,
    kernel: &'static str,
    params: Vec<Params>,
    steps: u32,
    blocks: u64,
    /// Ranks that take part, if not all.
    ranks: Option<usize>,
}

fn params<const N: usize>(list: [(&str, String); N]) -> Params {
    list.map(|(name, value)| (name.to_string(), value)).into()
}

/// Some parameters, and more of them.
fn with(mut some: Params, more: &[(&str, &str)]) -> Params {
    some.extend(more.iter().map(|(name, value)| (name.to_string(), value.to_string())));
    some
}

/// RandomAccess on tables of these sizes, for one rank and for all.
fn random_access(bits: [u32; 2], generator: &str) -> [Params; 2] {
    bits.map(|bits| params([("bits", bits.to_string()), ("generator", generator.into())]))
}

/// How a run of this class stores and updates: STREAM's stores, RandomAccess's method.
fn of_class(given: &Params) -> [&str; 2] {
    if given.word("class") == "base" { ["plain", "direct"] } else { [given.word("stores"), "ahead"] }
}

/// Threads of a rank.
fn threads(request: &Request<'_>) -> u64 {
    match request.params.count("threads-per-rank") {
        0 => request.site.cores.unwrap_or(1).into(),
        threads => threads,
    }
}

/// All tests in the order of version 1.5.0.
fn cases(request: &Request<'_>, input: &Input) -> Vec<Case> {
    let (given, ranks) = (request.params, request.site.layout.ranks as usize);
    let repetitions = given.count("repetitions").max(1);
    let threads = threads(request).to_string();
    let [stores, method] = of_class(given);
    let blas = given.word("blas").to_string();
    let bytes = sizes::matrix_bytes(input.largest(), input.fewest());
    let threshold = input.threshold.to_string();
    let case =
        |mode, test, kernel, params| Case { mode, test, kernel, params, steps: 1, blocks: repetitions, ranks: None };
    let three = |test, generator: &str| {
        let [own, all] = random_access([1, ranks].map(|ranks| sizes::random_access(bytes, ranks)), generator);
        let own = with(own, &[("threads", &threads), ("method", method)]);
        let all = with(all, &[("algorithm", given.word("algorithm"))]);
        [
            case(TestMode::Mpi, test, "random-access-mpi", vec![all]),
            case(TestMode::Star, test, "random-access", vec![own.clone()]),
            case(TestMode::Single, test, "random-access", vec![own]),
        ]
    };
    let both = |test, kernel, own: Params| {
        [case(TestMode::Star, test, kernel, vec![own.clone()]), case(TestMode::Single, test, kernel, vec![own])]
    };
    let dgemm = params([
        ("n", sizes::dgemm(bytes).to_string()),
        ("blas", blas.clone()),
        ("threads", threads.clone()),
        ("threshold", threshold.clone()),
    ]);
    let stream =
        params([("n", sizes::stream(bytes).to_string()), ("stores", stores.into()), ("threads", threads.clone())]);
    let fft = |n: u64| params([("n", n.to_string()), ("threads", threads.clone()), ("threshold", threshold.clone())]);
    let (fft_ranks, fft_n) = sizes::fft_mpi(bytes, ranks);
    let hpl = input.hpl().into_iter().map(|p| with(p, &[("threads", &threads), ("blas", &blas)])).collect();
    let ptrans = input.ptrans().into_iter().map(|p| with(p, &[("threads", &threads)])).collect();
    let mut all = Vec::new();
    all.extend(three("random-access", "poly"));
    all.extend(three("random-access-lcg", "lcg"));
    all.push(Case { blocks: PERMUTATIONS * repetitions, ..case(TestMode::Mpi, "ptrans", "ptrans", ptrans) });
    all.extend(both("dgemm", "dgemm", dgemm));
    all.extend(both("stream", "stream", stream).map(|c| Case { steps: ROUNDS, ..c }));
    all.push(Case { ranks: Some(fft_ranks), ..case(TestMode::Mpi, "fft", "fft-mpi", vec![fft(fft_n)]) });
    all.extend(both("fft", "fft", fft(sizes::fft(bytes))));
    all.extend(network().map(|(test, kernel, params)| case(TestMode::Mpi, test, kernel, vec![params])));
    all.push(case(TestMode::Mpi, "hpl", "hpl", hpl));
    all
}

/// Latency with 8 bytes, bandwidth with 2,000,000: loops and budgets of the original.
fn network() -> [(&'static str, &'static str, Params); 4] {
    let list = |size: &str, loops: &str, measurements: &str, last: (&str, &str)| {
        params([
            ("size", size.into()),
            ("loops", loops.into()),
            ("measurements", measurements.into()),
            (last.0, last.1.into()),
        ])
    };
    [
        ("ping-pong-latency", "ping-pong", list("8", "8", "5", ("budget", "10s"))),
        ("ping-pong-bandwidth", "ping-pong", list("2000000", "1", "2", ("budget", "30s"))),
        ("ring-latency", "hpcc-rings", list("8", "5", "8", ("rings", "30"))),
        ("ring-bandwidth", "hpcc-rings", list("2000000", "2", "3", ("rings", "10"))),
    ]
}

/// Names of tests and modes, for completion by the shell.
fn test_names() -> Vec<&'static str> {
    let modes = TestMode::ALL.map(TestMode::word);
    let tests = ["random-access", "random-access-lcg", "ptrans", "dgemm", "stream", "fft", "hpl", "latency"];
    modes.into_iter().chain(tests).chain(network().map(|(test, ..)| test)).collect()
}

/// Which cases the user asked for.
fn wanted(cases: Vec<Case>, only: &[String]) -> Result<Vec<Case>, SuiteError> {
    let names = |c: &Case| [c.test.to_string(), c.mode.word().to_string(), format!("{}/{}", c.mode.word(), c.test)];
    for word in only {
        if !cases.iter().any(|c| names(c).contains(word) || (word == "latency" && is_network(c))) {
            let mut known: Vec<&str> = cases.iter().flat_map(|c| [c.test, c.mode.word()]).chain(["latency"]).collect();
            known.sort_unstable();
            known.dedup();
            return Err(refuse(unknown("test", word, known)));
        }
    }
    let asked = |c: &Case| only.iter().any(|w| names(c).contains(w) || (w == "latency" && is_network(c)));
    Ok(cases.into_iter().filter(|c| only.is_empty() || asked(c)).collect())
}

/// The cases that so many ranks can run, and those that they cannot.
fn possible(cases: Vec<Case>, ranks: usize) -> Result<(Vec<Case>, Vec<Missing>), SuiteError> {
    let needs = |c: &Case| crate::kernels::called(c.kernel).map_or(1, |k| k.kernel.min_ranks);
    let (possible, not): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|c| needs(c) <= ranks);
    let missing = not.iter().map(|c| {
        let what = format!("{}/{}", c.mode.word(), c.test);
        Missing { what, why: format!("it needs {} ranks that talk to each other, and there is {ranks}", needs(c)) }
    });
    let missing: Vec<Missing> = missing.collect();
    match (possible.is_empty(), missing.first()) {
        (true, Some(first)) => Err(SuiteError::TooSmall(format!("hpcc: {first}; start it under MPI with more ranks"))),
        _ => Ok((possible, missing)),
    }
}

fn is_network(case: &Case) -> bool {
    matches!(case.kernel, "ping-pong" | "hpcc-rings")
}

/// The places of the first ranks, node by node.
fn first(ranks: usize, layout: Layout) -> Vec<RankAt> {
    // Only slots that every node has: a place that does not exist would leave a hole in the job.
    let slots = layout.min_ranks_per_node.max(1);
    let all = (0..layout.nodes).flat_map(|node| (0..slots).map(move |slot| RankAt { node, slot }));
    all.take(ranks).collect()
}

/// A random rank, never the first if there are others.
fn single(layout: Layout, seed: u64) -> RankAt {
    let places = first(layout.ranks as usize, layout);
    let mut rng = Rng::new(seed, "hpcc single", 0);
    // As in the original, rank 0 is spared unless it is alone.
    places[if places.len() > 1 { 1 + rng.below(places.len() as u64 - 1) as usize } else { 0 }]
}

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    match time::within_budget(request)? {
        Some(params) => {
            let mut plan = planned(&Request { params: &params, ..*request })?;
            let (n, budget) = (params.word("n"), params.word("budget"));
            plan.notes.push(format!("N = {n}: the largest with which that is within {budget}"));
            Ok(plan)
        }
        None => planned(request),
    }
}

/// What a class means here. No run of this program is a base run by the letter: the rules ask for the original's source.
fn class(name: &str) -> String {
    let means = match name {
        "base" => {
            "plain stores, updates as the original's loop; by the letter of the rules only the original's source is a base run"
        }
        _ => "stores and updates as fast as the rules let them be; --class base has those of the original",
    };
    format!("class {name}: {means}")
}

/// The plan of sizes that are known.
fn planned(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let &Request { params, seed, payload, .. } = request;
    let layout = request.site.layout;
    let input = read(request)?;
    if (params.word("class"), params.word("stores")) == ("base", "streaming") {
        return Err(refuse(
            "--class base has plain stores, and --stores streaming asks for others: give one of them".into(),
        ));
    }
    let everyone = Members::Block { first_node: 0, nodes: layout.nodes, first_slot: 0, slots: None };
    let (mut phases, only) = (Vec::new(), params.names("only"));
    let (possible, missing) = possible(wanted(cases(request, &input), &only)?, layout.ranks as usize)?;
    let said = time::said(&request.site.trials, &possible);
    for case in possible {
        let (members, instances) = match (case.mode, case.ranks) {
            (TestMode::Single, _) => (Members::Places(vec![single(layout, seed)]), Instances::Rank),
            // STREAM's star has a barrier around each kernel, so its ranks are together.
            (TestMode::Star, _) if case.test != "stream" => (everyone.clone(), Instances::Rank),
            (_, Some(ranks)) if ranks < layout.ranks as usize => {
                (Members::Places(first(ranks, layout)), Instances::Job)
            }
            _ => (everyone.clone(), Instances::Job),
        };
        let several = case.params.len() > 1;
        for (index, params) in case.params.into_iter().enumerate() {
            let variant = several.then_some(index as u32 + 1);
            let about = About::Test { mode: Some(case.mode), test: case.test.into(), variant };
            // No two blocks share an arrangement, so PTRANS gets another permutation of the ranks in each.
            let arrangements = case.blocks.min(u64::from(u32::MAX)) as u32;
            let stop = Stop { steps: case.steps, arrangements, blocks: case.blocks, ..Stop::ONCE };
            let job = Job {
                name: about.to_string(),
                kernel: case.kernel.into(),
                params,
                role: Role::Measured,
                members: members.clone(),
                instances,
                stop,
            };
            phases.push(Phase::new(about, vec![job]));
        }
    }
    let mut plan = Plan::new("hpcc", seed, NodeOrder::Natural, payload, phases);
    plan.notes = input.notes;
    plan.notes.push(class(params.word("class")));
    plan.notes.extend(said);
    plan.notes.extend(time::filled(request));
    // Who names no test gets those that can run here and is told which cannot; who names one wants that one.
    match only.is_empty() {
        true => plan.notes.extend(missing.iter().map(|m| format!("left out: {m}"))),
        false => plan.missing = missing,
    }
    super::check(&plan, request.site)?;
    Ok(plan)
}
