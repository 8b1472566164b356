//! `run maxrate`, `fit` and `contention` from outside.

mod common;

use common::{folder, tailback, text};
use std::fs;
use std::path::Path;

fn good(dir: &Path, args: &[&str]) -> String {
    let out = tailback(dir, args);
    assert_eq!(out.status.code(), Some(0), "{args:?}: {}", text(&out.stderr));
    text(&out.stdout)
}

const MACHINE: &str =
    "nodes = 2\nranks_per_node = 4\n[nic]\nrate = \"10GB/s\"\npacket_overhead = \"2ns\"\nmtu = \"4KiB\"\nheader = 40\n";

/// Estimates of the chosen model of the last phase of the first fit.
fn estimate(json: &serde_json::Value, name: &str) -> f64 {
    let phase = json["fits"][0]["report"]["phases"].as_array().unwrap().last().unwrap();
    let fit = phase["fits"].as_array().unwrap().iter().find(|f| f["model"] == phase["chosen"]).unwrap();
    let found = fit["estimates"].as_array().unwrap().iter().find(|e| e["name"] == name);
    found.and_then(|e| e["value"].as_f64()).unwrap_or_else(|| panic!("no {name} in {fit}"))
}

#[test]
fn a_nic_with_known_rates_gives_them_back() {
    let dir = folder("models-loop");
    fs::write(dir.join("nic.toml"), MACHINE).unwrap();
    let sizes = ["--from", "16KiB", "--to", "512KiB", "--per-octave", "1"];
    let run =
        [&["run", "maxrate", "--on", "nic.toml", "--out", "r", "--quiet", "--payload", "lengths"][..], &sizes].concat();
    good(&dir, &run);
    let fit = good(&dir, &["fit", "maxrate", "r", "--json", "--phases", "none", "--replicates", "0"]);
    let json: serde_json::Value = serde_json::from_str(&fit).unwrap();
    // 4096 bytes in (4096 + 40) / 10 GB/s + 2 ns.
    let truth = 4096.0 / (4136.0 / 10e9 + 2e-9);
    let (node, core) = (estimate(&json, "rate_node"), 2.0 * estimate(&json, "rate_core"));
    assert!((node / truth - 1.0).abs() < 0.03, "R_N {node} of {truth}");
    assert!((core / truth - 1.0).abs() < 0.03, "R_C {core} one way, of {truth}");
    let [usual, paper, both] = [&[][..], &["--as-paper"], &["--weights", "paper", "--location", "worst"]]
        .map(|how| good(&dir, &[&["fit", "maxrate", "r", "--json", "--replicates", "0"][..], how].concat()));
    assert!(paper == both && paper != usual, "the paper's conventions are these two, and others than usual");
    let shown = good(&dir, &["fit", "maxrate", "r/run.json", "--heat"]);
    for word in ["round trips", "one way: alpha", "Advice", "fill the node", "sum (max) of |T-f|/T", "k=4"] {
        assert!(shown.contains(word), "{word} is missing in {shown}");
    }
}

#[test]
fn one_pair_does_not_reach_the_node_s_rate_and_says_so() {
    let dir = folder("models-limit");
    let run = ["run", "maxrate", "--out", "r", "--quiet", "--pairs", "1", "--from", "64KiB", "--per-octave", "1"];
    good(&dir, &run);
    assert!(good(&dir, &["fit", "maxrate", "r"]).contains("R_N not reached: at least"));
}

