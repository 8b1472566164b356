//! `hpccoutf.txt`: the summary section of HPC Challenge 1.5.0, every key in its order, for programs that read those.
//!
//! A key whose test did not run has the original's value for that, -1. Keys that describe a C build (sizes of types, compile-time
//! switches) have the values of the machine this ran on and of the algorithms that stand in for the switches.

use crate::plain::line;
use crate::subjects::hpcc::{class, jobs};
use crate::view::View;
use record::TestMode::{self, Mpi, Single, Star};
use record::{JobRecord, MachineRecord};
use std::fmt::Write;

pub(super) fn write(view: &View<'_>) -> Result<String, String> {
    let mut out = Summary { text: classes(view) };
    out.text.push_str("Begin of Summary section.\n");
    head(&mut out, view);
    hpl(&mut out, view);
    machine_constants(&mut out);
    matrices(&mut out, view);
    random_access(&mut out, view);
    memory_and_fft(&mut out, view);
    network(&mut out, view);
    tail(&mut out, view);
    out.text.push_str("End of Summary section.\n");
    Ok(out.text)
}

/// Which tests did what only an optimized run may. The summary has no key for it, so it stands before it, where programs do not look.
fn classes(view: &View<'_>) -> String {
    let of = |name: &'static str| {
        let phases = view.record.phases.iter().filter(move |p| p.jobs.iter().any(|j| class(j) == Some(name)));
        phases.map(|p| line(&p.about.to_string()))
    };
    let tests: Vec<String> = of("opt").collect();
    match tests.is_empty() {
        true if of("base").next().is_none() => "Class of the run: not recorded\n".into(),
        true => "Class of the run: base\n".into(),
        false => format!("Class of the run: optimized ({})\n", tests.join(", ")),
    }
}

fn job<'a>(view: &View<'a>, mode: TestMode, test: &'static str) -> Option<&'a JobRecord> {
    jobs(view, (mode, test)).next()
}

/// The variant of a test of all ranks with the largest value of a result.
fn best<'a>(view: &View<'a>, test: &'static str, result: &str) -> Option<&'a JobRecord> {
    // A variant without the result counts as -1 and loses to every real one.
    jobs(view, (Mpi, test)).max_by(|a, b| number(Some(a), result).total_cmp(&number(Some(b), result)))
}

/// A named number of a job, -1 without it.
fn number(job: Option<&JobRecord>, name: &str) -> f64 {
    job.and_then(|j| j.results.get(name)).copied().unwrap_or(-1.0)
}

/// The same in another unit.
fn scaled(job: Option<&JobRecord>, name: &str, scale: f64) -> f64 {
    // -1 means "did not run" and has no unit, so it is never scaled.
    match number(job, name) {
        -1.0 => -1.0,
        x => x * scale,
    }
}

/// The mean rate of a local test, in 10^9 per second.
fn rate(job: Option<&JobRecord>) -> f64 {
    job.filter(|j| j.summary.samples > 0).map_or(-1.0, |j| j.summary.mean * 1e-9)
}

struct Summary {
    text: String,
}

impl Summary {
    fn word(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.text, "{key}={}", line(value));
    }
    fn real(&mut self, key: &str, value: f64) {
        self.word(key, &general(value));
    }
    fn exponential(&mut self, key: &str, value: f64) {
        self.word(key, &scientific(value, 6));
    }
    fn whole(&mut self, key: &str, value: f64) {
        self.word(key, &format!("{value:.0}"));
    }
}

/// C's `%.{digits}e`.
fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    // Rust writes `1e-9` where C writes a sign always and two digits at least: `1e-09`. Infinities have no exponent.
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
    format!("{mantissa}e{sign}{size:0>2}")
}

/// C's `%g`.
fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}").to_lowercase();
    }
    // C chooses between the two forms by the exponent after rounding to six digits: 999999.5 is `1e+06`.
    let rounded = scientific(value, 5);
    let (mantissa, exponent) = rounded.split_once('e').expect("written with an exponent");
    let power: i32 = exponent.parse().expect("a number");
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..6).contains(&power) {
        trim(&format!("{value:.*}", (5 - power) as usize))
    } else {
        format!("{}e{exponent}", trim(mantissa))
    }
}

