//! The behaviours every machine is tested against.
