//! Memory that is used again and again, so that no call on the timed path allocates: requests, statuses, and the bytes behind
//! messages whose values do not matter.

use crate::abi::Abi;
use comm::{Buffer, Data, Op};

/// Landing places of receives start on cache lines, so that two receives do not share one.
const LINE: usize = 64;
/// Size and alignment of the unit of buffers: benchmarks are run on page-aligned memory.
const PAGE: usize = 4096;

/// Not zero: pages that were never written are one and the same page of the system, and would be faster than real data.
const FILL: Page = Page([0x5a; PAGE]);

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Page([u8; PAGE]);

/// Grows to the largest need that was seen, and never shrinks.
pub(crate) struct Scratch<A: Abi> {
    requests: Vec<A::H>,
    statuses: Vec<A::Status>,
    /// What is sent when the values do not matter. All sends share it: the library only reads it.
    source: Vec<Page>,
    /// Where is received what nobody looks at, one region for each receive: MPI forbids receives that overlap.
    landing: Vec<Page>,
}

/// What a set of operations needs.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Need {
    /// The longest send without values.
    pub source: usize,
    /// The sum of all receives without values, each rounded by [`region`].
    pub landing: usize,
}

impl Need {
    /// Of messages.
    #[inline]
    pub fn of(ops: &[Op<'_>]) -> Need {
        let mut need = Need::default();
        for op in ops {
            match op {
                Op::Send { data: Data::Len(n), .. } => need.source = need.source.max(*n),
                Op::Recv { into: Buffer::Len(n), .. } => need.landing += region(*n),
                _ => {}
            }
        }
        need
    }
}

/// The length of the landing region of a receive.
#[inline]
pub(crate) fn region(length: usize) -> usize {
    length.next_multiple_of(LINE)
}

impl<A: Abi> Scratch<A> {
    pub fn new() -> Scratch<A> {
        Scratch { requests: Vec::new(), statuses: Vec::new(), source: Vec::new(), landing: Vec::new() }
    }

    /// Makes room for `count` requests and statuses; `null` fills them.
    #[inline]
    pub fn requests(&mut self, count: usize, null: A::H) -> (*mut A::H, *mut A::Status) {
        if self.requests.len() < count {
            self.more_requests(count, null);
        }
        (self.requests.as_mut_ptr(), self.statuses.as_mut_ptr())
    }

    /// Makes room for bytes: the start of what is sent, and of where is received.
    #[inline]
    pub fn bytes(&mut self, need: Need) -> (*const u8, *mut u8) {
        if self.source.len() * PAGE < need.source {
            grow(&mut self.source, need.source);
        }
        if self.landing.len() * PAGE < need.landing {
            grow(&mut self.landing, need.landing);
        }
        (self.source.as_ptr().cast(), self.landing.as_mut_ptr().cast())
    }

    /// The status of operation `i` of the last set.
    #[inline]
    pub fn status(&self, i: usize) -> &A::Status {
        &self.statuses[i]
    }

    #[cold]
    #[inline(never)]
    fn more_requests(&mut self, count: usize, null: A::H) {
        self.requests.resize(count, null);
        self.statuses.resize(count, A::status());
    }
}

#[cold]
#[inline(never)]
fn grow(pages: &mut Vec<Page>, bytes: usize) {
    // The old contents mean nothing: free them first, and never hold both.
    *pages = Vec::new();
    *pages = vec![FILL; bytes.div_ceil(PAGE)];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Mpich;

    #[test]
    fn receives_add_up_on_cache_lines_and_sends_share() {
        let send = |n| Op::Send { to: 0, tag: 0, data: Data::Len(n) };
        let recv = |n| Op::Recv { from: 0, tag: 0, into: Buffer::Len(n) };
        let ops = [recv(1), recv(64), recv(0), recv(65), send(100), send(7), Op::send(0, 0, b"abc")];
        assert_eq!(Need::of(&ops), Need { source: 100, landing: 64 + 64 + 128 });
    }

    #[test]
    fn memory_grows_to_the_need_and_is_kept() {
        let mut scratch = Scratch::<Mpich>::new();
        let (_, first) = scratch.bytes(Need { source: 0, landing: 10_000 });
        let (source, second) = scratch.bytes(Need { source: 1, landing: 9_000 });
        assert_eq!(first, second);
        assert_eq!(scratch.landing.len(), 3);
        assert_eq!((source.addr() % PAGE, second.addr() % PAGE), (0, 0));
        scratch.requests(3, 0);
        scratch.requests(2, 0);
        assert_eq!((scratch.requests.len(), scratch.statuses.len()), (3, 3));
    }
}
