//! Names of nodes and switches, and lists of them as Slurm writes them. They come from elsewhere, so only plain ones are taken.

/// Names that a list may stand for, at most.
const MOST: usize = 1 << 20;

/// A name of a node or a switch, found on a line: one that can stand in any of our files.
pub fn name(text: &str, line: &str) -> Result<String, String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.+/".contains(c);
    match !text.is_empty() && text.len() <= 64 && text.chars().all(fine) {
        true => Ok(text.to_string()),
        false => {
            let shown: String = line.chars().take(60).collect::<String>().escape_default().collect();
            Err(format!("`{shown}`: names have 1 to 64 letters, digits and -_.+/"))
        }
    }
}

/// The names of a list as Slurm writes them, `n[1-2,05],m3`, found on a line.
pub fn expand(list: &str, line: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let (mut depth, mut word) = (0, String::new());
    for c in list.chars().chain([',']) {
        depth += i32::from(c == '[') - i32::from(c == ']');
        if c == ',' && depth == 0 {
            expand_one(&std::mem::take(&mut word), line, &mut names)?;
        } else {
            word.push(c);
        }
    }
    // Behind a bracket that is never closed the comma at the end is part of the word.
    if depth != 0 {
        return Err(format!("`{}`: a bracket is not closed", list.escape_default()));
    }
    Ok(names)
}

fn expand_one(word: &str, line: &str, names: &mut Vec<String>) -> Result<(), String> {
    if word.is_empty() {
        return Ok(());
    }
    let Some((stem, rest)) = word.split_once('[') else {
        names.push(name(word, line)?);
        return Ok(());
    };
    let (ranges, tail) = rest.split_once(']').ok_or_else(|| format!("`{word}`: the bracket is not closed"))?;
    for range in ranges.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (Ok(first), Ok(last)) = (from.parse::<usize>(), to.parse::<usize>()) else {
            return Err(format!("`{word}`: `{range}` is no range of numbers"));
        };
        if last < first || last - first >= MOST || names.len() > MOST {
            return Err(format!("`{word}`: too many names; at most {MOST}"));
        }
        let width = if from.starts_with('0') { from.len() } else { 0 };
        for number in first..=last {
            names.push(name(&format!("{stem}{number:0width$}{tail}"), line)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_as_slurm_writes_them() {
        let names = |list: &str| expand(list, list).map(|names| names.join(" "));
        assert_eq!(names("n[1-2,05],m3").unwrap(), "n1 n2 n05 m3");
        assert_eq!(names("n[08-11]-ib").unwrap(), "n08-ib n09-ib n10-ib n11-ib");
        assert_eq!(names("[0-2],7").unwrap(), "0 1 2 7");
        assert_eq!(names("").unwrap(), "");
        for (list, expected) in
            [("n[1-", "not closed"), ("n[2-1]", "too many"), ("n[1-99999999]", "too many"), ("a b", "1 to 64 letters")]
        {
            assert!(names(list).unwrap_err().contains(expected), "{list}");
        }
    }
}
