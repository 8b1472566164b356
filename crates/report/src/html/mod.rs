//! Self-contained pages: no network, no fonts, no libraries; light, dark and on paper.

mod comparison;
mod history;
mod page;
mod policy;
mod run;
mod twin;

pub use crate::facts::command;
pub use comparison::page as comparison;
pub use history::page as history;
pub use run::{page, page_beside};
pub use twin::{Beside, page as twin};
