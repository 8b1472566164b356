//! Every format of the table, against committed text. A new format is tested without writing a test.

mod common;

use common::{golden, gpcnet, hpcc};
use record::Coverage;
use tailback_report as report;
use tailback_report::{FORMATS, View, format, write_all};

#[test]
fn every_format_of_a_made_up_run_is_the_committed_one() {
    for (suite, record) in [("gpcnet", gpcnet(1.0, 1)), ("hpcc", hpcc(1.0, 1))] {
        every_format(suite, &record);
    }
    let runs = [hpcc(1.0, 1), hpcc(2.0, 2)];
    golden("hpcc-two.html", &report::html::page(&runs.each_ref().map(View::new)));
}

fn every_format(suite: &str, record: &record::RunRecord) {
    // The record itself is compared by reading it back: half a megabyte of histograms is no table to look at.
    let json = format("json").unwrap().write(&View::new(record)).unwrap();
    let back: record::RunRecord = serde_json::from_str(&json).unwrap();
    let text = |record| format("text").unwrap().write(&View::new(record)).unwrap();
    assert_eq!(text(&back), text(record), "a record that was read back reports the same");
    for format in FORMATS.iter().filter(|f| f.name != "json") {
        let text = format.write(&View::new(record)).unwrap_or_else(|refused| format!("refused: {refused}\n"));
        golden(&format!("{suite}.{}", format.name), &text);
    }
}

#[test]
fn what_was_compared_and_what_was_wrong_is_shown_in_every_format() {
    let mut record = hpcc(1.0, 1);
    let jobs = || 0..record.phases.len();
    let table = jobs().find(|i| record.phases[*i].jobs[0].results.contains_key("updates_per_s")).expect("RandomAccess");
    let ring = jobs().find(|i| record.phases[*i].jobs[0].results.contains_key("random_bandwidth_bytes_per_s"));
    let part = Coverage { messages: 2400, whole: 744, bytes: 1 << 30, seen_bytes: 333 << 20 };
    record.phases[ring.expect("rings")].jobs[0].coverage = Some(part);
    record.phases[table].jobs[0].results.insert("errors".into(), 1.0);
    for (name, what) in [
        ("text", ["32 % of 1 GiB", "right (100 checked, 1 errors)"]),
        ("markdown", ["32 % of 1 GiB", "right (100 checked, 1 errors)"]),
        ("html", ["32 % of 1 GiB", "right (100 checked, 1 errors)"]),
        ("csv", ["bytes-compared,349175808", "result:errors,1"]),
        ("openmetrics", ["} 0.3251953125", "tailback_wrong_values{"]),
        ("json", ["\"seen_bytes\": 349175808", "\"errors\": 1.0"]),
        ("hpcc", ["MPIRandomAccess_Errors=1", ""]),
    ] {
        let text = format(name).unwrap().write(&View::new(&record)).unwrap();
        what.into_iter().for_each(|what| assert!(text.contains(what), "{name} without {what}"));
    }
}

#[test]
fn several_records_are_one_page_one_table_one_exposition() {
    let records = [gpcnet(1.0, 1), gpcnet(2.0, 2)];
    let views: Vec<View<'_>> = records.iter().map(View::new).collect();
    let write = |name: &str| write_all(format(name).unwrap(), &views).unwrap();
    assert_eq!(write("html").matches("<html").count(), 1);
    assert!(write("html").contains("Runs side by side") && write("html").contains("All that this run says"));
    // Both runs' tails in one picture, each with its name in the key.
    assert!(write("html").contains("worse than a value, 2 runs."), "tails of several runs");
    assert_eq!(write("csv").matches("run,suite").count(), 1);
    assert_eq!(write("openmetrics").matches("# EOF").count(), 1);
    assert_eq!(write("text").matches("RESULT: PASS").count(), 2);
}