fn head(out: &mut Summary, view: &View<'_>) {
    let record = view.record;
    // The version whose keys these are; `f` is a final release.
    for (key, value) in [("VersionMajor", "1"), ("VersionMinor", "5"), ("VersionMicro", "0"), ("VersionRelease", "f")] {
        out.word(key, value);
    }
    out.word("LANG", "Rust");
    out.word("Success", if record.outcome() == record::Outcome::Pass { "1" } else { "0" });
    // As on LP64 systems, where a C `long` is as wide as a pointer.
    let pointer = size_of::<usize>();
    let sizes = [("char", 1), ("short", 2), ("int", 4), ("long", pointer), ("void_ptr", pointer), ("size_t", pointer)];
    let more = [("float", 4), ("double", 8), ("s64Int", 8), ("u64Int", 8), ("struct_double_double", 16)];
    for (name, size) in sizes.into_iter().chain(more) {
        out.word(&format!("sizeof_{name}"), &size.to_string());
    }
    out.word("CommWorldProcs", &record.layout.ranks.to_string());
    // The clocks behind `Comm::now` count nanoseconds or better.
    out.exponential("MPI_Wtick", 1e-9);
}

fn word<'a>(job: Option<&'a JobRecord>, name: &str) -> Option<&'a str> {
    job?.params.get(name).map(String::as_str)
}

fn param(job: Option<&JobRecord>, name: &str) -> f64 {
    word(job, name).and_then(|x| x.parse().ok()).unwrap_or(-1.0)
}

fn hpl(out: &mut Summary, view: &View<'_>) {
    let job = best(view, "hpl", "flops_per_s");
    out.real("HPL_Tflops", scaled(job, "flops_per_s", 1e-12));
    let norms = [("RnormI", "rnorm_inf"), ("Anorm1", "anorm_1"), ("AnormI", "anorm_inf"), ("Xnorm1", "xnorm_1")];
    let more = [("XnormI", "xnorm_inf"), ("BnormI", "bnorm_inf")];
    for (key, name) in [("time", "time_s"), ("eps", "eps")].into_iter().chain(norms).chain(more) {
        out.real(&format!("HPL_{key}"), number(job, name));
    }
    out.whole("HPL_N", param(job, "n"));
    out.whole("HPL_NB", param(job, "nb"));
    out.whole("HPL_nprow", number(job, "p"));
    out.whole("HPL_npcol", number(job, "q"));
    for (key, name) in [("HPL_depth", "depth"), ("HPL_nbdiv", "ndiv"), ("HPL_nbmin", "nbmin")] {
        out.whole(key, param(job, name));
    }
    // A record may come from another version: a missing word is unknown, not the end of the report.
    let letter = |name: &str| match word(job, name) {
        Some("left") => "L",
        Some("crout") => "C",
        Some("right") => "R",
        _ => "-",
    };
    out.word("HPL_cpfact", letter("pfact"));
    out.word("HPL_crfact", letter("rfact"));
    // The original numbers its broadcasts from 0 in this order.
    let ways = ["1ring", "1ringM", "2ring", "2ringM", "long", "longM"];
    let way = word(job, "bcast").and_then(|bcast| ways.iter().position(|w| *w == bcast));
    out.whole("HPL_ctop", way.map_or(-1.0, |w| w as f64));
    out.word("HPL_order", if word(job, "mapping") == Some("column") { "C" } else { "R" });
}

/// LAPACK's machine constants of both precisions.
fn machine_constants(out: &mut Summary) {
    // Rust's EPSILON is the gap above 1, twice LAPACK's eps, which is the rounding error; PREC is eps times the base.
    // The safe minimum is the least normal number, because in IEEE arithmetic 1/most lies below it.
    let constants = |eps: f64, least: f64, most: f64, [digits, from, to]: [f64; 3]| {
        [eps / 2.0, least, 2.0, eps, digits, 1.0, from, least, to, most]
    };
    let double = constants(f64::EPSILON, f64::MIN_POSITIVE, f64::MAX, [53.0, -1021.0, 1024.0]);
    let [eps, least, most] = [f32::EPSILON, f32::MIN_POSITIVE, f32::MAX].map(f64::from);
    let single = constants(eps, least, most, [24.0, -125.0, 128.0]);
    let names = ["EPS", "SFMIN", "BASE", "PREC", "MLEN", "RND", "EMIN", "RMIN", "EMAX", "RMAX"];
    for (kind, values) in [("d", double), ("s", single)] {
        for (name, value) in names.into_iter().zip(values) {
            out.exponential(&format!("HPL_{kind}MACH_{name}"), value);
        }
    }
    out.exponential("dweps", f64::EPSILON / 2.0);
    out.exponential("sweps", eps / 2.0);
}