#[test]
fn others_measurements_are_fitted_and_bad_ones_refused_by_line() {
    let dir = folder("models-nodecomm");
    let mut table = String::from("Pingpong for\nmaster: 0,1\npartner: 2,3\n");
    for j in 8..17 {
        let n = f64::from(4 << j);
        let time = |k: f64| 2e-5 + n / 3.6e9 * (k / 1.5f64).max(1.0);
        table += &format!("{}\t{:.4e}\t{:.4e}\t{:.4e}\t{:.4e}\n", 1 << j, time(1.0), time(2.0), time(3.0), time(4.0));
    }
    fs::write(dir.join("good.txt"), &table).unwrap();
    let shown = good(&dir, &["fit", "maxrate", "good.txt"]);
    assert!(shown.lines().any(|l| l.contains(" m3 ") && (l.contains("3.60 [") || l.contains("3.59 ["))), "{shown}");
    fs::write(dir.join("nan.txt"), table.clone() + "131072\tnan\t1\t1\t1\n").unwrap();
    fs::write(dir.join("short.txt"), table.clone() + "131072\t1\n").unwrap();
    fs::write(dir.join("empty.txt"), "").unwrap();
    fs::write(dir.join("negative.txt"), table + "131072\t-1\t1\t1\t1\n").unwrap();
    for (file, says) in
        [("nan.txt", "line 13"), ("short.txt", "line 13"), ("empty.txt", "line 1"), ("negative.txt", "line 13")]
    {
        let out = tailback(&dir, &["fit", "maxrate", file]);
        assert_eq!(out.status.code(), Some(2), "{file}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(says) && out.stdout.is_empty(), "{file}: {}", text(&out.stderr));
    }
}

#[test]
fn the_papers_figure_three_is_predicted_step_by_step_and_explained() {
    let dir = folder("models-predict");
    let shown = good(&dir, &["contention", "predict", "fig3", "--steps", "--explain"]);
    for number in ["3.5000", "3.3333", "1.5000", "R1", "R4"] {
        assert!(shown.contains(number), "{number} is missing in {shown}");
    }
    assert!(good(&dir, &["contention", "predict", "g4", "--explain"]).contains("R3"));
    let all = good(&dir, &["contention", "predict", "g4", "--rules", "all"]);
    assert!(all.contains("by max-min") && all.contains("by ib-residual"), "{all}");
    let json = good(&dir, &["contention", "predict", "g1", "--json"]);
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
}

#[test]
fn bad_graphs_are_refused_by_line_with_2() {
    let dir = folder("models-graphs");
    for (name, content, says) in [
        ("loop", "a: 1 -> 2\nb: 3 -> 3\n", "line 2"),
        ("negative", "1 -> 2 -5\n", "line 1"),
        ("nan", "1 -> 2 NaN\n", "line 1"),
        ("cycle", "a: 1 -> 2 after b\nb: 1 -> 3 after a\n", "line"),
        ("twice", "a: 1 -> 2\na: 1 -> 3\n", "line 2"),
        ("empty", "# nothing\n", "line 1"),
        ("words", "hello\n", "line 1"),
        ("toml", "[[flow]]\nfrom = \"1\"\nto = \"1\"\n", "line 1"),
    ] {
        fs::write(dir.join(name), content).unwrap();
        for what in ["predict", "measure", "derive"] {
            let out = tailback(&dir, &["contention", what, name]);
            assert_eq!(out.status.code(), Some(2), "{what} {name}: {}", text(&out.stderr));
            assert!(text(&out.stderr).contains(says) && out.stdout.is_empty(), "{name}: {}", text(&out.stderr));
        }
    }
    for (args, says) in [
        (vec!["predict", "fig33"], "did you mean"),
        (vec!["predict", "g1", "--rules", "papr"], "did you mean `paper`"),
        (vec!["predict", "g1", "--rate", "0B/s"], "is not a rate"),
        (vec!["predict", "g1", "--capacities", "1GB/s"], "NODE,FLOW"),
        (vec!["validate", "--edges", "8..2"], "FROM..TO"),
        (vec!["validate", "--edges", "200..300"], "do not fit"),
        (vec!["measure", "random:0"], "edges"),
        (vec!["measure", "g1", "--steady", "0s"], "above zero"),
        (vec!["measure", "g1", "--nodes", "2"], "reaches node"),
    ] {
        let out = tailback(&dir, &[&["contention"][..], &args].concat());
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(says), "{args:?}: {}", text(&out.stderr));
    }
}

#[test]
fn graphs_are_measured_inverted_and_scored_on_the_simulated_network() {
    let dir = folder("models-campaign");
    let quick = ["--size", "1MiB", "--repeats", "1", "--quiet"];
    let run = |what: &str, more: &[&str]| good(&dir, &[&["contention", what][..], more, &quick].concat());
    let measured = run("measure", &["g1", "--out", "m"]);
    assert!(
        measured.lines().filter(|l| l.contains("->") && (l.contains("2.9") || l.contains("3.0"))).count() == 3,
        "{measured}"
    );
    let derived = run("derive", &["g4", "--out", "d"]);
    assert!(derived.contains("penalty") && derived.contains("measured:"), "{derived}");
    let scored = run("validate", &["--graphs", "6", "--edges", "2..4", "--out", "v", "--verbose"]);
    for word in
        ["Best for this network", "Vienne's constants", "learned table knows", "vienne-calibrated", "worst flow"]
    {
        assert!(scored.contains(word), "{word} is missing in {scored}");
    }
    assert_eq!(good(&dir, &["contention", "validate", "v/run.json", "--verbose"]), scored);
    let short = good(&dir, &["contention", "validate", "v/run.json"]);
    assert!(short.starts_with("Which rule set fits") && short.lines().count() <= 24, "{short}");
    let learned = good(&dir, &["contention", "predict", "g1", "--rules", "learned", "--learned", "v", "--explain"]);
    assert!(learned.contains("measured") && learned.contains("2.9"), "{learned}");
    let page = good(&dir, &["report", "v", "--format", "html"]);
    for word in ["Contention graphs", "Figure 3", "Figure 5", "diagonal", "class=\"node\"", "Save as CSV"] {
        assert!(page.contains(word), "{word} is missing");
    }
}

