//! Windows: the memory of ranks that puts and gets reach.

use crate::base::{Slab, Table};

/// A window of one rank: the rank's number in its part, the communicator, how many windows that had before.
#[derive(Clone, Copy)]
pub(crate) struct WindowName {
    pub(crate) rank: u32,
    pub(crate) context: u64,
    pub(crate) number: u32,
}

impl WindowName {
    fn key(self) -> (u64, u64) {
        (self.context, u64::from(self.rank) << 32 | u64::from(self.number))
    }
}

/// A rank's window: its length, and its bytes once any mattered.
struct Memory {
    len: usize,
    bytes: Vec<u8>,
}

/// All windows of a part.
pub(crate) struct Windows {
    list: Slab<Memory>,
    of: Table,
}

impl Windows {
    pub(super) const fn new() -> Windows {
        Windows { list: Slab::new(), of: Table::new() }
    }

    pub(crate) fn open(&mut self, name: WindowName, len: usize) {
        let w = self.list.insert(Memory { len, bytes: Vec::new() });
        self.of.set(name.key(), w);
    }

    pub(crate) fn close(&mut self, name: WindowName) {
        if let Some(w) = self.of.remove(name.key()) {
            self.list[w].bytes = Vec::new();
            self.list.free(w);
        }
    }

    /// Writes into a window; false if there is none or the range is not inside.
    pub(crate) fn write(&mut self, name: WindowName, at: usize, data: &[u8]) -> bool {
        let Some(w) = self.of.get(name.key()) else { return false };
        let memory = &mut self.list[w];
        if memory.bytes.is_empty() {
            memory.bytes.resize(memory.len, 0);
        }
        let range = at..at.saturating_add(data.len());
        memory.bytes.get_mut(range).map(|place| place.copy_from_slice(data)).is_some()
    }

    /// Reads from a window; `None` if there is none or the range is not inside.
    pub(crate) fn read(&self, name: WindowName, at: usize, len: usize) -> Option<Box<[u8]>> {
        let memory = &self.list[self.of.get(name.key())?];
        let end = at.checked_add(len).filter(|&end| end <= memory.len)?;
        // Nothing has been written yet, and a window begins with zeros.
        Some(if memory.bytes.is_empty() { vec![0; len].into() } else { memory.bytes[at..end].into() })
    }
}
