//! stdout carries results and nothing else; a reader that stops reading is not an error.

use std::io::{self, Write};

/// Writes to stdout.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
