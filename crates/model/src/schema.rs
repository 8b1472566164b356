//! JSON schemas of what commands print with `--json`, generated from the types and kept under version control.
//!
//! A run writes a record, whose types and schema are in `record`. What models find is computed from a record, at any time and again, so
//! its types live here. A type that no command prints is not serialized.

use crate::contention::answers::{Derivation, Measurement, Prediction};
use crate::contention::campaign::Findings;
use crate::maxrate::Study;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// Makes a schema.
pub type Make = fn() -> Schema;

/// What is printed: the command in kebab case, which is also the name of the file, and how its schema is made.
pub const SCHEMAS: &[(&str, Make)] = &[
    ("contention-predict", of::<Vec<Prediction>>),
    ("contention-measure", of::<Vec<Measurement>>),
    ("contention-derive", of::<Vec<Derivation>>),
    ("contention-validate", of::<Findings>),
    ("fit-maxrate", of::<Study>),
];

/// The schema of what is written: a field that is always there is required, even if it may be null.
fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// A schema as pretty JSON text.
pub fn text(make: Make) -> String {
    format!("{:#}\n", make().as_value())
}
