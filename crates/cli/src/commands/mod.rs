//! One file per command.

pub mod app;
pub mod compare;
pub mod contention;
pub mod doctor;
pub mod fit;
pub mod generate;
pub mod history;
pub mod launch;
pub mod list;
pub mod machine;
pub mod report;
pub mod run;
pub mod testbed;
pub mod tune;
