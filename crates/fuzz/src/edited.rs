//! JSON that is right but for a few values. Bytes changed at random are hardly ever JSON, and JSON is hardly ever a record, so what
//! lies behind the parser is reached by changing values of a real one.

use serde_json::{Value, json};

/// What values are replaced by: ends of the number ranges, and the wrong kinds.
fn odd(which: u8) -> Value {
    match which % 24 {
        0 => Value::Null,
        1 => json!(0),
        2 => json!(-1),
        3 => json!(1),
        4 => json!(u64::MAX),
        5 => json!(u32::MAX),
        6 => json!(i64::MIN),
        7 => json!(1e308),
        8 => json!(-1e308),
        9 => json!(5e-324),
        10 => json!(0.5),
        11 => json!(""),
        12 => json!("\u{1b}[2J\n=1+1"),
        13 => json!("1e308"),
        14 => json!("18446744073709551615"),
        15 => json!([]),
        16 => json!({}),
        17 => json!([[]]),
        18 => json!(true),
        19 => json!("é\u{202e}\u{0}"),
        20 => json!(1u64 << 53),
        21 => json!(2),
        22 => json!(1000),
        _ => json!("x".repeat(300)),
    }
}

/// The `n`th value of a tree, counted in the order of reading; what is left of `n` if there are fewer.
fn nth(tree: &mut Value, n: usize) -> Result<&mut Value, usize> {
    if n == 0 {
        return Ok(tree);
    }
    let mut left = n - 1;
    let inside: Vec<&mut Value> = match tree {
        Value::Array(all) => all.iter_mut().collect(),
        Value::Object(all) => all.values_mut().collect(),
        _ => Vec::new(),
    };
    for value in inside {
        match nth(value, left) {
            Ok(found) => return Ok(found),
            Err(rest) => left = rest,
        }
    }
    Err(left)
}

fn count(tree: &Value) -> usize {
    1 + match tree {
        Value::Array(all) => all.iter().map(count).sum(),
        Value::Object(all) => all.values().map(count).sum(),
        _ => 0,
    }
}

/// Changes a tree as the bytes say, three for each change: which value, and what becomes of it. At most 16 changes: more only
/// break what is broken.
pub fn edit(mut tree: Value, script: &[u8]) -> Value {
    for change in script.chunks_exact(3).take(16) {
        let which = usize::from(u16::from_le_bytes([change[0], change[1]])) * 7 % count(&tree);
        let Ok(value) = nth(&mut tree, which) else { continue };
        match (change[2], value) {
            // A third of the codes change lists as lists: shorter, longer, turned round.
            (code @ 160.., Value::Array(all)) => match code % 3 {
                0 => drop(all.pop()),
                1 => all.extend(all.last().cloned()),
                _ => all.reverse(),
            },
            (160.., Value::Object(all)) => {
                let key = all.keys().nth(usize::from(change[0]) % all.len().max(1)).cloned();
                key.and_then(|key| all.remove(&key));
            }
            (code, value) => *value = odd(code),
        }
    }
    tree
}
