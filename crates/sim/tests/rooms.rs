//! The rooms of the simulator know each other in one direction only: see the table in `lib.rs`.

use std::path::Path;

/// From the ground up; those of one line do not know each other.
const ROOMS: [&[&str]; 8] =
    [&["base"], &["file"], &["topology"], &["link"], &["routing", "control"], &["net"], &["host", "view"], &["run"]];

fn floor(room: &str) -> Option<usize> {
    ROOMS.iter().position(|rooms| rooms.contains(&room))
}

/// Whether a file of a room speaks of rooms below it only. Its tests may speak of all.
fn check(room: &str, text: &str) -> Result<(), String> {
    let own = floor(room).ok_or(format!("{room} is no room; add it to ROOMS and to lib.rs"))?;
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
    // A link in a comment helps a reader and makes nothing depend on it.
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for used in line.split("crate::").skip(1) {
            let name: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if name != room && floor(&name).is_some_and(|floor| floor >= own) {
                return Err(format!("{room} uses crate::{name}, which is above it or beside it"));
            }
        }
    }
    Ok(())
}

#[test]
fn every_file_knows_only_rooms_below_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = 0;
    for room in std::fs::read_dir(&src).unwrap().map(|r| r.unwrap().path()).filter(|p| p.is_dir()) {
        for file in std::fs::read_dir(&room).unwrap().map(|f| f.unwrap().path()) {
            let name = room.file_name().unwrap().to_str().unwrap();
            if file.file_name().unwrap() != "checks.rs" {
                check(name, &std::fs::read_to_string(&file).unwrap()).unwrap_or_else(|e| panic!("{file:?}: {e}"));
                files += 1;
            }
        }
    }
    assert!(files > 40, "only {files} files found");
}

#[test]
fn a_room_that_looks_up_is_caught() {
    assert!(check("net", "use crate::base::Slab;\nuse crate::host::Host;\n").unwrap_err().contains("crate::host"));
    assert!(check("routing", "use crate::control::Control;").is_err());
    assert!(check("attic", "").unwrap_err().contains("is no room"));
}
