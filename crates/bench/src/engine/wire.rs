//! What travels between ranks, as bytes: no version and no checks, because the same program is at both ends.

use comm::{Buffer, Comm, collectives};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(super) fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("memory takes every value")
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> T {
    postcard::from_bytes(bytes).expect("written by this program")
}

/// The values of all ranks merged into one, up a tree; on rank 0. Collective.
pub(super) fn fold<T: Serialize + DeserializeOwned>(
    comm: &dyn Comm,
    mine: &impl Serialize,
    merge: impl Fn(T, T) -> T,
) -> Option<T> {
    let mut both = |a: Vec<u8>, b: Vec<u8>| encode(&merge(decode(&a), decode(&b)));
    collectives::fold(comm, encode(mine), &mut both).map(|bytes| decode(&bytes))
}

/// The values of those ranks that have one, on rank 0, in the order of the ranks. Nobody reads them on the way. Collective.
pub fn gather<T: Serialize + DeserializeOwned>(comm: &dyn Comm, mine: Option<&T>) -> Option<Vec<T>> {
    let mut both = |mut a: Vec<u8>, b: Vec<u8>| {
        a.extend_from_slice(&b);
        a
    };
    let all = collectives::fold(comm, mine.map(encode).unwrap_or_default(), &mut both)?;
    let (mut values, mut rest) = (Vec::new(), &all[..]);
    // Values tell where they end, so they can be put one behind the other without their lengths.
    while !rest.is_empty() {
        let (value, tail) = postcard::take_from_bytes(rest).expect("written by this program");
        values.push(value);
        rest = tail;
    }
    Some(values)
}

/// Rank 0's value reaches everyone; only rank 0 knows how long it is. Collective.
pub fn tell<T: Serialize + DeserializeOwned>(comm: &dyn Comm, value: Option<&T>) -> T {
    let mut bytes = value.map(encode).unwrap_or_default();
    let mut length = (bytes.len() as u64).to_le_bytes();
    comm.bcast(0, Buffer::Bytes(&mut length));
    bytes.resize(u64::from_le_bytes(length) as usize, 0);
    if !bytes.is_empty() {
        comm.bcast(0, Buffer::Bytes(&mut bytes));
    }
    decode(&bytes)
}
