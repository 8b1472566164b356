//! HPC Challenge by its own rules: the columns of its results page with their verification, and balance ratios.

mod balance;
mod columns;
mod together;

use crate::facts::verdict;
use crate::grid::Grid;
use crate::section::{Room, Section};
use crate::table::digits;
use crate::view::View;
use columns::{COLUMNS, MORE, RATIOS, Ratio, balance, value};
pub use columns::{class, jobs};
use record::hpcc_systems::published;
pub use together::{beside, together};

/// The section of a run of HPC Challenge. Tests of one rank alone are no column of the results page.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    let results = results(view);
    if results.rows.is_empty() {
        return Vec::new();
    }
    let mut section = Section::new("HPC Challenge");
    section.list(results);
    meaning(view).into_iter().for_each(|sentence| section.say(sentence));
    let ratios = ratios(view);
    if ratios.rows.is_empty() {
        return vec![section];
    }
    let mut balance = Section::with_room(Room::Verbose, "Balance");
    balance.say("What the memory and the network offer for each floating-point operation of HPL, and what a ring in which all ranks talk at once leaves of a ping-pong between two.");
    balance.list(ratios);
    vec![section, balance]
}

/// What the columns say together, as far as the tests ran.
fn meaning(view: &View<'_>) -> Vec<String> {
    let [.., bandwidth, latency] = balance(view).map(|ratio| ratio.value);
    let share = |x: f64| format!("{} %", digits(100.0 * x));
    let classes: Vec<&str> = COLUMNS.iter().flat_map(|c| jobs(view, c.test)).filter_map(class).collect();
    let classed = match (classes.is_empty(), classes.contains(&"opt")) {
        (true, _) => None,
        (_, true) => Some("Those with (opt) are of the class of optimized runs, the others of base runs.".to_string()),
        _ => Some("All are of the class of base runs.".to_string()),
    };
    let all = [
        classed,
        of_dgemm(view).map(|x| format!("HPL runs at {} of what DGEMM reaches on every rank at once.", share(x))),
        bandwidth
            .map(|x| format!("When all ranks talk in random rings each has {} of a ping-pong's bandwidth.", share(x))),
        latency.map(|x| format!("Their messages take {} times as long as a ping-pong's.", digits(x))),
    ];
    all.into_iter().flatten().collect()
}

/// The speed of HPL over that of DGEMM on all ranks.
fn of_dgemm(view: &View<'_>) -> Option<f64> {
    let [hpl, .., dgemm, _, _] = &COLUMNS;
    Some(value(view, hpl)? / (value(view, dgemm)? * f64::from(view.record.layout.ranks)))
}

fn results(view: &View<'_>) -> Grid {
    let mut grid = Grid::new("The columns of the results page", &["Test", "value", "unit", "verification"]);
    for column in COLUMNS.iter().chain(&MORE) {
        // Of several variants a wrong one must show; a test that did not run is no row.
        let Some(job) = jobs(view, column.test).max_by_key(|j| j.verdict.is_wrong()) else { continue };
        let shown = value(view, column).map_or("-".into(), |v| digits(v * column.scale));
        let name = if class(job) == Some("opt") { format!("{} (opt)", column.name) } else { column.name.into() };
        grid.row([name, shown, column.unit.into(), verdict(job)]);
    }
    grid
}

fn ratios(view: &View<'_>) -> Grid {
    let mut grid = Grid::new("Balance ratios", &["Ratio", "value", "unit", "published systems"]);
    let theirs: Vec<[Ratio; RATIOS]> = published().iter().map(|s| balance(&View::new(&s.record()))).collect();
    for (at, ratio) in balance(view).into_iter().enumerate() {
        let Some(value) = ratio.value else { continue };
        let theirs: Vec<f64> = theirs.iter().filter_map(|all| all[at].value).collect();
        let range = match theirs.iter().copied().reduce(f64::min).zip(theirs.iter().copied().reduce(f64::max)) {
            Some((low, high)) => format!("{} to {} in {} runs", digits(low), digits(high), theirs.len()),
            None => "-".into(),
        };
        grid.row([ratio.name.into(), digits(value), ratio.unit.into(), range]);
    }
    grid
}
