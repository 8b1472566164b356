//! Memory that is used again and again, so that no call on the timed path allocates: requests, statuses, and the bytes behind
//! messages whose values do not matter.

use crate::abi::Abi;

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
    source: Pages,
    /// Where is received what nobody looks at, one region for each receive: MPI forbids receives that overlap.
    landing: Pages,
    /// How much of the landing place the set of operations uses.
    landed: usize,
    /// What operations under way were started with before there was more; kept until they are complete.
    outgrown: Vec<Pages>,
}

/// Memory that starts on a page.
struct Pages {
    pages: Vec<Page>,
    bytes: usize,
}

impl Pages {
    const NONE: Pages = Pages { pages: Vec::new(), bytes: 0 };

    fn new(bytes: usize) -> Pages {
        let pages = vec![FILL; bytes.div_ceil(PAGE)];
        let bytes = pages.len() * PAGE;
        Pages { pages, bytes }
    }
}

/// The length of the landing region of a receive.
#[inline]
fn region(length: usize) -> usize {
    length.next_multiple_of(LINE)
}

impl<A: Abi> Scratch<A> {
    pub fn new() -> Scratch<A> {
        let (source, landing) = (Pages::NONE, Pages::NONE);
        Scratch { requests: Vec::new(), statuses: Vec::new(), source, landing, landed: 0, outgrown: Vec::new() }
    }

    /// Begins a set of operations, the last set being complete: room for `count` requests and statuses; `null` fills them.
    #[inline]
    pub fn begin(&mut self, count: usize, null: A::H) -> *mut A::H {
        self.landed = 0;
        if self.requests.len() < count {
            self.more_requests(count, null);
        }
        self.requests.as_mut_ptr()
    }

    /// How many requests there is room for.
    pub fn room(&self) -> usize {
        self.requests.len()
    }

    /// Begins a set of operations that there is room for.
    #[inline]
    pub fn at_hand(&mut self) -> *mut A::H {
        self.landed = 0;
        self.requests.as_mut_ptr()
    }

    /// The requests and statuses of the set.
    #[inline]
    pub fn requests(&mut self) -> (*mut A::H, *mut A::Status) {
        (self.requests.as_mut_ptr(), self.statuses.as_mut_ptr())
    }

    /// Bytes to send, as many as are asked for. They stay where they are until the end of the set.
    #[inline]
    pub fn source(&mut self, length: usize) -> *const u8 {
        if length > self.source.bytes {
            self.more_source(length);
        }
        self.source.pages.as_ptr().cast()
    }

    /// Room for a receive that no other of the set has. It stays where it is until the end of the set.
    #[inline]
    pub fn landing(&mut self, length: usize) -> *mut u8 {
        let start = self.landed;
        let end = start + region(length);
        if end > self.landing.bytes {
            return self.more_landing(length);
        }
        self.landed = end;
        // SAFETY: the region ends inside of the pages.
        unsafe { self.landing.pages.as_mut_ptr().cast::<u8>().add(start) }
    }

    /// The status of operation `i` of the set.
    pub fn status(&self, i: usize) -> &A::Status {
        &self.statuses[i]
    }

    #[cold]
    #[inline(never)]
    fn more_requests(&mut self, count: usize, null: A::H) {
        self.requests.resize(count, null);
        self.statuses.resize(count, A::status());
    }

    #[cold]
    #[inline(never)]
    fn more_source(&mut self, length: usize) {
        let old = std::mem::replace(&mut self.source, Pages::new(length));
        self.retire(old);
    }

    /// Twice as much, so that a set of many receives grows a few times only.
    #[cold]
    #[inline(never)]
    fn more_landing(&mut self, length: usize) -> *mut u8 {
        let bytes = (self.landing.bytes + region(length)).max(2 * self.landed);
        let old = std::mem::replace(&mut self.landing, Pages::new(bytes));
        self.retire(old);
        // The new memory begins with this region; those of the set before it stay in the old memory.
        self.landed = region(length);
        self.landing.pages.as_mut_ptr().cast()
    }

    /// Keeps memory that operations under way may use, and frees it after them.
    fn retire(&mut self, old: Pages) {
        if old.bytes > 0 {
            self.outgrown.push(old);
        }
    }

    /// The set is complete: frees what only it has used. Cheap if there is nothing.
    #[inline]
    pub fn end(&mut self) {
        if !self.outgrown.is_empty() {
            self.outgrown.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Mpich;

    #[test]
    fn regions_do_not_overlap_and_stay_in_place_while_memory_grows() {
        let mut scratch = Scratch::<Mpich>::new();
        scratch.begin(0, 0);
        let lengths = [1, 64, 0, 5000, 65, 100_000, 3];
        let starts: Vec<*mut u8> = lengths.iter().map(|&length| scratch.landing(length)).collect();
        for (i, (&start, &length)) in starts.iter().zip(&lengths).enumerate() {
            // SAFETY: the regions are alive until the end of the set; a wrong one shows under memory checkers and below.
            unsafe { start.write_bytes(i as u8, length) };
        }
        for (i, (&start, &length)) in starts.iter().zip(&lengths).enumerate() {
            // SAFETY: as above.
            let bytes = unsafe { std::slice::from_raw_parts(start, length) };
            assert!(bytes.iter().all(|&byte| byte == i as u8), "region {i}");
            assert_eq!(start.addr() % LINE, 0);
        }
        assert!(!scratch.outgrown.is_empty());
        scratch.end();
        assert!(scratch.outgrown.is_empty());
    }

    #[test]
    fn memory_is_kept_for_the_next_set() {
        let mut scratch = Scratch::<Mpich>::new();
        scratch.begin(3, 0);
        let first = scratch.landing(10_000);
        let source = scratch.source(1);
        scratch.end();
        scratch.begin(2, 0);
        assert_eq!((scratch.landing(9_000), scratch.source(PAGE)), (first, source));
        assert_eq!((source.addr() % PAGE, first.addr() % PAGE), (0, 0));
        assert_eq!((scratch.requests.len(), scratch.statuses.len()), (3, 3));
    }
}
