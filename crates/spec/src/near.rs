//! "Did you mean": which known names are nearest to one that is not known.

/// The known names that are likely meant by `wrong`, best first, at most three.
pub fn near<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut ranked: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| (distance(&wrong.to_lowercase(), &name.to_lowercase()), name))
        .filter(|&(d, name)| {
            d <= (name.len().max(wrong.len()) / 2).clamp(1, 4) || (wrong.len() > 2 && name.contains(wrong))
        })
        .collect();
    ranked.sort();
    ranked.into_iter().take(3).map(|(_, name)| name).collect()
}

/// `unknown kernel `p2plat`; did you mean `p2p-lat`?` or, with nothing near, the list of all that are known.
pub fn unknown<'a>(what: &str, wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let quoted = |names: &[&str]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    match near(wrong, known.iter().copied()).as_slice() {
        [] => format!("unknown {what} `{wrong}`; known: {}", quoted(&known)),
        names => format!("unknown {what} `{wrong}`; did you mean {}?", quoted(names)),
    }
}

/// Levenshtein's edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let cost = (corner + usize::from(ca != cb)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = std::mem::replace(&mut row[j + 1], cost);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_first() {
        let known = ["p2p-lat", "p2p-bw-sync", "allreduce"];
        assert_eq!(near("p2plat", known), ["p2p-lat"]);
        assert_eq!(near("reduce", known), ["allreduce"]);
        assert!(unknown("kernel", "xyzzy", known).contains("known: `p2p-lat`, `p2p-bw-sync`"));
    }
}
