//! The slab: one mapping, cut into stacks.

use corosensei::stack::{MIN_STACK_SIZE, STACK_ALIGNMENT, Stack, StackPointer};
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};
use std::io;
use std::ptr::{NonNull, null_mut};

/// Linux's number of the advice; older headers lack its name.
const MADV_GUARD_INSTALL: i32 = 102;

/// The unit stacks are cut in. Larger pages of other architectures only make the red-zone check touch more.
const PAGE: usize = 4096;
/// The lowest part of every stack, which no frame may reach: wide enough that one deep call lands in it rather than beyond it.
pub(crate) const RED_ZONE: usize = 4 * PAGE;
/// The smallest stack: the red zone, and room for a kernel with its formatting and a panic message.
pub const MIN_STACK: usize = 64 * 1024;
/// The largest stack; 130,000 of them still fit the 47-bit address space.
pub const MAX_STACK: usize = 64 * 1024 * 1024;

/// Stacks begin at different places of their highest page. All at the same, the hot ends of all stacks would compete for the
/// one cache set in 64 that their common offset in a page selects.
const COLORS: usize = 32;
const COLOR: usize = PAGE / COLORS;

/// Each guard page made by `mprotect` divides the mapping once more; so many stacks may have one, a quarter of what Linux allows a
/// process by default. Who runs more on an old kernel has the red zone alone.
const MOST_DIVISIONS: usize = 16_000;

/// How the lowest page of a stack is made one that nobody can touch.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Guard {
    /// By a mark in the page table, which divides nothing: Linux 6.13 and later.
    Mark,
    /// By a mapping of its own.
    Protect,
    /// There is none.
    Missing,
}

/// One mapping that holds all stacks, and which of them are free.
pub(crate) struct Slab {
    memory: NonNull<u8>,
    bytes: usize,
    stack: usize,
    fresh: usize,
    free: Vec<SlabStack>,
    guard: Guard,
}

/// One stack. Owned by its coroutine; valid while the slab lives.
pub(crate) struct SlabStack {
    limit: StackPointer,
    base: StackPointer,
}

// SAFETY: the memory from `limit` to `base` is mapped readable and writable, belongs to this stack alone (each piece is handed
// out once until it is given back), is aligned to COLOR, which is more than STACK_ALIGNMENT, and larger than MIN_STACK_SIZE.
// Its lowest page is a guard page where the kernel gives one; the crate's documentation says where it does not, and what stands in.
unsafe impl Stack for SlabStack {
    fn base(&self) -> StackPointer {
        self.base
    }
    fn limit(&self) -> StackPointer {
        self.limit
    }
}

impl SlabStack {
    /// The lowest address.
    pub(crate) fn limit_address(&self) -> usize {
        self.limit.get()
    }

    /// The address above the highest one.
    pub(crate) fn base_address(&self) -> usize {
        self.base.get()
    }
}

impl Slab {
    /// Reserves address space for `count` stacks of `stack` bytes, at least [`MIN_STACK`] each.
    pub(crate) fn new(count: usize, stack: usize) -> io::Result<Slab> {
        const { assert!(MIN_STACK >= MIN_STACK_SIZE + RED_ZONE + PAGE && COLOR.is_multiple_of(STACK_ALIGNMENT)) };
        let stack = stack.clamp(MIN_STACK, MAX_STACK).next_multiple_of(PAGE);
        let bytes = stack * count.max(1);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice overlaps nothing of ours.
        let memory = unsafe { mmap_anonymous(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags) }?;
        let memory = NonNull::new(memory.cast::<u8>()).ok_or_else(|| io::Error::other("mmap returned null"))?;
        // Huge pages would make every stack cost its full size. A kernel without them refuses the advice, which is as good.
        // SAFETY: the range is the mapping just made, and this advice changes no contents.
        let _ = unsafe { madvise(memory.as_ptr().cast(), bytes, Advice::LinuxNoHugepage) };
        Ok(Slab { memory, bytes, stack, fresh: 0, free: Vec::new(), guard: Guard::Mark })
    }

    /// Makes the lowest page of a fresh stack a guard page, by the best way that works here.
    fn protect(&mut self, limit: usize) {
        let page = limit as *mut std::ffi::c_void;
        if self.guard == Guard::Mark {
            // SAFETY: the page is the lowest of a stack that nobody has had yet, inside our mapping; it holds nothing.
            if unsafe { libc::madvise(page, PAGE, MADV_GUARD_INSTALL) } == 0 {
                return;
            }
            self.guard = Guard::Protect;
        }
        if self.guard == Guard::Protect {
            // SAFETY: as above.
            let done = unsafe { mprotect(page, PAGE, MprotectFlags::empty()) };
            if done.is_err() || self.fresh >= MOST_DIVISIONS {
                self.guard = Guard::Missing;
            }
        }
    }

    /// As on a kernel before 6.13.
    #[cfg(test)]
    pub(crate) fn age(&mut self) {
        self.guard = Guard::Protect;
    }

    /// Whether every stack handed out so far has a guard page.
    #[cfg(test)]
    pub(crate) fn guarded(&self) -> bool {
        self.guard != Guard::Missing
    }

    /// A stack that nobody uses.
    pub(crate) fn take(&mut self) -> Option<SlabStack> {
        if let Some(stack) = self.free.pop() {
            return Some(stack);
        }
        let offset = self.fresh * self.stack;
        (offset + self.stack <= self.bytes).then(|| {
            self.fresh += 1;
            let limit = self.memory.as_ptr() as usize + offset;
            self.protect(limit);
            let pointer = |address| StackPointer::new(address).expect("a mapping is not at address zero");
            let color = self.fresh % COLORS * COLOR;
            SlabStack { limit: pointer(limit), base: pointer(limit + self.stack - color) }
        })
    }

    /// Takes a stack back. One whose red zone is spoilt must not serve again.
    pub(crate) fn give_back(&mut self, stack: SlabStack) {
        if self.red_zone_intact(stack.limit_address()) {
            self.free.push(stack);
        }
    }

    /// Whether the top page of a stack's red zone is as the kernel made it. Reading an untouched page takes no memory.
    pub(crate) fn red_zone_intact(&self, limit: usize) -> bool {
        let offset = limit - self.memory.as_ptr() as usize + RED_ZONE - PAGE;
        assert!(offset + PAGE <= self.bytes, "not a stack of this slab");
        // SAFETY: the range is inside the mapping, readable, initialised (zero-filled by the kernel), and no fiber runs now,
        // because fibers of this slab run only while `Fibers::resume` has the slab borrowed.
        let page = unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(offset).cast::<u64>(), PAGE / 8) };
        page.iter().all(|&word| word == 0)
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and `Fibers` drops its coroutines before its slab.
        let unmapped = unsafe { munmap(self.memory.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "munmap of our own mapping");
    }
}
