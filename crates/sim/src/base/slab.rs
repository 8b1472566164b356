//! A slab: values in one vector with a free list, named by `u32`. Nothing is allocated per packet once it has grown.

use super::event::INDEX_BITS;

/// No index: the end of a list, or nothing there.
pub(crate) const NONE: u32 = u32::MAX;

/// Values in one vector; freed places are used again, last freed first, so that hot memory stays hot.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Slab<T> {
        Slab { items: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(i) = self.free.pop() {
            self.items[i as usize] = value;
            return i;
        }
        let i = self.items.len() as u32;
        assert!(i < 1 << INDEX_BITS, "more live objects than an event can name");
        self.items.push(value);
        i
    }

    /// Frees a place. The value stays until the place is used again.
    #[inline]
    pub(crate) fn free(&mut self, i: u32) {
        self.free.push(i);
    }

    /// Asks for the lines of a place that will be looked at soon.
    #[inline(always)]
    pub(crate) fn fetch(&self, i: u32) {
        fetch_in(&self.items, i as usize);
    }
}

/// Asks for the lines of an item of a list, if there is one of that number.
#[inline(always)]
pub(crate) fn fetch_in<T>(list: &[T], i: usize) {
    let at = (list.as_ptr() as usize).wrapping_add(i.wrapping_mul(size_of::<T>()));
    let mut line = 0;
    while line < size_of::<T>() {
        fiber::fetch(at.wrapping_add(line));
        line += 64;
    }
}

impl<T: Default> Slab<T> {
    /// Takes a value out and frees its place.
    #[inline]
    pub(crate) fn take(&mut self, i: u32) -> T {
        self.free.push(i);
        std::mem::take(&mut self.items[i as usize])
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, i: u32) -> &T {
        &self.items[i as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, i: u32) -> &mut T {
        &mut self.items[i as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_places_are_used_again() {
        let mut slab = Slab::new();
        let a = slab.insert(String::from("a"));
        let b = slab.insert(String::from("b"));
        assert_eq!(slab.take(a), "a");
        assert_eq!(slab.insert(String::from("c")), a);
        assert_eq!((slab[a].as_str(), slab[b].as_str()), ("c", "b"));
    }
}
