//! Reads what the paper's benchmark `nodecomm` (and its successor `smptest`) prints.
//!
//! A line of data is a message length **in 4-byte integers** followed by one time per number of pairs, k = 1, 2, ..; a time is
//! the **whole round trip** in seconds. Lines that do not begin with a number (job prologues, `Pingpong for`, rank lists) are
//! headings. A block ends at the next heading or where the lengths start again; equal blocks are trials of each other only
//! if the caller says so.

use super::data::Sample;
use thiserror::Error;

/// One table of the output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The ranks of the first node, as printed after `master:`.
    pub master: Vec<u32>,
    /// The ranks of the other node, as printed after `partner:`.
    pub partner: Vec<u32>,
    /// Its times; `trial` is 0 throughout.
    pub samples: Vec<Sample>,
}

/// Why a file is not nodecomm's output.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {reason}")]
pub struct ReadError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong and what is expected.
    pub reason: String,
}

/// nodecomm counts lengths in MPI_INT.
const INT_BYTES: u64 = 4;
/// More times in one line than any node has cores.
const MAX_PAIRS: usize = 4096;

/// Reads all blocks.
pub fn read(text: &str) -> Result<Vec<Block>, ReadError> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = Block::default();
    let mut columns = 0;
    for (index, line) in text.lines().enumerate() {
        let fail = |reason: String| ReadError { line: index + 1, reason };
        let line = line.trim();
        if !line.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) || is_rule(line) {
            close(&mut blocks, &mut open);
            if let Some(ranks) = line.strip_prefix("master:") {
                open.master = read_ranks(ranks).map_err(fail)?;
            } else if let Some(ranks) = line.strip_prefix("partner:") {
                open.partner = read_ranks(ranks).map_err(fail)?;
            }
            continue;
        }
        let row = read_row(line).map_err(fail)?;
        // Within a block lengths only grow: one that does not begins the next block.
        if open.samples.last().is_some_and(|last| row[0].bytes <= last.bytes) {
            close(&mut blocks, &mut open);
        }
        if open.samples.is_empty() {
            columns = row.len();
        } else if row.len() != columns {
            return Err(fail(format!("{} times where the lines above have {columns}", row.len())));
        }
        open.samples.extend(row);
    }
    close(&mut blocks, &mut open);
    if blocks.is_empty() {
        let reason = "no line of data; expected a length in integers and round-trip times, e.g. `128<tab>1.15e-05`";
        return Err(ReadError { line: text.lines().count().max(1), reason: reason.into() });
    }
    Ok(blocks)
}

/// All blocks as repetitions of one experiment: block i is trial i.
pub fn as_trials(blocks: &[Block]) -> Vec<Sample> {
    let numbered = |(i, b): (usize, &Block)| b.samples.iter().map(move |s| Sample { trial: i as u32, ..*s }).collect();
    blocks.iter().enumerate().map(numbered).collect::<Vec<Vec<Sample>>>().concat()
}

/// A line of dashes separates a batch system's prologue.
fn is_rule(line: &str) -> bool {
    line.len() > 3 && line.chars().all(|c| c == '-')
}

/// Ends a block that has data; a heading keeps its rank lists for the data below it.
fn close(blocks: &mut Vec<Block>, open: &mut Block) {
    if !open.samples.is_empty() {
        blocks.push(std::mem::take(open));
    }
}

fn read_ranks(text: &str) -> Result<Vec<u32>, String> {
    text.split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().map_err(|_| format!("`{word}` is not a rank")))
        .collect()
}

fn read_row(line: &str) -> Result<Vec<Sample>, String> {
    let mut words = line.split_whitespace();
    let length = words.next().unwrap_or_default();
    let ints: u64 = length.parse().map_err(|_| format!("`{length}` is not a length in 4-byte integers"))?;
    // 2^53 - 1 at most: four times that fits 64 bits and is exact as f64.
    if ints == 0 || ints > u64::MAX >> 11 {
        return Err(format!("length {ints}: lengths are 4-byte integers, from 1"));
    }
    let time = |word: &str| match word.parse::<f64>() {
        Ok(t) if t.is_finite() && t > 0.0 => Ok(t),
        _ => Err(format!("`{word}` is not a time; round-trip seconds above zero are expected")),
    };
    let times = words.map(time).collect::<Result<Vec<f64>, String>>()?;
    if times.is_empty() || times.len() > MAX_PAIRS {
        return Err(format!("{} times after the length; expected 1 to {MAX_PAIRS}", times.len()));
    }
    let sample =
        |(i, &seconds): (usize, &f64)| Sample { bytes: ints * INT_BYTES, pairs: i as u32 + 1, seconds, trial: 0 };
    Ok(times.iter().enumerate().map(sample).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "----------\nBegin Torque Prologue\n\nPingpong for\nmaster:  0, 1\npartner: 32, 33\n\
        1\t4.06e-06\t4.33e-06\t\n2\t3.99e-06\t4.27e-06\t\n\
        Pingpong for\nmaster:  0, 1\npartner: 64, 65\n1\t3.8e-06\t4.3e-06\t\nApplication 63908414 resources\n";

    #[test]
    fn lengths_are_integers_and_times_round_trips() {
        let blocks = read(TEXT).unwrap();
        assert_eq!(blocks.len(), 2);
        assert_eq!((blocks[0].master.as_slice(), blocks[1].partner.as_slice()), (&[0, 1][..], &[64, 65][..]));
        assert_eq!(blocks[0].samples[3], Sample { bytes: 8, pairs: 2, seconds: 4.27e-6, trial: 0 });
        assert_eq!(as_trials(&blocks)[4].trial, 1);
    }

    #[test]
    fn lengths_that_start_again_begin_a_block() {
        assert_eq!(read("1 1e-6\n2 2e-6\n1 1e-6\n").unwrap().len(), 2);
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, line, word) in [
            ("", 1, "no line of data"),
            ("1 4e-6\n2 nan\n", 2, "`nan`"),
            ("1 4e-6\n2 -1\n", 2, "`-1`"),
            ("1 4e-6 5e-6\n2 4e-6\n", 2, "1 times where the lines above have 2"),
            ("0 1e-6\n", 1, "length 0"),
            ("-4 1e-6\n", 1, "`-4`"),
            ("1\n", 1, "0 times"),
            ("master: 1, x\n1 1e-6\n", 1, "`x` is not a rank"),
            ("99999999999999999999 1e-6\n", 1, "not a length"),
        ] {
            let e = read(text).unwrap_err();
            assert!(e.line == line && e.reason.contains(word), "{text:?}: {e}");
        }
    }
}
