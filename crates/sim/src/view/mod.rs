//! What people see of a machine: its numbers, a picture, and a film of a run.
//!
//! Nothing here changes a run; it only looks on.

mod assumed;
mod bisection;
mod describe;
mod draw;
mod film;
mod twin;

pub use assumed::{Uncertain, assumed, moved, uncertain};
pub use describe::{Cables, Description, describe};
pub use draw::draw;
pub use film::{Bundle, Film, FilmBox, Slice};
pub(crate) use film::{Cut, Reel, Scene};
pub use twin::{Choice, Number, Remarks, choices, numbers, rewritten};