/// A test of single ranks: its size, and its rate on every rank at once and on one.
fn local(out: &mut Summary, view: &View<'_>, test: &'static str, name: &str, unit: &str) {
    let (star, single) = (job(view, Star, test), job(view, Single, test));
    out.whole(&format!("{name}_N"), number(star.or(single), "n"));
    out.real(&format!("Star{name}_{unit}"), rate(star));
    out.real(&format!("Single{name}_{unit}"), rate(single));
}

fn matrices(out: &mut Summary, view: &View<'_>) {
    // Over all grids that ran, not only that of the best run.
    let ranks: Vec<f64> = jobs(view, (Mpi, "hpl")).map(|j| number(Some(j), "p") * number(Some(j), "q")).collect();
    let worst = |pick: fn(f64, f64) -> f64| ranks.iter().copied().reduce(pick).unwrap_or(-1.0);
    out.whole("HPLMaxProcs", worst(f64::max));
    out.whole("HPLMinProcs", worst(f64::min));
    local(out, view, "dgemm", "DGEMM", "Gflops");
    let job = best(view, "ptrans", "bytes_per_s");
    out.real("PTRANS_GBs", scaled(job, "bytes_per_s", 1e-9));
    out.real("PTRANS_time", number(job, "time_s"));
    out.real("PTRANS_residual", number(job, "residual"));
    for (key, name) in [("n", "n"), ("nb", "nb"), ("nprow", "p"), ("npcol", "q")] {
        out.whole(&format!("PTRANS_{key}"), number(job, name));
    }
}

fn random_access(out: &mut Summary, view: &View<'_>) {
    // The original writes the LCG variant first, and all global keys before the local ones.
    let kinds = [("_LCG", "random-access-lcg"), ("", "random-access")];
    for (suffix, test) in kinds {
        let job = job(view, Mpi, test);
        let key = |name: &str| format!("MPIRandomAccess{suffix}_{name}");
        out.whole(&key("N"), number(job, "n"));
        out.real(&key("time"), number(job, "time_s"));
        out.real(&key("CheckTime"), number(job, "check_time_s"));
        out.whole(&key("Errors"), number(job, "errors"));
        out.real(&key("ErrorsFraction"), number(job, "errors_share"));
        out.whole(&key("ExeUpdates"), number(job, "updates"));
        out.real(&key("GUPs"), scaled(job, "updates_per_s", 1e-9));
        out.real(&key("TimeBound"), number(job, "time_bound_s"));
        out.whole(&key("Algorithm"), number(job, "algorithm"));
    }
    for (suffix, test) in kinds {
        local(out, view, test, &format!("RandomAccess{suffix}"), "GUPs");
    }
}

fn memory_and_fft(out: &mut Summary, view: &View<'_>) {
    let (star, single) = (job(view, Star, "stream"), job(view, Single, "stream"));
    out.whole("STREAM_VectorSize", number(star.or(single), "n"));
    out.whole("STREAM_Threads", param(star.or(single), "threads"));
    for (mode, job) in [("Star", star), ("Single", single)] {
        for (name, result) in [("Copy", "copy"), ("Scale", "scale"), ("Add", "add"), ("Triad", "triad")] {
            out.real(&format!("{mode}STREAM_{name}"), scaled(job, &format!("{result}_bytes_per_s"), 1e-9));
        }
    }
    local(out, view, "fft", "FFT", "Gflops");
    let job = job(view, Mpi, "fft");
    out.whole("MPIFFT_N", number(job, "n"));
    out.real("MPIFFT_Gflops", scaled(job, "flops_per_s", 1e-9));
    out.real("MPIFFT_maxErr", number(job, "max_error"));
    out.whole("MPIFFT_Procs", number(job, "ranks"));
}

fn network(out: &mut Summary, view: &View<'_>) {
    let latency = |key: &str, test, name: &str| (format!("{key}_usec"), test, format!("{name}_s"), 1e6);
    let rate = |key: &str, test, name: &str| (format!("{key}_GBytes"), test, format!("{name}_bytes_per_s"), 1e-9);
    // The order of the original's file, which follows neither test nor unit.
    for (key, test, name, scale) in [
        latency("MaxPingPongLatency", "ping-pong-latency", "latency_max"),
        latency("RandomlyOrderedRingLatency", "ring-latency", "random_latency"),
        rate("MinPingPongBandwidth", "ping-pong-bandwidth", "bandwidth_min"),
        rate("NaturallyOrderedRingBandwidth", "ring-bandwidth", "natural_bandwidth"),
        rate("RandomlyOrderedRingBandwidth", "ring-bandwidth", "random_bandwidth"),
        latency("MinPingPongLatency", "ping-pong-latency", "latency_min"),
        latency("AvgPingPongLatency", "ping-pong-latency", "latency_avg"),
        rate("MaxPingPongBandwidth", "ping-pong-bandwidth", "bandwidth_max"),
        rate("AvgPingPongBandwidth", "ping-pong-bandwidth", "bandwidth_avg"),
        latency("NaturallyOrderedRingLatency", "ring-latency", "natural_latency"),
    ] {
        out.real(&key, scaled(job(view, Mpi, test), &name, scale));
    }
}

