//! How the kernel shows counters: one number in a file, or two lines of names and numbers.

use std::fs;
use std::path::Path;

/// Names in a folder, sorted: the kernel gives them in any order.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The number at the start of a file, up to a blank or an `@`.
pub(super) fn number(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.trim_start().split(|c: char| c == '@' || c.is_whitespace()).next()?.parse().ok()
}

/// `Group: name name` followed by `Group: number number`, as in `/proc/net/snmp`: those that are wanted, as `Group.name`.
pub(super) fn pairs(file: &Path, wanted: &[(&str, &[&str])]) -> Vec<(String, u64)> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (header, values) in lines.iter().zip(lines.iter().skip(1)) {
        let (Some((group, header)), Some((other, values))) = (header.split_once(':'), values.split_once(':')) else {
            continue;
        };
        let Some((_, names)) = wanted.iter().find(|(name, _)| *name == group && group == other) else { continue };
        for (name, value) in header.split_whitespace().zip(values.split_whitespace()) {
            if let (true, Ok(value)) = (names.contains(&name), value.parse()) {
                found.push((format!("{group}.{name}"), value));
            }
        }
    }
    found
}

/// A made-up tree of files for tests, removed when dropped.
#[cfg(test)]
pub(super) mod tree {
    use std::fs;
    use std::path::PathBuf;

    pub struct Tree(pub PathBuf);

    impl Tree {
        pub fn new(name: &str, files: &[(&str, &str)]) -> Tree {
            let root = std::env::temp_dir().join(format!("tailback-counters-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            for (file, text) in files {
                let path = root.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Tree(root)
        }

        /// Names and values that a source finds here.
        pub fn read(&self, source: &crate::counters::Source) -> Vec<(String, u64)> {
            (source.read)(&self.0).into_iter().map(|r| (r.name, r.value)).collect()
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_left_out() {
        let tree = tree::Tree::new("files", &[("plain", "12\n"), ("stamped", "7@1700000000.5\n"), ("text", "N/A\n")]);
        let read = |name| number(&tree.0.join(name));
        assert_eq!([read("plain"), read("stamped"), read("text"), read("missing")], [Some(12), Some(7), None, None]);
        assert_eq!(names(&tree.0), ["plain", "stamped", "text"]);
    }
}