#[test]
fn rates_of_max_rate_become_capacities_of_graphs() {
    let dir = folder("models-join");
    let nics = format!("{MACHINE}per_node = 2\n");
    fs::write(dir.join("nics.toml"), nics).unwrap();
    let rates = ["--modes", "stream", "--pairs", "1,2,4", "--from", "64KiB", "--per-octave", "1", "--loops", "64"];
    good(
        &dir,
        &[&["run", "maxrate", "--on", "nics.toml", "--payload", "lengths", "--quiet", "--out", "r"][..], &rates]
            .concat(),
    );
    // Two flows out of a node with two NICs do not slow each other; four do.
    let ends = |graph: &str| {
        let json = good(&dir, &["contention", "predict", graph, "--capacities", "r", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        json[0]["solution"]["end_s"][0].as_f64().unwrap()
    };
    fs::write(dir.join("one"), "a -> b\n").unwrap();
    fs::write(dir.join("two"), "a -> b\na -> c\n").unwrap();
    fs::write(dir.join("four"), "a -> b\na -> c\na -> d\na -> e\n").unwrap();
    let [one, two, four] = ["one", "two", "four"].map(ends);
    assert!((two / one - 1.0).abs() < 0.03 && (four / one - 2.0).abs() < 0.06, "{one} {two} {four}");
    let quick = ["--size", "1MiB", "--repeats", "1", "--quiet", "--learn", "0", "--graphs", "3", "--edges", "2"];
    let campaign =
        good(&dir, &[&["contention", "validate", "-v", "--capacities", "measure", "--out", "v"][..], &quick].concat());
    assert!(campaign.contains("Capacities of max-rate"), "{campaign}");
    let out = tailback(&dir, &["contention", "predict", "g1", "--capacities", "v/none"]);
    assert_eq!(out.status.code(), Some(2));
}

#[test]
fn everything_that_max_rate_measures_is_reported_in_every_format() {
    let dir = folder("models-report");
    fs::write(dir.join("nic.toml"), MACHINE).unwrap();
    let what = [
        "--from",
        "1KiB",
        "--to",
        "64KiB",
        "--per-octave",
        "2",
        "--probe",
        "yes",
        "--loggp",
        "yes",
        "--messages",
        "1,10,100",
    ];
    let short = good(&dir, &[&["run", "maxrate", "--on", "nic.toml", "--quiet", "--out", "r"][..], &what].concat());
    assert!(short.contains("fill the node") && short.lines().count() <= 24, "{short}");
    let text = good(&dir, &["report", "r", "--verbose"]);
    let words =
        ["Aggregate rate", "Table 2", "Error of chosen models", "Delayed receiver: sends of", "LogGP", "Many messages"];
    let merits = good(&dir, &["report", "r", "--format", "fom"]);
    for word in ["FOM maxrate.near.pingpong.rate_node", "FOM maxrate.near.eager_limit"] {
        assert!(merits.contains(word), "{word} is missing in {merits}");
    }
    for word in words {
        assert!(text.contains(word), "{word} is missing in {text}");
    }
    let markdown = good(&dir, &["report", "r", "--format", "markdown"]);
    let page = good(&dir, &["report", "r", "--format", "html"]);
    for word in words {
        assert!(markdown.contains(word) && page.contains(word), "{word} is missing");
    }
    assert!(page.matches("<svg").count() >= 8 && page.len() < 500_000, "{} bytes", page.len());
    let far =
        tailback(&dir, &["run", "maxrate", "--on", "nic.toml", "--quiet", "--out", "x", "--pair", "cross-socket"]);
    assert!(text_of(&far).contains("on one socket"), "{}", text_of(&far));
}

fn text_of(out: &std::process::Output) -> String {
    text(&out.stderr)
}

#[test]
fn messages_hide_behind_work_unless_the_host_moves_them() {
    let dir = folder("models-overlap");
    let hidden = |name: &str, host: &str| {
        fs::write(dir.join(format!("{name}.toml")), format!("{MACHINE}{host}")).unwrap();
        let on = format!("{name}.toml");
        let run = ["run", "maxrate", "--on", &on, "--out", name, "--quiet", "--sizes", "4KiB", "--pairs", "1,2"];
        good(&dir, &[&run[..], &["--overlap", "linear", "--modes", "pingpong"]].concat());
        let json: serde_json::Value =
            serde_json::from_str(&good(&dir, &["fit", "maxrate", name, "--json", "--replicates", "0"])).unwrap();
        let all = json["overlaps"].as_array().unwrap().clone();
        assert_eq!(all.len(), 2, "{all:?}");
        for one in &all {
            let [messages, work, both] =
                ["messages_s", "work_s", "both_s"].map(|part| one["seen"][part].as_f64().unwrap());
            let share = one["seen"]["hidden"].as_f64().unwrap();
            assert!((share - (messages + work - both) / messages.min(work)).abs() < 1e-9, "{one}");
            assert!(both >= work.max(messages) * 0.999 && both <= (messages + work) * 1.001, "{one}");
        }
        assert!(good(&dir, &["report", name]).contains("Messages beside work: of the shorter of the two"));
        assert!(good(&dir, &["report", name, "--verbose"]).contains("Max-rate: messages beside work"));
        all[0]["seen"]["hidden"].as_f64().unwrap()
    };
    let [nic, host] = [hidden("nic", ""), hidden("host", "[host]\ncopy_time = \"500ns\"\n")];
    assert!(nic > 0.6, "a NIC that moves data by itself: {nic}");
    assert!(host < nic - 0.2, "a processor that copies every byte cannot do it beside its work: {host}, NIC {nic}");
}
