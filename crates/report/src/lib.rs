//! Views of run records and the formats that write them.
//!
//! A [`View`] finds what belongs together in a record; [`subjects`] say what follows from it, as sections and as figures of merit,
//! each number derived once; formats only write that. Nothing here measures, communicates or reads a clock, so any record can be
//! reported again at any time.

pub mod compare;
pub mod facts;
pub mod formats;
pub mod grid;
pub mod html;
pub mod known;
pub mod merit;
pub mod plain;
mod runs;
pub mod section;
pub mod subjects;
pub mod svg;
pub mod table;
pub mod view;

pub use formats::{DataFile, FORMATS, Format, data_files, format, write_all};
pub use merit::Merit;
pub use subjects::{SUBJECTS, Subject, contention, has_suspects, maxrate, merits};
pub use view::View;
