//! `tailback list`: what there is, in the order of the tables.

use crate::exit::Exit;
use crate::output;
use bench::{KERNELS, SUITES};
use clap::ArgMatches;
use report::FORMATS;
use report::table::Table;

/// Prints the lists.
pub fn list(args: &ArgMatches) -> anyhow::Result<Exit> {
    let wanted = args.get_one::<String>("what").map(String::as_str);
    let mut out = String::new();
    for (title, rows) in
        [("suites", suites()), ("kernels", kernels()), ("machines", machines()), ("formats", formats())]
    {
        if wanted.is_some_and(|w| w != title) {
            continue;
        }
        let mut table = Table::new(&[title, ""]);
        rows.into_iter().for_each(|(name, about)| table.row([name, about]));
        table.write_left(&mut out);
        out.push('\n');
    }
    output::print(&out)?;
    Ok(Exit::Good)
}

type Rows = Vec<(String, String)>;

fn suites() -> Rows {
    SUITES.iter().map(|s| (s.card.name.into(), s.card.about.into())).collect()
}

fn kernels() -> Rows {
    let about = |k: &bench::Kernel| {
        let params: Vec<String> = k.card.params.iter().map(|p| format!("{}={}", p.name, p.default)).collect();
        let params = if params.is_empty() { String::new() } else { format!(" [{}]", params.join(", ")) };
        format!("{}{params}", k.card.about)
    };
    KERNELS.iter().map(|k| (k.card.name.to_string(), about(k))).collect()
}

fn machines() -> Rows {
    let about = |text: &str| text.lines().find_map(|l| l.strip_prefix("# ")).unwrap_or_default().to_string();
    let simulated = sim::BUILTIN.iter().map(|(name, text)| (name.to_string(), format!("simulated: {}", about(text))));
    let real = [
        ("mpi", "real ranks under the launcher's MPI library"),
        ("local", "this process alone, on all its cores; for hpcc's single and star tests"),
    ];
    real.into_iter().map(|(name, about)| (name.to_string(), about.to_string())).chain(simulated).collect()
}

fn formats() -> Rows {
    FORMATS.iter().map(|f| (f.name.into(), f.about.into())).collect()
}