#[test]
fn a_history_is_a_page_with_a_picture_for_each_figure_of_merit() {
    let records: Vec<_> = (1..=6).map(|i| gpcnet(if i == 6 { 3.0 } else { 1.0 }, i)).collect();
    let run = |(i, record)| report::compare::history::Run {
        name: format!("<run> {i}"),
        record,
        written: Some(86_400 * i as i64),
    };
    let groups = report::compare::history::groups(records.iter().enumerate().map(run).collect());
    let page = report::html::history(&groups, "impact", &["<broken>".to_string()]);
    golden("history.html", &page);
    self_contained(&page);
    assert!(page.contains("WORSE than usual") && page.contains("&lt;broken&gt;"));
    assert!(report::html::history(&groups, "no such", &[]).contains("No figure of merit"));
}

#[test]
fn pages_are_self_contained_and_text_stays_text() {
    let record = gpcnet(1.0, 1);
    self_contained(&report::html::page(&[View::new(&record), View::new(&record)]));
}

/// One root, every id once, references that resolve, nothing foreign, small.
fn self_contained(page: &str) {
    assert!(page.len() < 500_000, "{} bytes", page.len());
    for foreign in ["src=", "@import", "url(", "<link", "<iframe"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let outside: Vec<&str> = page.match_indices("http").map(|(i, _)| &page[i..i + 26]).collect();
    assert!(outside.iter().all(|u| u.starts_with("http://www.w3.org/2000/svg") || u.starts_with("http-equiv")));
    assert!(!page.contains("<script>alert"), "a warning is text");
    let values = |attribute: &str| -> Vec<String> {
        let mark = format!(" {attribute}=\"");
        let found = page.split(mark.as_str()).skip(1);
        found.map(|rest| rest.split('"').next().unwrap().to_string()).collect()
    };
    let mut ids = values("id");
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id is used twice");
    let links = values("href").into_iter().map(|l| l.trim_start_matches('#').to_string());
    let labels = values("aria-labelledby").into_iter().flat_map(|l| l.split(' ').map(String::from).collect::<Vec<_>>());
    let tables = values("data-table");
    for target in links.chain(labels).chain(tables) {
        assert!(ids.contains(&target), "{target} is nowhere");
    }
    assert_eq!(page.matches("<figure").count(), page.matches("</figure").count());
    assert_eq!(page.matches("<svg").count(), page.matches("<desc").count());
    assert_eq!(page.matches("<table").count(), page.matches("<caption").count());
}

/// The rules of the OpenMetrics text format that a scraper stumbles over.
#[test]
fn openmetrics_follow_their_grammar() {
    let record = gpcnet(1.0, 1);
    let text = format("openmetrics").unwrap().write(&View::new(&record)).unwrap();
    assert!(text.ends_with("\n# EOF\n"));
    let (mut family, mut seen, mut samples) = (String::new(), Vec::new(), std::collections::BTreeSet::new());
    for line in text.lines().filter(|l| *l != "# EOF") {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap().to_string();
            assert!(!seen.contains(&family), "{family} is opened twice");
            seen.push(family.clone());
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            assert!(family.ends_with(&format!("_{}", rest.split(' ').nth(1).unwrap())), "{line}");
        } else if !line.starts_with("# HELP ") {
            let (id, value) = line.rsplit_once(' ').unwrap();
            assert!(id.starts_with(&family) && id.ends_with('}'), "{line}");
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            assert!(samples.insert(id.to_string()), "twice: {id}");
        }
    }
    assert!(samples.len() > 50);
}

#[test]
fn the_csv_has_as_many_cells_in_every_line() {
    let record = gpcnet(1.0, 1);
    let text = format("csv").unwrap().write(&View::new(&record)).unwrap();
    let cells = |line: &str| line.matches(',').count();
    assert!(text.lines().all(|l| cells(l) == cells(text.lines().next().unwrap())));
    assert!(text.contains(",merit,gpcnet.p2p-lat.impact99,"));
}

