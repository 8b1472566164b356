//! The JSON schema of a record, generated from the types and kept under version control.

use crate::run::RunRecord;

/// The schema as pretty JSON text.
pub fn text() -> String {
    let schema = schemars::schema_for!(RunRecord);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

#[cfg(test)]
mod tests {
    /// `UPDATE=1 cargo test -p tailback-record` rewrites the committed file after a deliberate change.
    #[test]
    fn the_committed_schema_is_the_one_of_the_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/run.schema.json");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/schema")).unwrap();
            std::fs::write(path, super::text()).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap();
        assert_eq!(committed, super::text(), "run with UPDATE=1 if the change of format is meant");
    }
}
