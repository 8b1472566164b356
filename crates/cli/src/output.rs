//! stdout carries results and nothing else; a reader that stops reading is not an error.

use report::plain::screen;
use std::io::{self, Write};

/// Writes to stdout; what comes from elsewhere cannot speak to the terminal.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(screen(text).as_bytes())?;
    out.flush()?;
    Ok(())
}
