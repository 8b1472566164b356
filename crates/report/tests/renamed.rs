//! Nobody reads names: a record whose phases are all called something else is reported the same in every format.

mod common;

use common::every_record;
use record::RunRecord;
use spec::Rng;
use tailback_report::{FORMATS, View, merits};

/// Letters of which no word of a report is made.
const LETTERS: &[u8] = b"qxzjkwv";
/// Gives every phase a random name of the same length, so that columns are as wide as before. Returns new names with the old.
fn rename(record: &mut RunRecord) -> Vec<(String, String)> {
    let mut rng = Rng::new(1, "rename", 0);
    let mut names: Vec<(String, String)> = Vec::new();
    for phase in &mut record.phases {
        let new: String =
            phase.name.bytes().map(|_| char::from(LETTERS[rng.below(LETTERS.len() as u64) as usize])).collect();
        names.push((new.clone(), std::mem::replace(&mut phase.name, new)));
    }
    let new_name = |old: &str| names.iter().find(|(_, o)| o == old).map(|(new, _)| new.clone());
    for phase in &mut record.plan.phases {
        phase.name = new_name(&phase.name).unwrap_or(phase.name.clone());
    }
    for slice in record.network.iter_mut().flat_map(|n| &mut n.slices) {
        slice.phase = new_name(&slice.phase).unwrap_or(slice.phase.clone());
    }
    names
}

fn first_difference<'a>(a: &'a str, b: &'a str) -> Option<(&'a str, &'a str)> {
    a.lines().zip(b.lines()).find(|(a, b)| a != b)
}

#[test]
fn renamed_phases_give_the_same_report_but_for_their_labels() -> Result<(), String> {
    for (name, record) in every_record() {
        let mut renamed = record.clone();
        let names = rename(&mut renamed);
        let (view, other) = (View::new(&record), View::new(&renamed));
        assert_eq!(merits(&view), merits(&other), "{name}");
        for format in FORMATS {
            // Markdown guards some letters of a label; names here have none of them.
            let bare = |text: String| text.replace("\\#", "#");
            let before = format.write(&view).map(bare);
            let mut after = format.write(&other).map(bare);
            if let Ok(text) = &mut after {
                for (new, old) in &names {
                    *text = text.replace(new, old);
                    // Pictures cut long labels; shorter beginnings than these would not tell one name from another.
                    for cut in 6..new.len() {
                        *text = text.replace(&format!("{}…", &new[..cut]), &format!("{}…", &old[..cut]));
                    }
                }
            }
            assert!(before == after, "{name} as {}: {:?}", format.name, first_difference(&before?, &after?));
        }
    }
    Ok(())
}
