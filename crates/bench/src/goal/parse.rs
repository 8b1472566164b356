//! Reads GOAL. In one pass, with the line of what is wrong.

use super::{Does, Goal, Operation, Schedule, Waits};
use std::collections::BTreeMap;

/// Ranks at most, and operations of all of them: more is a slip of the pen.
const MOST_RANKS: u64 = 4_000_000;
const MOST_OPERATIONS: usize = 100_000_000;

/// A word of the file and the line it stands on.
type Word<'a> = (&'a str, usize);

/// The words of a text: braces and colons stand alone, comments are left out.
struct Words<'a> {
    rest: &'a str,
    line: usize,
    last: usize,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Words<'a> {
        Words { rest: text, line: 1, last: 1 }
    }

    fn skip(&mut self, bytes: usize) {
        self.line += self.rest[..bytes].matches('\n').count();
        self.rest = &self.rest[bytes..];
    }

    /// To the next word; an error of a comment that has no end.
    fn blank(&mut self) -> Result<(), String> {
        loop {
            let space = self.rest.len() - self.rest.trim_start().len();
            self.skip(space);
            if self.rest.starts_with("//") {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/").ok_or(format!("line {}: this comment has no end: `*/`", self.line))?;
                self.skip(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    fn peek(&mut self) -> Result<Option<Word<'a>>, String> {
        self.blank()?;
        let first = self.rest.chars().next();
        let Some(first) = first else { return Ok(None) };
        let length = match first {
            '{' | '}' | ':' => 1,
            _ => self.rest.find(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | ':')).unwrap_or(self.rest.len()),
        };
        // A comment may follow without a space.
        let word = &self.rest[..length];
        let length = ["//", "/*"].iter().filter_map(|mark| word.find(mark)).min().unwrap_or(length);
        Ok(Some((&self.rest[..length], self.line)))
    }

    fn next(&mut self) -> Result<Option<Word<'a>>, String> {
        let word = self.peek()?;
        if let Some((text, line)) = word {
            self.last = line;
            self.skip(text.len());
        }
        Ok(word)
    }

    fn need(&mut self, what: &str) -> Result<Word<'a>, String> {
        let last = self.last;
        self.next()?.ok_or_else(|| format!("line {last}: the file ends where {what} must be"))
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        match self.need(&format!("`{word}`"))? {
            (found, _) if found == word => Ok(()),
            (found, line) => Err(format!("line {line}: `{}` where `{word}` must be", shown(found))),
        }
    }

    fn number(&mut self, what: &str, most: u64) -> Result<u64, String> {
        let (text, line) = self.need(what)?;
        number(text, line, what, most)
    }
}

/// A word as it can be quoted.
fn shown(word: &str) -> String {
    word.chars().take(40).flat_map(char::escape_debug).collect()
}

fn number(text: &str, line: usize, what: &str, most: u64) -> Result<u64, String> {
    let n: Option<u64> = text.parse().ok();
    n.filter(|n| *n <= most).ok_or_else(|| format!("line {line}: `{}` is no {what}; 0 to {most}", shown(text)))
}

/// Reads a schedule.
pub fn parse(text: &str) -> Result<Goal, String> {
    let mut words = Words::new(text);
    words.expect("num_ranks")?;
    let ranks = words.number("number of ranks", MOST_RANKS)?;
    if ranks == 0 {
        return Err(format!("line {}: num_ranks 0: at least 1", words.last));
    }
    let mut goal = Goal { ranks: Vec::new() };
    let mut left = MOST_OPERATIONS;
    while let Some((word, line)) = words.next()? {
        if word != "rank" {
            return Err(format!("line {line}: `{}` where `rank` must be", shown(word)));
        }
        let rank = words.number("rank", ranks - 1)? as usize;
        words.expect("{")?;
        // Only as many as the file describes: a number alone takes no memory.
        if goal.ranks.len() <= rank {
            goal.ranks.resize_with(rank + 1, Schedule::default);
        }
        let taken = std::mem::take(&mut goal.ranks[rank]);
        if taken != Schedule::default() {
            return Err(format!("line {line}: rank {rank} stands here for the second time"));
        }
        goal.ranks[rank] = schedule(&mut words, ranks, &mut left)?;
    }
    goal.ranks.resize_with(ranks as usize, Schedule::default);
    Ok(goal)
}

/// The operations of a rank, to the closing brace.
fn schedule<'a>(words: &mut Words<'a>, ranks: u64, left: &mut usize) -> Result<Schedule, String> {
    let mut schedule = Schedule::default();
    let mut labels: BTreeMap<&'a str, u32> = BTreeMap::new();
    loop {
        let (word, line) = words.need("an operation or `}`")?;
        match word {
            "}" => return Ok(schedule),
            "send" | "recv" | "calc" => add(&mut schedule, operation(word, words, ranks)?, left, line)?,
            label => match words.need("`:` or `requires`")? {
                (":", _) => {
                    let (word, line) = words.need("an operation")?;
                    let index = schedule.operations.len() as u32;
                    add(&mut schedule, operation(word, words, ranks)?, left, line)?;
                    if labels.insert(label, index).is_some() {
                        return Err(format!("line {line}: the label `{}` is used twice", shown(label)));
                    }
                }
                (how @ ("requires" | "irequires"), _) => {
                    let (other, at) = words.need("a label")?;
                    let find = |label: &str, line: usize| {
                        let none = || format!("line {line}: no operation `{}` above", shown(label));
                        labels.get(label).copied().ok_or_else(none)
                    };
                    let (who, for_whom) = (find(label, line)?, find(other, at)?);
                    schedule.waits.push(Waits { who, for_whom, for_begin: how == "irequires" });
                }
                (found, line) => {
                    return Err(format!(
                        "line {line}: `{}` after `{}`; `:` or `requires` must be there",
                        shown(found),
                        shown(label)
                    ));
                }
            },
        }
    }
}

