//! The targets under libFuzzer, which looks for input that reaches new code. `TARGET` names which one.
#![no_main]
#![allow(unsafe_code, reason = "libFuzzer calls an exported C function")]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use tailback_fuzz::{TARGETS, Target, target};

static CHOSEN: OnceLock<&'static Target> = OnceLock::new();

fn chosen() -> &'static Target {
    let name = std::env::var("TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        let known: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
        eprintln!("TARGET is `{name}`; there are: {}", known.join(" "));
        std::process::exit(2)
    })
}

fuzz_target!(|data: &[u8]| (CHOSEN.get_or_init(chosen).run)(data));
