//! Schemas are those of the types, describe what is printed, and name every serialized type.

use model::contention::answers::{Derivation, Measurement, Prediction};
use model::contention::campaign::Campaign;
use model::contention::{Options, derive, published, rules, solve};
use model::maxrate::{self, StudySettings};
use model::schema::{SCHEMAS, text};
use record::RunRecord;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tailback_model as model;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// `UPDATE=1 cargo test -p tailback-model` rewrites the committed files after a deliberate change.
#[test]
fn every_committed_schema_is_the_one_of_its_type() {
    for (name, make) in SCHEMAS {
        let path = here(&format!("schema/{name}.schema.json"));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(here("schema")).unwrap();
            std::fs::write(&path, text(*make)).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(committed, text(*make), "{name}: run with UPDATE=1 if the change of format is meant");
    }
    let files = std::fs::read_dir(here("schema")).unwrap().count();
    assert_eq!(files, SCHEMAS.len(), "a schema without a line in SCHEMAS");
}

fn record(name: &str) -> RunRecord {
    record::read(&here(&format!("../record/tests/v1/{name}.json"))).unwrap()
}

fn of<T: serde::Serialize>(value: T) -> Value {
    serde_json::to_value(value).unwrap()
}

/// What the command of this name prints, or nothing if there is no such command.
fn printed(name: &str) -> Option<Value> {
    let graph = published::find("fig3").unwrap();
    let graph_name = "fig3".to_string();
    Some(match name {
        "contention-predict" => {
            let set = rules::start("paper", &spec::Params::new()).unwrap();
            let (penalties, terms) = rules::explain(&*set, &graph).unwrap();
            let solution = solve(&graph, &*set, &Options { steps: true, ..Options::rate(1e9) }).unwrap();
            let brief = Prediction { graph_name, rules: "paper".into(), penalties, terms: Vec::new(), solution, graph };
            of([brief.clone(), Prediction { terms, ..brief }])
        }
        "contention-measure" => {
            let values = vec![vec![2.0, 3.0]; graph.flows.len()];
            of([Measurement::new(&graph_name, &graph, false, 1.0, values)])
        }
        "contention-derive" => {
            let penalties = derive::from_rates(&[1.0], &[vec![0.5, 0.6]]).unwrap();
            of([Derivation { graph_name, graph, penalties, measured: vec!["fig3".into()] }])
        }
        "contention-validate" => of(Campaign::read(&record("campaign")).unwrap().findings(None, None).unwrap()),
        "fit-maxrate" => {
            let rates = maxrate::Recorded::read(&record("maxrate"), false);
            of(maxrate::study(&rates, &StudySettings { replicates: 20, ..StudySettings::default() }).unwrap())
        }
        _ => return None,
    })
}

#[test]
fn every_schema_describes_what_is_printed() {
    for (name, make) in SCHEMAS {
        let value = printed(name).unwrap_or_else(|| panic!("{name}: `printed` makes no value of it"));
        let schema = make().to_value();
        fits(&schema, &schema, &value).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn a_value_that_does_not_fit_is_found() {
    let schema = (SCHEMAS[0].1)().to_value();
    let good = printed(SCHEMAS[0].0).unwrap();
    let wrong = |change: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value);
        fits(&schema, &schema, &value).unwrap_err()
    };
    assert!(wrong(&|v| drop(v[0].as_object_mut().unwrap().remove("rules"))).contains("`rules` is missing"));
    assert!(wrong(&|v| v[0]["graph"]["flows"][1]["bytes"] = json!("4k")).contains("is no number"));
    assert!(wrong(&|v| v[0]["more"] = json!(1)).contains("`more` is unknown"));
}

/// Whether a value has the shape that a schema describes: types, required and known fields, alternatives. Formats, ranges and lengths
/// are not looked at.
fn fits(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let path = name.strip_prefix('#').expect("references stay inside the file");
        return fits(root, root.pointer(path).ok_or(format!("{name} leads nowhere"))?, value);
    }
    if let Some(ways) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let tried: Vec<_> = ways.iter().map(|way| fits(root, way, value)).collect();
        return tried.iter().find(|t| t.is_ok()).unwrap_or(&tried[0]).clone();
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return Err(format!("{value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
        return Err(format!("{value} is none of {}", schema["enum"]));
    }
    of_type(&schema["type"], value)?;
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        let own = schema["prefixItems"].get(i).or(schema.get("items"));
        own.map_or(Ok(()), |s| fits(root, s, item)).map_err(|e| format!("[{i}] {e}"))?;
    }
    let Some(object) = value.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        object.get(name).ok_or(format!("`{name}` is missing"))?;
    }
    for (name, value) in object {
        // Maps with numbers as keys have a pattern for them; there is one at most.
        let by_pattern = || schema["patternProperties"].as_object().and_then(|all| all.values().next());
        let own = schema["properties"].get(name).or_else(by_pattern).or(schema.get("additionalProperties"));
        let own = own.filter(|s| s.is_object()).ok_or(format!("`{name}` is unknown"))?;
        fits(root, own, value).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}

/// Whether a value is of a type, or of one of several.
fn of_type(kind: &Value, value: &Value) -> Result<(), String> {
    let is = |kind: &Value| match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        _ => true,
    };
    let good = kind.as_array().map_or_else(|| is(kind), |kinds| kinds.iter().any(is));
    if good { Ok(()) } else { Err(format!("{value} is no {}", kind.as_str().unwrap_or("such thing"))) }
}

/// The types that the sources serialize, by the line after the derive that names one.
fn serialized(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut derived = false;
    for line in source.lines() {
        derived |= line.starts_with("#[derive(") && line.contains("Serialize");
        let declared = line.strip_prefix("pub struct ").or(line.strip_prefix("pub enum "));
        if let (Some(rest), true) = (declared, derived) {
            derived = false;
            names.push(rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_string());
        }
    }
    names
}

fn sources(dir: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { sources(&path, all) } else { all.push(path) }
    }
}

/// A type that derives `Serialize` and is in no schema is printed without a schema, or not at all.
fn is_in_a_schema(name: &str) -> Result<(), String> {
    let schemas: Vec<Value> = SCHEMAS.iter().map(|(_, make)| make().to_value()).collect();
    let named = schemas.iter().any(|s| s["title"] == name || s["$defs"].get(name).is_some());
    if named { Ok(()) } else { Err(format!("{name} is serialized and in no schema of SCHEMAS")) }
}

#[test]
fn every_serialized_type_is_in_a_schema() {
    let mut files = Vec::new();
    sources(&here("src"), &mut files);
    let names: Vec<String> = files.iter().flat_map(|f| serialized(&std::fs::read_to_string(f).unwrap())).collect();
    assert!(names.len() > 20, "the sources were not understood: {names:?}");
    for name in names {
        is_in_a_schema(&name).unwrap_or_else(|e| panic!("{e}"));
    }
    let stray = serialized("#[derive(Clone, Serialize)]\n#[serde(deny_unknown_fields)]\npub struct Stray {\n");
    assert_eq!(stray, ["Stray"]);
    assert!(is_in_a_schema(&stray[0]).is_err());
}
