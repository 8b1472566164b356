//! Views of run records and the formats that write them.
//!
//! A [`View`] holds every number a report shows, derived once from a record; formats only write it. Nothing here measures,
//! communicates or reads a clock, so any record can be reported again at any time.

pub mod compare;
pub mod contention;
pub mod formats;
pub mod grid;
mod hpcc;
pub mod html;
pub mod maxrate;
pub mod merits;
pub mod reference;
pub mod section;
pub mod svg;
pub mod table;
pub mod view;

pub use formats::{FORMATS, Format, format, write_all};
pub use merits::{Merit, merits};
pub use view::{Outcome, View};
