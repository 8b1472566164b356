//! The record itself, as `run.json` holds it.

use crate::view::View;

pub(super) fn write(view: &View<'_>) -> Result<String, String> {
    serde_json::to_string_pretty(view.record).map(|text| text + "\n").map_err(|e| e.to_string())
}
