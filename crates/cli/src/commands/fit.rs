//! `tailback fit maxrate`: parameters, limits, error tables and advice from measured times.

use crate::exit::{Exit, Fail};
use crate::output;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use model::maxrate::advice::{self, Halo, Split};
use model::maxrate::models::Limit;
use model::maxrate::probe::{self, Outcome};
use model::maxrate::queue::{self, QueueFit};
use model::maxrate::tables::{self, ErrorRow, HeatCell};
use model::maxrate::{Location, Options, Pattern, Point, Report, Sample, Weighting, analyse, nodecomm, points};
use record::{JobRecord, RunRecord};
use report::table::{Table, digits};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Its command line.
pub fn command() -> Command {
    let option = |name: &'static str, unit: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(unit).help(help)
    };
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help).action(ArgAction::SetTrue);
    let maxrate = Command::new("maxrate")
        .about("Fit postal and max-rate models to a record of `run maxrate`, or to nodecomm's text output")
        .arg(Arg::new("file").required(true).value_name("FILE").value_parser(value_parser!(PathBuf)))
        .arg(
            option("weights", "HOW", "Weights of residuals: relative errors, or the paper's 1/n")
                .default_value("relative")
                .value_parser(PossibleValuesParser::new(["relative", "paper"])),
        )
        .arg(
            option("location", "HOW", "What stands for several trials")
                .default_value("median")
                .value_parser(PossibleValuesParser::new(["median", "minimum", "worst"])),
        )
        .arg(
            option("phases", "SIZES", "Sizes at which protocols change, e.g. 512,8KiB, `none`, or `auto`")
                .default_value("auto"),
        )
        .arg(
            option("replicates", "N", "Replicates of the bootstrap; 0 for no intervals")
                .default_value("200")
                .value_parser(value_parser!(u16)),
        )
        .arg(
            option("block", "N", "Which table of nodecomm's output, from 1, or `all` as trials of one")
                .default_value("1"),
        )
        .arg(option("split", "BYTES", "Advice for sending this much of a node's data").default_value("1MiB"))
        .arg(option("halo", "BYTES", "Advice for a halo exchange with messages of this size").default_value("64KiB"))
        .arg(
            option("neighbours", "N", "Neighbours of the halo exchange")
                .default_value("6")
                .value_parser(value_parser!(u32).range(1..)),
        )
        .arg(flag("heat", "Also the relative error of every size and number of pairs, as the paper's Figure 2"))
        .arg(flag("json", "Everything as JSON"));
    Command::new("fit").about("Fit a model to measurements").subcommand_required(true).subcommand(maxrate)
}

/// Times of one class of pair and one pattern.
#[derive(Serialize)]
struct Fitted {
    class: String,
    pattern: Pattern,
    report: Report,
    errors: Vec<ErrorRow>,
    heat: Vec<HeatCell>,
    /// How many processes fill the node, or why that is not known.
    saturating: Result<u32, String>,
    split: Split,
    halo: Halo,
    notes: Vec<String>,
}

/// The delayed receiver of one class.
#[derive(Serialize)]
struct Probed {
    class: String,
    outcome: Outcome,
}

/// The message-count sweep of one class and order.
#[derive(Serialize)]
struct Queued {
    class: String,
    order: String,
    fit: Result<QueueFit, String>,
}

#[derive(Serialize)]
struct All {
    fits: Vec<Fitted>,
    probes: Vec<Probed>,
    queues: Vec<Queued>,
}

