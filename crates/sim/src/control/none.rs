//! No congestion control: credits alone hold traffic back, hop by hop.

use super::{ControlEntry, Hears, Maker};
use crate::Config;
use spec::{Card, Params};

/// See the module.
pub const OFF: ControlEntry = ControlEntry {
    card: Card { name: "none", about: "credits alone hold traffic back", source: "", params: &[] },
    build,
    hears: Hears::Nothing,
};

fn build(_: &Params, _: &Config) -> Result<Maker, String> {
    Ok(Box::new(|| None))
}
