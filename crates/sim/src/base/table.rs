//! A table from keys of 64 or 128 bits to `u32`: open addressing, linear probing, deletion by shifting back. A table of a hundred
//! thousand ranks' pairs is in no cache, so its entries are as short as their keys allow.
//!
//! It cannot be iterated, so the order of its places can never reach a result; that is why it is used here and the standard
//! hash map is not.

use crate::base::NONE;

/// A key: two words of the caller's making.
pub(crate) type Key = (u64, u64);

/// What can be a key.
pub(crate) trait Words: Copy + PartialEq + Default {
    fn words(self) -> Key;
}

impl Words for u64 {
    fn words(self) -> Key {
        (self, 0)
    }
}

impl Words for Key {
    fn words(self) -> Key {
        self
    }
}

// Packed: a quarter of a place with a short key would be padding otherwise, and a table has a place for every pair of ranks that ever spoke.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
struct Slot<K> {
    key: K,
    value: u32,
}

/// The table. A value is never [`NONE`].
pub(crate) struct Table<K = Key> {
    places: Vec<Slot<K>>,
    len: usize,
}

fn hash(key: impl Words) -> usize {
    let key = key.words();
    // Two rounds of multiply and fold; keys are small counters, so the high bits must reach the low ones.
    let mut z = key.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ key.1.rotate_left(29);
    z = (z ^ (z >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (z ^ (z >> 32)) as usize
}

impl<K: Words> Table<K> {
    pub(crate) const fn new() -> Table<K> {
        Table { places: Vec::new(), len: 0 }
    }

    fn empty() -> Slot<K> {
        Slot { key: K::default(), value: NONE }
    }

    /// Where the key is, or the empty place where it would go. The table must have places.
    #[inline]
    fn find(&self, key: K) -> usize {
        let mask = self.places.len() - 1;
        let mut i = hash(key) & mask;
        while self.places[i].value != NONE && { self.places[i].key } != key {
            i = (i + 1) & mask;
        }
        i
    }

    /// Asks for the line where a key is looked for.
    #[inline]
    pub(crate) fn fetch(&self, key: K) {
        if !self.places.is_empty() {
            super::fetch_in(&self.places, hash(key) & (self.places.len() - 1));
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: K) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let value = self.places[self.find(key)].value;
        (value != NONE).then_some(value)
    }

    /// Sets the value of a key.
    pub(crate) fn set(&mut self, key: K, value: u32) {
        debug_assert!(value != NONE);
        // At most three quarters full: an empty place is what ends the search in `find`.
        if (self.len + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        let i = self.find(key);
        self.len += usize::from(self.places[i].value == NONE);
        self.places[i] = Slot { key, value };
    }

    /// The value of a key, 0 if it is new, to count up. It must not reach [`NONE`].
    pub(crate) fn counter(&mut self, key: K) -> &mut u32 {
        if (self.len + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        let i = self.find(key);
        if self.places[i].value == NONE {
            self.len += 1;
            self.places[i] = Slot { key, value: 0 };
        }
        &mut self.places[i].value
    }

    fn grow(&mut self) {
        let new = vec![Self::empty(); (self.places.len() * 2).max(16)];
        for place in std::mem::replace(&mut self.places, new) {
            if place.value != NONE {
                let i = self.find(place.key);
                self.places[i] = place;
            }
        }
    }

    /// Removes a key, giving its value.
    pub(crate) fn remove(&mut self, key: K) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let mask = self.places.len() - 1;
        let mut hole = self.find(key);
        let value = self.places[hole].value;
        if value == NONE {
            return None;
        }
        self.len -= 1;
        let mut i = hole;
        loop {
            i = (i + 1) & mask;
            if self.places[i].value == NONE {
                break;
            }
            let home = hash(self.places[i].key) & mask;
            // The entry may move into the hole unless its home lies between the hole and where it is.
            if (i.wrapping_sub(home) & mask) >= (i.wrapping_sub(hole) & mask) {
                self.places[hole] = self.places[i];
                hole = i;
            }
        }
        self.places[hole] = Self::empty();
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Whether a table does what a map does under random changes, with keys made of two small numbers.
    fn agrees<K: Words + Ord + std::fmt::Debug>(made: impl Fn(u64, u64) -> K) {
        let (mut table, mut map) = (Table::new(), BTreeMap::new());
        let mut rng = spec::Rng::new(1, "table", 0);
        for step in 0..200_000u32 {
            let key = made(rng.below(40), rng.below(40));
            match rng.below(3) {
                0 => assert_eq!(table.remove(key), map.remove(&key)),
                1 => assert_eq!(table.get(key), map.get(&key).copied()),
                _ => {
                    table.set(key, step);
                    map.insert(key, step);
                }
            }
            assert_eq!(table.len, map.len());
        }
    }

    #[test]
    fn agrees_with_an_ordered_map() {
        agrees(|a, b| (a, b));
        agrees(|a, b| a << 32 | b);
    }
}
