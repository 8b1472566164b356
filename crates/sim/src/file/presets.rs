//! The machine files that come with the program.

/// Takes each file out of the folder `machines` by its name.
macro_rules! machines {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../machines/", $name, ".toml"))),)*]
    };
}

/// The machines that come with the program: name and machine file, in the order of `list`.
pub const BUILTIN: &[(&str, &str)] = machines![
    "default"
    "small-dragonfly"
    "small-fat-tree"
    "crystal"
    "osprey"
    "edison"
    "theta"
    "sierra"
    "summit"
    "malbec"
    "bluewaters"
    "frontier"
    "aurora"
    "lumi"
    "alps"
    "perlmutter"
    "leonardo"
    "jupiter"
];

/// The machine file of a built-in machine.
pub fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_in_the_table() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines")).unwrap();
        let mut files: Vec<String> = folder.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        let mut table: Vec<String> = BUILTIN.iter().map(|(name, _)| format!("{name}.toml")).collect();
        files.sort();
        table.sort();
        assert_eq!(files, table);
    }
}
