//! Pictures as SVG text: scales with good ticks, frames, and the marks that reports need.
//!
//! Colours are names of classes (`s0`, `s1`, ..., `ref`), not values, so one picture serves light and dark pages and paper;
//! [`STYLE`] gives them values. Every picture has a title and a description for readers who hear it. Pictures are narrow on
//! purpose: at a phone's width they are shown at full size, and a desktop shows several side by side.

mod dates;
pub mod density;
mod draw;
pub mod frame;
pub mod graph;
pub mod heat;
pub mod kiviat;
pub mod map;
pub mod network;
pub mod rows;
pub mod scale;
pub mod tail;

pub use draw::{Anchor, Svg, escape, text_width};
pub use frame::Frame;
pub use rows::Rows;
pub use scale::Scale;

/// The classes that pictures use, for a page or for a picture on its own.
pub const STYLE: &str = include_str!("style.css");

/// The width of every picture in user units; text is 11 of them high.
pub const WIDTH: f64 = 380.0;
