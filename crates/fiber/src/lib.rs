//! Stacks for many coroutines from one mapping.
