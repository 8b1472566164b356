//! `machine import` makes machine files that run, of what sites have.

mod common;

use common::{folder, tailback, text};

const SLURM: &str = "SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[00-05]\nSwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[06-11]\n\
                     SwitchName=top Level=1 LinkSpeed=1 Nodes=n[00-11] Switches=leaf[0-1]\n";

#[test]
fn a_site_becomes_a_machine_that_runs() {
    let dir = folder("import");
    std::fs::write(dir.join("site.txt"), SLURM).unwrap();
    let printed = tailback(&dir, &["machine", "import", "site.txt"]);
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    let written = tailback(&dir, &["machine", "import", "site.txt", "--out", "mine.toml"]);
    assert!(
        written.status.success() && text(&written.stdout).contains("12 with 12 ranks"),
        "{}",
        text(&written.stdout)
    );
    assert_eq!(text(&printed.stdout), std::fs::read_to_string(dir.join("mine.toml")).unwrap());
    let again = tailback(&dir, &["machine", "import", "site.txt", "--out", "mine.toml"]);
    assert!(again.status.code() == Some(2) && text(&again.stderr).contains("give --force"), "{}", text(&again.stderr));
    let run = tailback(&dir, &["run", "network", "--on", "mine.toml", "--time", "1ms", "--cut", "50", "--out", "one"]);
    assert!(run.status.success(), "{}", text(&run.stderr));
}

#[test]
fn what_is_no_topology_is_refused_by_name() {
    let dir = folder("import-wrong");
    for (name, content, expected) in [
        ("empty.txt", "", "no node was found"),
        ("apart.txt", "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n", "no way leads from switch `a` to `b`"),
        ("many.txt", "SwitchName=a Nodes=n[0-9999999999]\n", "too many names"),
    ] {
        std::fs::write(dir.join(name), content).unwrap();
        let refused = tailback(&dir, &["machine", "import", name]);
        let said = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains(name) && said.contains(expected), "{name}: {said}");
    }
    let missing = tailback(&dir, &["machine", "import", "nowhere.txt"]);
    assert!(text(&missing.stderr).contains("cannot read nowhere.txt"), "{}", text(&missing.stderr));
}
