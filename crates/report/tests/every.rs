//! Every subject and every format with every record. New entries of the tables are tested without writing a test.

mod checks;
mod common;

use common::every_record;
use tailback_report::section::Section;
use tailback_report::{FORMATS, Format, SUBJECTS, Subject, View, format};

#[test]
fn every_format_shows_every_record_with_the_same_numbers() {
    let mut compared = vec![0; FORMATS.len()];
    for (name, record) in every_record() {
        for (format, compared) in FORMATS.iter().zip(&mut compared) {
            let found = checks::format(format, &record);
            *compared += found.unwrap_or_else(|why| panic!("{name} as {}: {why}", format.name));
        }
    }
    // Numbers that nobody could find would all agree.
    for (format, least) in
        [("text", 6), ("long", 80), ("fom", 150), ("csv", 150), ("openmetrics", 150), ("markdown", 80), ("html", 80)]
    {
        let at = FORMATS.iter().position(|f| f.name == format).unwrap();
        assert!(compared[at] >= least, "only {} numbers of {format} were compared", compared[at]);
    }
}

#[test]
fn every_subject_agrees_with_its_figures_of_merit() {
    let records = every_record();
    for subject in SUBJECTS {
        let mut said = 0;
        for (name, record) in &records {
            checks::subject(subject, record).unwrap_or_else(|why| panic!("{name}, {}: {why}", subject.name));
            said += (subject.sections)(&View::new(record)).len();
        }
        assert!(said > 0, "no record has anything of {}", subject.name);
    }
}

/// What the checks above let pass is no check: these entries are wrong, each in its own way.
#[test]
fn wrong_formats_are_caught() {
    const RIGHT: Format = Format { name: "long", about: "", only: None, one: right, together: None };
    fn right(view: &View<'_>) -> Result<String, String> {
        format("long").unwrap().write(view)
    }
    fn merits(view: &View<'_>) -> Result<String, String> {
        format("fom").unwrap().write(view).map(|t| t.replace("p2p-lat.impact 1", "p2p-lat.impact 2"))
    }
    fn short(view: &View<'_>) -> Result<String, String> {
        format("text").unwrap().write(view).map(|t| t.replace("13.1", "19.1"))
    }
    let wrong: [(&str, Format); 6] = [
        ("nothing is written", Format { one: |_| Ok("\n".into()), ..RIGHT }),
        ("refused without a reason", Format { one: |_| Err("no".into()), ..RIGHT }),
        ("`Impact of congestion` is missing", Format { one: |_| Ok("RESULT: PASS\n".into()), ..RIGHT }),
        ("shown is", Format { name: "fom", one: merits, ..RIGHT }),
        ("its row has no", Format { name: "text", one: short, ..RIGHT }),
        ("its table has", Format { one: |v| right(v).map(|t| t.replace("13.1x", "13.7x")), ..RIGHT }),
    ];
    let record = common::gpcnet(1.0, 1);
    assert!(checks::format(&RIGHT, &record).is_ok());
    for (says, format) in wrong {
        let why = checks::format(&format, &record).expect_err(says);
        assert!(why.contains(says), "{why}");
    }
    let names = |f: &Format| f.only.is_none_or(|only| only.iter().all(|n| SUBJECTS.iter().any(|s| s.name == *n)));
    assert!(FORMATS.iter().all(names), "a format has a place for a subject that does not exist");
}

#[test]
fn wrong_subjects_are_caught() {
    const IMPACT: Subject = Subject { ..SUBJECTS[1] };
    fn twice(view: &View<'_>) -> Vec<tailback_report::Merit> {
        let mut all = (IMPACT.merits)(view);
        all.iter_mut().for_each(|m| m.known.value *= 2.0);
        all
    }
    let wrong: [(&str, Subject); 3] = [
        ("its table has", Subject { merits: twice, ..IMPACT }),
        ("the section `Empty` is empty", Subject { sections: |_| vec![Section::new("Empty")], ..IMPACT }),
        ("without a section", Subject { sections: |_| Vec::new(), ..IMPACT }),
    ];
    assert_eq!(IMPACT.name, "impact");
    let record = common::gpcnet(1.0, 1);
    assert!(checks::subject(&IMPACT, &record).is_ok_and(|compared| compared > 10));
    for (says, subject) in wrong {
        let why = checks::subject(&subject, &record).expect_err(says);
        assert!(why.contains(says), "{why}");
    }
}

/// Loads and baselines are in every format that people read.
#[test]
fn load_and_baselines_are_shown_to_people() {
    let records = every_record();
    let find = |name: &str| &records.iter().find(|(n, _)| n == name).unwrap().1;
    for name in ["long", "markdown", "html"] {
        let write = |record| format(name).unwrap().write(&View::new(record)).unwrap();
        let load = find("congest");
        for job in load.phases.iter().flat_map(|p| &p.jobs) {
            assert!(write(load).contains(&job.name), "{name} of a load has no {}", job.name);
        }
        let gpcnet = find("gpcnet");
        let mut baselines = gpcnet.phases.iter().filter(|p| matches!(p.about, record::About::Baseline { .. }));
        assert!(baselines.clone().next().is_some());
        assert!(baselines.all(|p| write(gpcnet).contains(&p.name)), "{name} has no baselines");
    }
}

/// A check may be of data, of a bound, or of how a program ended: what is said must be true of each.
#[test]
fn a_failed_check_is_said_in_its_own_words() {
    let mut record = common::gpcnet(2.0, 1);
    let first = "`./solver` ended with 3".to_string();
    record.phases[0].jobs[0].verdict = record::Verdict::Wrong { checked: 5, wrong: 1, first };
    let shown = (format("text").unwrap().one)(&View::new(&record)).unwrap();
    assert!(
        shown.contains("FAILED: ") && shown.contains("1 of 5 checks, the first: `./solver` ended with 3"),
        "{shown}"
    );
    assert!(shown.contains("RESULT: FAIL") && !shown.to_lowercase().contains("wrong data"), "{shown}");
}
