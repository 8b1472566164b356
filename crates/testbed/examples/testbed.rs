//! The testbed by hand, without the `tailback` program: `cargo run -p tailback-testbed --example testbed -- help`.

use std::path::PathBuf;
use std::time::Duration;
use tailback_testbed::{Launch, Mode, RunOutcome, RunSpec, Spec, Store};

const HELP: &str = "\
up NAME NODES [--per-leaf N] [--rate R] [--uplink R] [--taper X] [--delay-us N] [--subnet NET] [--user]
down NAME | status [NAME]
run NAME [--mpi MPIRUN] [--nodes N] [--per-node N] [--env A=B] [--arg LAUNCHER-ARG] [--timeout T] [--least BYTES] -- CMD ...
agent [--testbed NAME] [ssh options] HOST CMD ...
rates like 100MB/s or 1Gb/s, times like 10s; TESTBED_STORE=DIR keeps the state there";

fn main() {
    let argv0 = std::env::args_os().next();
    let args: Vec<String> = std::env::args().skip(1).collect();
    if tailback_testbed::called_as_agent(argv0.as_deref()) {
        fail(&tailback_testbed::agent(argv0.as_deref(), &args), 1);
    }
    let store = std::env::var_os("TESTBED_STORE").map_or_else(Store::standard, |dir| Store::at(&PathBuf::from(dir)));
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["up", name, nodes, ref options @ ..] => up(&store, name, nodes, options),
        ["down", name] => store.down(name).map(|r| println!("{r}")).map_err(Into::into),
        ["status", name] => store.status(name).map(|s| println!("{s}")).map_err(Into::into),
        ["status"] => {
            println!("{}", store.names().join("\n"));
            Ok(())
        }
        ["run", name, ref options @ ..] => run(&store, name, options),
        ["agent", ..] => fail(&tailback_testbed::agent(None, &args[1..]), 1),
        _ => {
            println!("{HELP}");
            Ok(())
        }
    };
    if let Err(error) = done {
        let refused = error.downcast_ref::<tailback_testbed::Error>().is_some_and(|e| e.is_refusal());
        fail(&*error, if refused { 77 } else { 1 });
    }
}

type Done = Result<(), Box<dyn std::error::Error>>;

fn fail(error: &dyn std::error::Error, code: i32) -> ! {
    eprintln!("testbed: {error}");
    std::process::exit(code)
}

fn up(store: &Store, name: &str, nodes: &str, options: &[&str]) -> Done {
    let mut spec = Spec::new(name, nodes.parse()?);
    let mut taper = None;
    let rate = |text: &str| spec::parse_rate(text).map(|r| Some(r.bytes_per_s() as u64));
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{option} needs a value"));
        match *option {
            "--per-leaf" => spec.nodes_per_leaf = Some(value()?.parse()?),
            "--rate" => spec.rate = rate(value()?)?,
            "--uplink" => spec.uplink_rate = rate(value()?)?,
            "--taper" => taper = Some(value()?.parse()?),
            "--delay-us" => spec.delay_us = Some(value()?.parse()?),
            "--subnet" => spec.subnet = value()?.parse()?,
            "--user" => spec.mode = Some(Mode::User),
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    taper.map_or(Ok(()), |taper| spec.taper(taper))?;
    println!("{}", store.up(&spec)?);
    Ok(())
}

fn run(store: &Store, name: &str, options: &[&str]) -> Done {
    let end = options.iter().position(|o| *o == "--").ok_or("give the command after --")?;
    let mut run = RunSpec::new(Launch::Plain, &options[end + 1..])?;
    let mut rest = options[..end].iter();
    while let Some(option) = rest.next() {
        let value = rest.next().ok_or(format!("{option} needs a value"))?;
        match *option {
            "--mpi" => run.launch = Launch::Mpi(value.into()),
            "--nodes" => run.nodes = Some(value.parse()?),
            "--per-node" => run.ranks_per_node = value.parse()?,
            "--env" => {
                let (k, v) = value.split_once('=').ok_or("--env needs NAME=VALUE")?;
                run.env.push((k.into(), v.into()));
            }
            "--arg" => run.launcher_args.push(value.to_string()),
            "--timeout" => run.timeout = Some(Duration::from_secs_f64(spec::parse_time(value)?.secs())),
            "--least" => run.least_bytes = spec::parse_bytes(value)?,
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    let report = store.run(name, &run)?;
    eprintln!("{report}");
    match report.outcome {
        RunOutcome::Success => Ok(()),
        other => Err(other.to_string().into()),
    }
}
