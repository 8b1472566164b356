//! Self-contained pages: no network, no fonts, no libraries; light, dark and on paper.

mod history;
mod page;
mod policy;
mod run;

pub use crate::facts::command;
pub use history::page as history;
pub use run::{page, page_beside};
