//! Every parser of what comes from elsewhere, as a target for a fuzzer: any bytes may come, and none may make it panic, hang or take
//! all memory. What a parser accepts is used as the program would use it, because a bad value is often accepted and trips what
//! comes after.
//!
//! `tests/short.rs` runs the corpus and some thousand changes of it in every check; `scripts/fuzz` runs libFuzzer for as long as one
//! likes, with the same targets and the same corpus.

mod edited;
mod targets;

pub use targets::TARGETS;

/// Something that reads.
pub struct Target {
    /// What it is called, and its folder in the corpus.
    pub name: &'static str,
    /// Reads; a panic is a finding.
    pub run: fn(&[u8]),
}

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}
