//! How long the suite will take here: said before it starts, and the size that fits into a given time.

use super::scale::{self, Often};
use super::{Case, cases, possible, read, refuse, wanted};
use crate::suites::{Request, SuiteError};
use crate::trial::{Among, Trial, Try};
use record::TestMode;
use spec::{Params, ReadParams, about_seconds};
use std::collections::BTreeMap;

/// Orders of HPL's system that are tried for a budget are multiples of this.
const FINE: u64 = 16;

/// The tests that would run with these parameters.
fn all(request: &Request<'_>) -> Result<Vec<Case>, SuiteError> {
    let cases = wanted(cases(request, &read(request)?), &request.params.names("only"))?;
    Ok(possible(cases, request.site.layout.ranks as usize)?.0)
}

/// A small problem of each test, about a second in all.
pub fn tries(request: &Request<'_>) -> Vec<Try> {
    if request.params.word("estimate") == "no" {
        return Vec::new();
    }
    // What is wrong with the request is said when the plan is made.
    let Ok(cases) = all(request) else { return Vec::new() };
    let ranks = request.site.layout.ranks as usize;
    let mut tries: Vec<Try> = Vec::new();
    for case in cases {
        let Some(params) = case.params.first() else { continue };
        let params = small(case.kernel, params, case.ranks.unwrap_or(ranks), request.site.simulated);
        let among = match case.mode {
            TestMode::Mpi => Among::First(case.ranks.unwrap_or(ranks)),
            TestMode::Star | TestMode::Single => Among::Each,
        };
        if case.kernel == "hpl" && tries.iter().all(|t| t.kernel != "dgemm") {
            // Its products are as fast as this test's.
            let named = ["n", "blas", "threads", "threshold"];
            let dgemm: Params = params.iter().filter(|(name, _)| named.contains(&name.as_str())).map(owned).collect();
            let params = small("dgemm", &dgemm, 1, request.site.simulated);
            tries.push(Try { kernel: "dgemm", params, among: Among::Each });
        }
        if tries.iter().all(|t| t.kernel != case.kernel || t.params.get("size") != params.get("size")) {
            tries.push(Try { kernel: case.kernel, params, among });
        }
    }
    tries
}

fn owned((name, value): (&String, &String)) -> (String, String) {
    (name.clone(), value.clone())
}

/// The same test on a problem that takes a fraction of a second. On a simulated machine, where rates do not depend on caches, a smaller one.
fn small(kernel: &str, params: &Params, ranks: usize, simulated: bool) -> Params {
    let mut params = params.clone();
    let mut at_most = |name: &str, most: u64| {
        let value = params.count(name).min(most);
        params.insert(name.into(), value.to_string());
    };
    let of = |real: u64, virtual_: u64| if simulated { virtual_ } else { real };
    match kernel {
        "dgemm" => at_most("n", of(1536, 64)),
        "stream" => at_most("n", of(4_000_000, 10_000)),
        "fft" => at_most("n", of(1 << 18, 1 << 10)),
        // A table that no cache holds, if there is one in the run, and few updates of it.
        "random-access" => {
            at_most("bits", of(25, 10));
            params.insert("updates".into(), of(1 << 21, 0).to_string());
        }
        "random-access-mpi" => {
            let more = u64::from(ranks.max(1).ilog2());
            at_most("bits", of(24, 10) + more);
            params.insert("updates".into(), of((1 << 18) << more, 0).to_string());
        }
        "ptrans" => at_most("n", of(1024, 128)),
        // Each rank has elements of every other.
        "fft-mpi" => at_most("n", of(1 << 18, 1 << 10).max(4 * (ranks * ranks) as u64)),
        "hpcc-rings" => ["rings", "measurements"].into_iter().for_each(|name| at_most(name, 1)),
        "ping-pong" => {
            at_most("measurements", 1);
            params.insert("budget".into(), "500ms".into());
        }
        "hpl" => {
            // Every rank has something to do.
            let blocks = 2 * params.count("nb") * params.count("p").max(params.count("q"));
            let n = params.count("n").min(of(1536, 128).max(blocks));
            params.insert("n".into(), n.to_string());
        }
        _ => {}
    }
    params
}

/// Seconds of each test, all its modes and variants together; nothing if one of them was not tried.
fn estimate(trials: &[Trial], cases: &[Case]) -> Option<BTreeMap<&'static str, f64>> {
    let mut times = BTreeMap::new();
    for case in cases {
        let often = Often { blocks: case.blocks, steps: case.steps };
        for params in &case.params {
            *times.entry(case.test).or_insert(0.0) += scale::seconds(trials, case.kernel, params, often)?;
        }
    }
    Some(times)
}

/// What will take how long, in words.
pub fn said(trials: &[Trial], cases: &[Case]) -> Option<String> {
    let times = estimate(trials, cases)?;
    let total: f64 = times.values().sum();
    let mut longest: Vec<(&str, f64)> = times.into_iter().collect();
    longest.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> = longest.iter().take(3).map(|(test, s)| format!("{test} {}", about_seconds(*s))).collect();
    Some(format!("about {} by a trial of each test: {}", about_seconds(total), parts.join(", ")))
}

/// How long it would take to fill the memory, for those who get a modest problem because they did not say how much of it to take.
pub fn filled(request: &Request<'_>) -> Option<String> {
    let mut params = request.params.clone();
    if !request.site.alone || params.word("memory") != "auto" || params.count("n") > 0 {
        return None;
    }
    params.insert("memory".into(), "80%".into());
    let cases = all(&Request { params: &params, ..*request }).ok()?;
    let seconds: f64 = estimate(&request.site.trials, &cases)?.values().sum();
    Some(format!("with --memory 80% it would take about {}", about_seconds(seconds)))
}

/// The parameters with the largest order of HPL's system with which all tests take no longer than the budget, if there is one.
pub fn within_budget(request: &Request<'_>) -> Result<Option<Params>, SuiteError> {
    let (params, trials) = (request.params, &request.site.trials);
    let budget = params.time("budget").secs();
    if budget == 0.0 {
        return Ok(None);
    }
    for other in ["n", "hpccinf", "hpccmemf"] {
        if !matches!(params.word(other), "0" | "") {
            return Err(refuse(format!("--budget chooses the sizes, and so does --{other}: give one of them")));
        }
    }
    if params.word("estimate") == "no" {
        let text =
            "--budget chooses the sizes by a trial of each test, and --estimate no leaves them out: give one of them";
        return Err(refuse(text.into()));
    }
    let with = |n: u64| {
        let mut params = params.clone();
        params.insert("n".into(), n.to_string());
        params
    };
    let takes = |n: u64| -> Result<f64, SuiteError> {
        let cases = all(&Request { params: &with(n), ..*request })?;
        let none = || SuiteError::NotHere("hpcc: --budget: a test could not be tried here".into());
        Ok(estimate(trials, &cases).ok_or_else(none)?.values().sum())
    };
    let most = read(request)?.largest();
    let step = FINE.min(most);
    let (mut least, mut beyond) = (1, most / step + 1);
    let shortest = takes(step)?;
    if shortest > budget {
        let say =
            format!("--budget {}: the smallest problem takes about {}", params.word("budget"), about_seconds(shortest));
        return Err(refuse(say));
    }
    // The largest order that fits lies between the two: blocks that fit, and blocks that do not or are too many for the memory.
    while beyond - least > 1 {
        let middle = least.midpoint(beyond);
        if takes(middle * step)? <= budget { least = middle } else { beyond = middle }
    }
    Ok(Some(with(least * step)))
}