fn tail(out: &mut Summary, view: &View<'_>) {
    // Constants of FFTE, the original's own FFT, which this is not. M_OPENMP is -1 in a build without OpenMP, as this one is.
    for key in ["FFTEnblk", "FFTEnp", "FFTEl2size", "M_OPENMP"] {
        out.word(key, "-1");
    }
    let threaded = [(Star, "dgemm"), (Star, "stream"), (Mpi, "hpl")];
    let threads = threaded.map(|(mode, test)| param(job(view, mode, test), "threads"));
    let most = threads.into_iter().fold(0.0, f64::max);
    let processors = match &view.record.machine {
        MachineRecord::Mpi { host, .. } | MachineRecord::Local { host } => f64::from(host.cpus),
        // The processors of the host that simulates are not those of the machine that is reported.
        MachineRecord::Simulated { .. } => 0.0,
    };
    out.whole("omp_get_num_threads", most);
    out.whole("omp_get_max_threads", most);
    out.whole("omp_get_num_procs", processors);
    // No memory was asked for, and the stages of MPIFFT are those of the original's own algorithm.
    let stages = (0..7).map(|stage| format!("MPIFFT_time{stage}"));
    for key in ["MemProc", "MemSpec", "MemVal"].map(String::from).into_iter().chain(stages) {
        out.word(&key, "-1");
    }
    // Algorithm 1 is what the original is built with by RA_SANDIA_NOPT.
    let hypercube = number(job(view, Mpi, "random-access"), "algorithm") == 1.0;
    let switches = ["HPCC_FFT_235", "HPCC_FFTW_ESTIMATE", "HPCC_MEMALLCTR", "HPL_USE_GETPROCESSTIMES"];
    for key in switches.into_iter().chain(["RA_SANDIA_NOPT", "RA_SANDIA_OPT2", "USING_FFTW"]) {
        let on = hypercube && key == "RA_SANDIA_NOPT";
        out.word(&format!("CPS_{key}"), if on { "1" } else { "0" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_c_writes_them() {
        let cases = [
            (0.0, "0"),
            (-1.0, "-1"),
            (8000.0, "8000"),
            (0.0734, "0.0734"),
            (1.11022e-16, "1.11022e-16"),
            (123456.0, "123456"),
            (1234567.0, "1.23457e+06"),
            (0.00012345678, "0.000123457"),
            (0.000012345678, "1.23457e-05"),
            (999999.6, "1e+06"),
            (2.5, "2.5"),
        ];
        for (value, text) in cases {
            assert_eq!(general(value), text);
        }
        assert_eq!(scientific(1e-9, 6), "1.000000e-09");
        assert_eq!(scientific(f64::MAX, 6), "1.797693e+308");
        assert_eq!(scientific(-1021.0, 6), "-1.021000e+03");
    }

    /// The keys of version 1.5.0 between `Begin of Summary section.` and its end.
    const KEYS: &str = "VersionMajor VersionMinor VersionMicro VersionRelease LANG Success sizeof_char sizeof_short sizeof_int \
        sizeof_long sizeof_void_ptr sizeof_size_t sizeof_float sizeof_double sizeof_s64Int sizeof_u64Int sizeof_struct_double_double \
        CommWorldProcs MPI_Wtick HPL_Tflops HPL_time HPL_eps HPL_RnormI HPL_Anorm1 HPL_AnormI HPL_Xnorm1 HPL_XnormI HPL_BnormI HPL_N \
        HPL_NB HPL_nprow HPL_npcol HPL_depth HPL_nbdiv HPL_nbmin HPL_cpfact HPL_crfact HPL_ctop HPL_order HPL_dMACH_EPS \
        HPL_dMACH_SFMIN HPL_dMACH_BASE HPL_dMACH_PREC HPL_dMACH_MLEN HPL_dMACH_RND HPL_dMACH_EMIN HPL_dMACH_RMIN HPL_dMACH_EMAX \
        HPL_dMACH_RMAX HPL_sMACH_EPS HPL_sMACH_SFMIN HPL_sMACH_BASE HPL_sMACH_PREC HPL_sMACH_MLEN HPL_sMACH_RND HPL_sMACH_EMIN \
        HPL_sMACH_RMIN HPL_sMACH_EMAX HPL_sMACH_RMAX dweps sweps HPLMaxProcs HPLMinProcs DGEMM_N StarDGEMM_Gflops SingleDGEMM_Gflops \
        PTRANS_GBs PTRANS_time PTRANS_residual PTRANS_n PTRANS_nb PTRANS_nprow PTRANS_npcol MPIRandomAccess_LCG_N \
        MPIRandomAccess_LCG_time MPIRandomAccess_LCG_CheckTime MPIRandomAccess_LCG_Errors MPIRandomAccess_LCG_ErrorsFraction \
        MPIRandomAccess_LCG_ExeUpdates MPIRandomAccess_LCG_GUPs MPIRandomAccess_LCG_TimeBound MPIRandomAccess_LCG_Algorithm \
        MPIRandomAccess_N MPIRandomAccess_time MPIRandomAccess_CheckTime MPIRandomAccess_Errors MPIRandomAccess_ErrorsFraction \
        MPIRandomAccess_ExeUpdates MPIRandomAccess_GUPs MPIRandomAccess_TimeBound MPIRandomAccess_Algorithm RandomAccess_LCG_N \
        StarRandomAccess_LCG_GUPs SingleRandomAccess_LCG_GUPs RandomAccess_N StarRandomAccess_GUPs SingleRandomAccess_GUPs \
        STREAM_VectorSize STREAM_Threads StarSTREAM_Copy StarSTREAM_Scale StarSTREAM_Add StarSTREAM_Triad SingleSTREAM_Copy \
        SingleSTREAM_Scale SingleSTREAM_Add SingleSTREAM_Triad FFT_N StarFFT_Gflops SingleFFT_Gflops MPIFFT_N MPIFFT_Gflops \
        MPIFFT_maxErr MPIFFT_Procs MaxPingPongLatency_usec RandomlyOrderedRingLatency_usec MinPingPongBandwidth_GBytes \
        NaturallyOrderedRingBandwidth_GBytes RandomlyOrderedRingBandwidth_GBytes MinPingPongLatency_usec AvgPingPongLatency_usec \
        MaxPingPongBandwidth_GBytes AvgPingPongBandwidth_GBytes NaturallyOrderedRingLatency_usec FFTEnblk FFTEnp FFTEl2size M_OPENMP \
        omp_get_num_threads omp_get_max_threads omp_get_num_procs MemProc MemSpec MemVal MPIFFT_time0 MPIFFT_time1 MPIFFT_time2 \
        MPIFFT_time3 MPIFFT_time4 MPIFFT_time5 MPIFFT_time6 CPS_HPCC_FFT_235 CPS_HPCC_FFTW_ESTIMATE CPS_HPCC_MEMALLCTR \
        CPS_HPL_USE_GETPROCESSTIMES CPS_RA_SANDIA_NOPT CPS_RA_SANDIA_OPT2 CPS_USING_FFTW";

    #[test]
    fn every_key_is_there_in_its_order_even_if_nothing_ran() {
        let record = r#"{ "format": "tailback-run", "version": 1, "tailback": "0", "status": { "status": "complete" }, "command": [],
            "machine": { "kind": "local", "host": { "name": "", "kernel": "", "cpu": "", "cpus": 2, "memory_bytes": 0 } },
            "layout": { "nodes": 1, "ranks": 1, "min_ranks_per_node": 1, "max_ranks_per_node": 1 },
            "plan": { "suite": "hpcc", "seed": 1, "node_order": "natural", "payload": "checked", "phases": [] },
            "warnings": [], "phases": [] }"#;
        let record: record::RunRecord = serde_json::from_str(record).unwrap();
        let text = write(&View::new(&record)).unwrap();
        let keys: Vec<&str> = text.lines().filter_map(|l| l.split_once('=')).map(|(key, _)| key).collect();
        assert_eq!(keys, KEYS.split_whitespace().collect::<Vec<_>>());
        assert!(
            text.contains("\nSuccess=0\n")
                && text.contains("\nHPL_Tflops=-1\n")
                && text.contains("\nHPL_dMACH_EPS=1.110223e-16\n")
        );
    }
}