fn add(schedule: &mut Schedule, operation: Operation, left: &mut usize, line: usize) -> Result<(), String> {
    *left = left.checked_sub(1).ok_or_else(|| format!("line {line}: more than {MOST_OPERATIONS} operations"))?;
    schedule.operations.push(operation);
    Ok(())
}

fn operation(word: &str, words: &mut Words<'_>, ranks: u64) -> Result<Operation, String> {
    match word {
        "calc" => {
            let ns = words.number("number of nanoseconds", u64::MAX / 1000)?;
            let [_, cpu] = options(words)?;
            Ok(Operation { does: Does::Calc { ns }, cpu: cpu as u16 })
        }
        "send" | "recv" => {
            let (text, line) = words.need("a size like 8b")?;
            let bytes = text.strip_suffix('b').unwrap_or(text);
            let bytes = number(bytes, line, "size in bytes", 1 << 40)?;
            let sends = word == "send";
            words.expect(if sends { "to" } else { "from" })?;
            let (text, line) = words.need("a rank")?;
            if text == "-1" {
                return Err(format!(
                    "line {line}: from -1: a message from anybody; name the rank, so that the schedule is the same each time"
                ));
            }
            let other = number(text, line, "rank", ranks - 1)? as u32;
            let [tag, cpu] = options(words)?;
            let tag = tag as u32;
            let does =
                if sends { Does::Send { bytes, to: other, tag } } else { Does::Recv { bytes, from: other, tag } };
            Ok(Operation { does, cpu: cpu as u16 })
        }
        _ => Err(format!("line {}: `{}` is no operation; send, recv or calc", words.last, shown(word))),
    }
}

/// Tag and processor; the NIC is read and left alone: a machine has its own way to choose one.
fn options(words: &mut Words<'_>) -> Result<[u64; 2], String> {
    let (mut tag, mut cpu) = (0, 0);
    loop {
        match words.peek()? {
            Some(("tag", _)) => {
                words.next()?;
                let (text, line) = words.need("a tag")?;
                if text == "-1" {
                    return Err(format!(
                        "line {line}: tag -1: any tag; name it, so that the schedule is the same each time"
                    ));
                }
                tag = number(text, line, "tag", u64::from(u32::MAX))?;
            }
            Some(("cpu", _)) => {
                words.next()?;
                cpu = words.number("processor", u64::from(u16::MAX))?;
            }
            Some(("nic", _)) => {
                words.next()?;
                words.number("NIC", u64::from(u16::MAX))?;
            }
            _ => return Ok([tag, cpu]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "num_ranks 2 // two\nrank 0 {\nl1: calc 1500\nl2: send 4096b to 1 tag 7 cpu 0 nic 0\nl2 requires l1\n}\n/* and\n */ rank 1 { l1: recv 4096b from 0 tag 7 }\n";

    #[test]
    fn the_example_is_read() {
        let goal = parse(EXAMPLE).unwrap();
        let [first, second] = &goal.ranks[..] else { panic!("{goal:?}") };
        assert_eq!(first.operations[0], Operation { does: Does::Calc { ns: 1500 }, cpu: 0 });
        assert_eq!(first.operations[1].does, Does::Send { bytes: 4096, to: 1, tag: 7 });
        assert_eq!(first.waits, [Waits { who: 1, for_whom: 0, for_begin: false }]);
        assert_eq!(second.operations[0].does, Does::Recv { bytes: 4096, from: 0, tag: 7 });
        assert_eq!((goal.operations(), goal.check()), (3, Ok(())));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, says) in [
            ("", "line 1: the file ends where `num_ranks` must be"),
            ("num_ranks 0", "at least 1"),
            ("num_ranks 5000000", "no number of ranks"),
            ("num_ranks 2\nranks 0 {}", "line 2: `ranks` where `rank` must be"),
            ("num_ranks 2\nrank 2 {}", "line 2: `2` is no rank"),
            ("num_ranks 2\nrank 0 {\nsend 8b to 2\n}", "line 3: `2` is no rank"),
            ("num_ranks 2\nrank 0 {\nsend xb to 1\n}", "line 3: `x` is no size"),
            ("num_ranks 2\nrank 0 {\nl1: fly 3\n}", "line 3: `fly` is no operation"),
            ("num_ranks 2\nrank 0 {\nl1 requires l2\n}", "line 3: no operation `l1` above"),
            ("num_ranks 2\nrank 0 {\nl1: calc 1\nl1: calc 2\n}", "line 4: the label `l1` is used twice"),
            ("num_ranks 2\nrank 0 { calc 1 }\nrank 0 { calc 1 }", "line 3: rank 0 stands here for the second time"),
            ("num_ranks 2\nrank 0 { calc 1", "the file ends where an operation"),
            ("num_ranks 2 /* never", "line 1: this comment has no end"),
            ("num_ranks 2\nrank 0 { recv 8b from -1 }", "from anybody"),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
