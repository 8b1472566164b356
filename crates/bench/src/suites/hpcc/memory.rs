//! `hpccmemf.txt`: how much memory the original may take where no `hpccinf.txt` says how large its tests are.

use super::{refuse, threads};
use crate::suites::{Request, SuiteError};
use spec::{ReadParams, about_bytes};

/// Mebibytes that nobody has: 64 TiB, as much as the largest rank.
const MOST: u64 = 1 << 26;

/// Bytes of each of some ranks with so many threads: one line, `Total=MB`, `Thread=MB` or `Process=MB`.
fn read(text: &str, ranks: u64, threads: u64) -> Result<u64, String> {
    let line = text.lines().next().unwrap_or("").trim();
    let asks = "`Total=MB`, `Thread=MB` or `Process=MB` with a whole number";
    let (kind, number) = line.split_once('=').ok_or_else(|| format!("line 1: {line:?}: {asks}"))?;
    let number: u64 = number.trim().parse().map_err(|_| format!("line 1: {line:?}: {asks}"))?;
    if !(1..=MOST).contains(&number) {
        return Err(format!("line 1: {line:?}: from 1 to {MOST} MB"));
    }
    let bytes = number << 20;
    match kind.trim() {
        "Total" => Ok(bytes / ranks.max(1)),
        "Thread" => Ok(bytes.saturating_mul(threads.max(1))),
        "Process" => Ok(bytes),
        other => Err(format!("line 1: {other:?}: {asks}")),
    }
}

/// What the file of this request gives each rank, if there is one. It stands alone: other sources of sizes would win over it in silence.
pub fn given(request: &Request<'_>) -> Result<Option<u64>, SuiteError> {
    let (params, site) = (request.params, request.site);
    let path = params.word("hpccmemf");
    if path.is_empty() {
        return Ok(None);
    }
    for (other, unset) in [("hpccinf", ""), ("rank-memory", "0"), ("memory", "auto")] {
        // A simulated machine's memory has a default of its own.
        if params.word(other) != unset && !(other == "memory" && site.simulated) {
            return Err(refuse(format!(
                "--hpccmemf {path} gives the memory, and --{other} gives sizes: give one of them"
            )));
        }
    }
    let text = request.files.get("hpccmemf").ok_or_else(|| refuse(format!("{path} was not read")))?;
    let bytes = read(text, site.layout.ranks.into(), threads(request)).map_err(|e| refuse(format!("{path}: {e}")))?;
    match site.memory {
        Some(there) if bytes > there => {
            let (asked, there) = (about_bytes(bytes), about_bytes(there));
            Err(refuse(format!("{path}: it gives each rank {asked}, which has {there}; choose less")))
        }
        _ => Ok(Some(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_original_are_read() {
        let bytes = |text| read(text, 4, 3);
        assert_eq!(bytes("Total=400\n"), Ok(100 << 20));
        assert_eq!(bytes("Thread=5"), Ok(15 << 20));
        assert_eq!(bytes("Process=64\nmore"), Ok(64 << 20));
        for bad in
            ["", "64", "Process", "Process=", "Process=-1", "Process=0", "process=4", "Total=99999999999", "Thread=1.5"]
        {
            assert!(bytes(bad).is_err_and(|e| e.starts_with("line 1")), "{bad}");
        }
    }
}