/// What a file holds.
#[derive(Default)]
struct Data {
    samples: BTreeMap<(String, &'static str), Vec<Sample>>,
    /// Class, then size: times of sends to a prompt and to a late receiver, and the delay.
    probes: BTreeMap<String, BTreeMap<u64, [Option<f64>; 3]>>,
    queues: BTreeMap<(String, String), Vec<(u64, f64)>>,
    notes: Vec<String>,
}

/// Runs it.
pub fn fit(args: &ArgMatches) -> anyhow::Result<Exit> {
    let (_, args) = args.subcommand().expect("one is required");
    let path = args.get_one::<PathBuf>("file").expect("it is required");
    let data = read(path, args)?;
    let all = All {
        fits: data
            .samples
            .iter()
            .map(|((class, mode), samples)| fitted(class, mode, samples, &data.notes, path, args))
            .collect::<anyhow::Result<_>>()?,
        probes: data.probes.iter().map(|(class, sizes)| probed(class, sizes)).collect(),
        queues: data
            .queues
            .iter()
            .map(|((class, order), times)| Queued {
                class: class.clone(),
                order: order.clone(),
                fit: queue::fit(times).map_err(|e| e.to_string()),
            })
            .collect(),
    };
    let text = match args.get_flag("json") {
        true => serde_json::to_string_pretty(&all)? + "\n",
        false => show(&all, args.get_flag("heat")),
    };
    output::print(&text)?;
    Ok(Exit::Good)
}

fn read(path: &Path, args: &ArgMatches) -> anyhow::Result<Data> {
    let file = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
    let name = file.display().to_string();
    let text =
        std::fs::read_to_string(&file).map_err(|e| Fail::with(Exit::Failure, format!("cannot read {name}: {e}")))?;
    let data = match text.trim_start().starts_with('{') {
        true => from_record(&record::read(&file)?, args),
        false => from_nodecomm(&text, args).map_err(|e| Fail::usage(format!("{name}: {e}")))?,
    };
    if data.samples.is_empty() && data.probes.is_empty() && data.queues.is_empty() {
        return Err(Fail::usage(format!(
            "{name}: there are no samples in it; it needs a record of `tailback run maxrate`"
        )));
    }
    Ok(data)
}

fn from_nodecomm(text: &str, args: &ArgMatches) -> Result<Data, String> {
    let blocks = nodecomm::read(text).map_err(|e| e.to_string())?;
    let wanted = args.get_one::<String>("block").expect("it has a default");
    let mut data = Data::default();
    let samples = match wanted.as_str() {
        "all" => nodecomm::as_trials(&blocks),
        number => {
            let index = number.parse::<usize>().ok().filter(|n| (1..=blocks.len()).contains(n));
            let index = index.ok_or_else(|| {
                format!("--block {number}: there are {} tables; a number from 1, or `all`", blocks.len())
            })?;
            blocks[index - 1].samples.clone()
        }
    };
    if blocks.len() > 1 && wanted != "all" {
        data.notes.push(format!("table {wanted} of {}; --block chooses another, or `all` as trials", blocks.len()));
    }
    data.samples.insert(("nodecomm".into(), "pingpong"), samples);
    Ok(data)
}

fn from_record(record: &RunRecord, args: &ArgMatches) -> Data {
    let mut data = Data::default();
    let worst = args.get_one::<String>("location").is_some_and(|l| l == "worst");
    for phase in &record.phases {
        let class = phase.name.split('/').next().unwrap_or_default().to_string();
        let measured = phase.jobs.iter().filter(|j| j.skipped.is_none() && j.summary.samples > 0);
        for job in measured {
            let bytes = job.params.get("size").and_then(|s| spec::parse_bytes(s).ok()).unwrap_or(0);
            let mode = bench::suites::maxrate::MODES.iter().find(|m| m.1 == job.kernel).map(|m| m.0);
            match (mode, job.kernel.as_str()) {
                (Some(mode), _) => {
                    let list = data.samples.entry((class.clone(), mode)).or_default();
                    list.extend(trials(job, bytes, worst));
                }
                (None, "late-receiver") => {
                    let delay =
                        job.params.get("delay").and_then(|t| spec::parse_time(t).ok()).map_or(0.0, |t| t.secs());
                    let cell = data.probes.entry(class.clone()).or_default().entry(bytes).or_default();
                    let middle = job.summary.quantile(0.5).map_or(job.summary.mean, |q| q.value);
                    if delay > 0.0 {
                        (cell[1], cell[2]) = (Some(middle), Some(delay));
                    } else {
                        cell[0] = Some(middle);
                    }
                }
                (None, "pair-queue") => {
                    let count = job.params.get("messages").and_then(|m| m.parse().ok()).unwrap_or(0);
                    let order = job.params.get("order").cloned().unwrap_or_default();
                    let middle = job.summary.quantile(0.5).map_or(job.summary.mean, |q| q.value);
                    data.queues.entry((class.clone(), order)).or_default().push((count, middle));
                }
                _ => {}
            }
        }
    }
    data.notes.extend(uneven(record).filter(|_| !worst));
    data
}

/// Pairs that differ from each other by more than this in a trial make its mean a matter of luck.
const UNEVEN: f64 = 0.1;

/// Says how much slower the slowest pair is than the mean, where that matters.
fn uneven(record: &RunRecord) -> Option<String> {
    let jobs = record.phases.iter().flat_map(|p| &p.jobs).filter(|j| j.kernel.starts_with("pair-") && j.ranks > 2);
    let excess = jobs.map(|j| j.summary.mean_worst / j.summary.mean - 1.0).fold(0.0, f64::max);
    (excess > UNEVEN).then(|| {
        format!(
            "the slowest pair of a trial is up to {:.0} % slower than the mean of its pairs; --location worst takes it, as \
             nodecomm does, and more --loops even it out",
            100.0 * excess
        )
    })
}

/// The trials of a point: blocks, each averaged over its pairs; or one value, the mean over blocks of the slowest pair.
fn trials(job: &JobRecord, bytes: u64, worst: bool) -> Vec<Sample> {
    let sample = |(trial, seconds): (usize, f64)| Sample { bytes, pairs: job.ranks / 2, seconds, trial: trial as u32 };
    if worst {
        return vec![sample((0, job.summary.mean_worst))];
    }
    let blocks = job.batches.batches.iter().filter(|b| b.blocks > 0.0).map(|b| b.sum / b.blocks);
    blocks.enumerate().map(sample).collect()
}

fn options(args: &ArgMatches, mode: &str) -> anyhow::Result<Options> {
    let word = |name: &str| args.get_one::<String>(name).expect("it has a default").as_str();
    let phase_starts = match word("phases") {
        "auto" => None,
        "none" => Some(Vec::new()),
        list => Some(
            list.split(',')
                .map(|s| spec::parse_bytes(s).map_err(|e| Fail::usage(format!("--phases: {e}"))))
                .collect::<anyhow::Result<Vec<u64>>>()?,
        ),
    };
    Ok(Options {
        pattern: match mode {
            "pingpong" => Pattern::PingPong,
            "stream" => Pattern::Stream,
            _ => Pattern::Duplex,
        },
        weighting: if word("weights") == "paper" { Weighting::Paper } else { Weighting::Relative },
        location: if word("location") == "minimum" { Location::Minimum } else { Location::Median },
        phase_starts,
        replicates: usize::from(*args.get_one::<u16>("replicates").expect("it has a default")),
        seed: 1,
    })
}

fn fitted(
    class: &str,
    mode: &str,
    samples: &[Sample],
    notes: &[String],
    path: &Path,
    args: &ArgMatches,
) -> anyhow::Result<Fitted> {
    let bad = |e: &dyn std::fmt::Display| Fail::usage(format!("{}: {class}/{mode}: {e}", path.display()));
    let options = options(args, mode)?;
    let points: Vec<Point> = points(samples, options.location, true).map_err(|e| bad(&e))?;
    let report = analyse(&points, &options).map_err(|e| bad(&e))?;
    let most = points.iter().map(|p| p.pairs).max().unwrap_or(1);
    let size = |name: &str| {
        let text = args.get_one::<String>(name).expect("it has a default");
        spec::parse_bytes(text).map_err(|e| Fail::usage(format!("--{name}: {e}")))
    };
    let neighbours = *args.get_one::<u32>("neighbours").expect("it has a default");
    Ok(Fitted {
        class: class.into(),
        pattern: options.pattern,
        errors: tables::errors(&report),
        heat: tables::heat_map(&report, &points, None),
        saturating: advice::saturating_processes(&report),
        split: advice::split(&report, size("split")?, most).map_err(|e| Fail::usage(format!("--split: {e}")))?,
        halo: advice::halo(&report, size("halo")?, neighbours, most)
            .map_err(|e| Fail::usage(format!("--halo: {e}")))?,
        notes: notes.to_vec(),
        report,
    })
}

/// The smallest size that waits for its receiver, among the sizes measured.
fn probed(class: &str, sizes: &BTreeMap<u64, [Option<f64>; 3]>) -> Probed {
    let whole = sizes.iter().filter_map(|(n, c)| Some((*n, probe::blocks(c[0]?, c[1]?, c[2]?))));
    let answers: Vec<(u64, bool)> = whole.collect();
    let first = answers.iter().position(|a| a.1);
    let outcome = match (first, answers.last()) {
        (_, None) => Outcome::Invalid,
        (Some(0), _) => Outcome::Always { bytes: answers[0].0 },
        (None, Some((bytes, _))) => Outcome::Never { bytes: *bytes },
        (Some(i), _) => Outcome::Blocks {
            from: answers[i].0,
            below: answers[i - 1].0,
            // Sizes above the first that blocks but do not block themselves: noise, or a matter of credits.
            split_votes: answers[i..].iter().filter(|a| !a.1).count() as u32,
        },
    };
    Probed { class: class.into(), outcome }
}

fn show(all: &All, heat: bool) -> String {
    let mut out = String::new();
    for fitted in &all.fits {
        show_fit(&mut out, fitted, all.probes.iter().find(|p| p.class == fitted.class));
        if heat {
            show_heat(&mut out, &fitted.heat);
        }
        show_advice(&mut out, fitted);
    }
    for probed in &all.probes {
        let _ = match probed.outcome {
            Outcome::Blocks { from, below, split_votes } => {
                let doubt =
                    if split_votes > 0 { format!(" ({split_votes} larger sizes did not wait)") } else { String::new() };
                writeln!(
                    out,
                    "Delayed receiver, {}: sends of {from} bytes and more wait for their receiver, those of {below} do not{doubt}",
                    probed.class
                )
            }
            Outcome::Always { bytes } => {
                writeln!(out, "Delayed receiver, {}: even {bytes} bytes wait for their receiver", probed.class)
            }
            Outcome::Never { bytes } => {
                writeln!(out, "Delayed receiver, {}: no size up to {bytes} bytes waits for its receiver", probed.class)
            }
            Outcome::Invalid => writeln!(out, "Delayed receiver, {}: nothing was measured", probed.class),
        };
    }
    for queued in &all.queues {
        let _ = match &queued.fit {
            Ok(q) => writeln!(
                out,
                "Many messages, {}, receives in {} order: {} us + {} us per message + {} ns per squared number (error up to {}%)",
                queued.class,
                queued.order,
                digits(q.constant_s * 1e6),
                digits(q.per_message_s * 1e6),
                digits(q.search_s * 1e9),
                digits(100.0 * q.error_max)
            ),
            Err(e) => writeln!(out, "Many messages, {}, {} order: {e}", queued.class, queued.order),
        };
    }
    out
}

/// A value in a unit that people read, with its interval.
fn shown(e: &model::maxrate::models::Estimate) -> String {
    let (scale, unit) = match e.unit.as_str() {
        "s" => (1e6, "us"),
        "B/s" => (1e-9, "GB/s"),
        _ => (1.0, "pairs"),
    };
    match (e.value, e.low, e.high) {
        (None, ..) => "not determined".into(),
        (Some(v), Some(l), Some(h)) => {
            format!("{} {unit} [{}, {}]", digits(v * scale), digits(l * scale), digits(h * scale))
        }
        (Some(v), ..) => format!("{} {unit}", digits(v * scale)),
    }
}

fn show_fit(out: &mut String, fitted: &Fitted, probe: Option<&Probed>) {
    let report = &fitted.report;
    let convention = match fitted.pattern {
        Pattern::PingPong => "times are whole round trips; one-way values are derived and named so",
        Pattern::Stream => "times are per message, one direction in use",
        Pattern::Duplex => "times are per message of one direction, both in use",
    };
    let _ = writeln!(out, "{}, {:?}: {convention}", fitted.class, fitted.pattern);
    fitted.notes.iter().for_each(|n| out.push_str(&format!("  ! {n}\n")));
    for cut in report.breaks.iter().filter(|b| b.protocol) {
        let confirmed = match probe.map(|p| p.outcome) {
            Some(Outcome::Blocks { from, below, .. }) if below < cut.bytes && cut.after_bytes <= from => {
                "; the delayed receiver confirms it as the end of eager sends"
            }
            _ => "",
        };
        let _ = writeln!(out, "  protocol changes between {} and {} bytes{confirmed}", cut.after_bytes, cut.bytes);
    }
    for phase in &report.phases {
        let _ = writeln!(out, "\n  {} to {} bytes: {} fits best", phase.from_bytes, phase.to_bytes, phase.chosen);
        let mut table = Table::new(&["model", "parameters [95 % interval]"]);
        for fit in phase.fits.iter().filter(|f| f.model == phase.chosen || f.model == "m3") {
            let values = fit.estimates.iter().map(|e| format!("{} {}", e.name, shown(e))).collect::<Vec<_>>();
            table.row([fit.model.clone(), values.join("; ")]);
        }
        table.write_left(out);
        one_way(out, fitted, phase.chosen());
        let mut limits: Vec<String> = phase.chosen().limits.iter().map(Limit::to_string).collect();
        limits.extend(phase.fit("m3").into_iter().flat_map(|f| &f.limits).map(Limit::to_string));
        limits.dedup();
        limits.iter().for_each(|l| out.push_str(&format!("  ! {l}\n")));
    }
    let header: Vec<String> = std::iter::once("sum (max) of |T-f|/T".to_string())
        .chain(report.phases.iter().map(|p| format!("from {} B", p.from_bytes)))
        .collect();
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for row in &fitted.errors {
        let cell =
            |c: &Option<tables::ErrorCell>| c.map_or("-".into(), |c| format!("{} ({})", digits(c.sum), digits(c.max)));
        table.row(std::iter::once(row.model.clone()).chain(row.phases.iter().map(cell)));
    }
    out.push('\n');
    table.write(out);
}

/// One-way values of a ping-pong fit, derived once and named as such.
fn one_way(out: &mut String, fitted: &Fitted, fit: &model::maxrate::Fit) {
    if fitted.pattern != Pattern::PingPong {
        return;
    }
    let latency = fit.value("alpha").map(|a| fitted.pattern.one_way_seconds(a));
    let core = fit.value("rate_core").or(fit.value("rate_base")).map(|r| fitted.pattern.one_way_core_rate(r));
    if let (Some(latency), Some(core)) = (latency, core) {
        let _ = writeln!(
            out,
            "  one way: alpha {} us, R_C {} GB/s; R_N is {}",
            digits(latency * 1e6),
            digits(core * 1e-9),
            fitted.pattern.node_rate_means()
        );
    }
}

fn show_heat(out: &mut String, heat: &[HeatCell]) {
    let mut pairs: Vec<u32> = heat.iter().map(|c| c.pairs).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let header: Vec<String> =
        std::iter::once("error % at".to_string()).chain(pairs.iter().map(|k| format!("k={k}"))).collect();
    let mut rows: BTreeMap<u64, BTreeMap<u32, f64>> = BTreeMap::new();
    for c in heat {
        rows.entry(c.bytes).or_default().insert(c.pairs, c.error);
    }
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for (bytes, cells) in rows {
        let cell = |k: &u32| cells.get(k).map_or("-".into(), |e| format!("{:+.1}", 100.0 * e));
        table.row(std::iter::once(bytes.to_string()).chain(pairs.iter().map(cell)));
    }
    out.push('\n');
    table.write(out);
}

fn show_advice(out: &mut String, fitted: &Fitted) {
    out.push_str("\n  Advice\n");
    let _ = match &fitted.saturating {
        Ok(k) => writeln!(out, "  {k} communicating processes fill the node"),
        Err(why) => writeln!(out, "  how many processes fill the node is not known: {why}"),
    };
    let Split { bytes, best, enough, gain, .. } = &fitted.split;
    let _ = writeln!(
        out,
        "  {bytes} bytes of a node: {enough} processes are enough (best {best}), {} times faster than one",
        digits(*gain)
    );
    let halo = &fitted.halo;
    let postal =
        halo.postal_s.map_or(String::new(), |p| format!("; the postal model of one pair says {} us", digits(p * 1e6)));
    let _ = writeln!(
        out,
        "  halo exchange: {} us neighbour by neighbour, {} us overlapped{postal}\n",
        digits(halo.in_turn_s * 1e6),
        digits(halo.overlapped_s * 1e6)
    );
}
