//! Exit codes: part of the interface, so scripts can rely on them.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All is well.
    Good = 0,
    /// Something failed.
    Failure = 1,
    /// The command line or a file makes no sense.
    Usage = 2,
    /// A required threshold was missed.
    Threshold = 3,
    /// A check failed: wrong data, or a program that ended badly.
    WrongData = 4,
    /// Some of what was asked for did not run, or was not saved.
    Incomplete = 5,
    /// Nothing was measured or compared; the reason is printed.
    Skipped = 77,
}

/// An error that knows its exit code.
#[derive(Debug)]
pub struct Fail {
    code: Exit,
    text: String,
}

impl Fail {
    /// With a code and a text that names the value and the remedy.
    pub fn with(code: Exit, text: impl fmt::Display) -> anyhow::Error {
        anyhow::Error::new(Fail { code, text: text.to_string() })
    }
    /// The same end, of a process that says nothing because another one does.
    pub fn silent(error: &anyhow::Error) -> anyhow::Error {
        anyhow::Error::new(Fail { code: Fail::code(error), text: String::new() })
    }
    /// The exit code of an error.
    fn code(error: &anyhow::Error) -> Exit {
        error.downcast_ref::<Fail>().map_or(Exit::Failure, |fail| fail.code)
    }
    /// A mistake on the command line or in a file.
    pub fn usage(text: impl fmt::Display) -> anyhow::Error {
        Fail::with(Exit::Usage, text)
    }
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
impl std::error::Error for Fail {}

/// Turns a command's result into the program's end, with the error on stderr.
pub fn end(result: anyhow::Result<Exit>) -> ExitCode {
    let error = match result {
        Ok(exit) => return ExitCode::from(exit as u8),
        Err(error) => error,
    };
    // Whoever reads our output may stop reading: `tailback list | head` is fine.
    if error.chain().any(|e| e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)) {
        return ExitCode::SUCCESS;
    }
    let code = Fail::code(&error);
    let text = format!("{error:#}");
    if !text.is_empty() {
        // A message may hold names from elsewhere: what looks like a line of its own is one of ours only if it begins the line.
        let text = report::plain::screen(&text).replace('\n', "\n  ");
        mpi::say(format_args!("tailback: {text}"));
    }
    ExitCode::from(code as u8)
}