/// What the summary is written from and what it is read into are two lists: they must agree in every number that both have.
#[test]
fn a_summary_that_is_read_and_written_again_keeps_its_numbers() {
    let write = |record: &record::RunRecord| report::format("hpcc").unwrap().write(&View::new(record)).unwrap();
    let first = write(&hpcc(1.0, 1));
    let second = write(&record::hpccoutf::read(&first).unwrap());
    let mut kept = 0;
    for (a, b) in first.lines().zip(second.lines()) {
        let number = b.split_once('=').and_then(|(_, x)| x.parse::<f64>().ok()).filter(|x| *x > 0.0);
        assert!(a == b || number.is_none(), "{a} became {b}");
        kept +=
            usize::from(a == b && ["Gflops", "GUPs", "GBytes", "usec", "GBs", "Triad"].iter().any(|r| a.contains(r)));
    }
    assert!(kept >= 20, "only {kept} rates");
}

/// A test that was skipped has one row, with its reason and without numbers, and the run does not pass.
#[test]
fn a_skipped_test_is_a_row_with_its_reason() {
    let mut record = hpcc(1.0, 1);
    let phase = record.phases[0].name.clone();
    let job = &mut record.phases[0].jobs[0];
    job.skipped = Some("it needs 2 ranks".into());
    (job.samples, job.batches, job.results) = Default::default();
    job.summary = record::Summary::new(job.metric, &job.samples, &job.batches, Default::default());
    (record.layout.nodes, record.layout.ranks) = (1, 1);
    (record.layout.min_ranks_per_node, record.layout.max_ranks_per_node) = (1, 1);
    for (format, row) in [("long", format!("  {phase} ")), ("markdown", format!("| {phase} | "))] {
        let text = report::format(format).unwrap().write(&View::new(&record)).unwrap();
        assert!(text.contains("1 node x 1 rank = 1 rank"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with(&row)).collect();
        assert!(rows.len() == 1 && rows[0].contains("it needs 2 ranks"), "{text}");
        assert!(text.contains("INCOMPLETE") && !text.contains("PASS"), "{text}");
    }
}

#[test]
fn a_page_of_many_runs_leaves_out_parts_and_says_so() {
    let record = gpcnet(1.0, 1);
    for (runs, tails) in [(4, true), (20, false)] {
        let views: Vec<View<'_>> = (0..runs).map(|_| View::new(&record)).collect();
        let page = report::html::page(&views);
        self_contained(&page);
        assert_eq!(page.contains("<h3>Tails alone and under load</h3>"), tails, "{runs} runs");
        assert!(runs < 20 || page.contains("So many runs do not fit one page"));
        assert!((1..=runs).all(|i| page.contains(&format!(">Run {i}</h2>"))), "{runs} runs");
    }
}

/// A large machine with many counters must not make a large page.
#[test]
fn a_page_of_16384_nodes_with_many_counters_stays_small() {
    let mut record = gpcnet(1.0, 1);
    for phase in &mut record.phases {
        let job = phase.jobs[0].name.clone();
        phase.counters = (0..60)
            .map(|i| record::CounterRecord {
                name: format!("nic{i}.tx_bytes"),
                job: job.clone(),
                per_node: (0..16_384).map(|n| n * (i + 1)).collect(),
            })
            .collect();
    }
    let page = report::html::page(&[View::new(&record)]);
    assert!(page.len() < 500_000, "{} bytes", page.len());
    assert!(page.contains("More counters than fit here"));
}

#[test]
fn a_slow_node_is_named_in_every_format_for_people() {
    let record = common::pairs();
    let view = View::new(&record);
    assert!(report::has_suspects(&view));
    for name in ["text", "long", "markdown", "html"] {
        let text = format(name).unwrap().write(&view).unwrap();
        assert!(text.contains("Nodes to take out of service: node 5"), "{name}: {text}");
    }
    let mut sound = common::pairs();
    sound.phases[0].jobs[0].pairs.as_mut().unwrap().values.retain(|v| !v.nodes.contains(&5));
    assert!(!report::has_suspects(&View::new(&sound)));
}
