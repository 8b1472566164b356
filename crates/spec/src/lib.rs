//! The words everything else is written in: units, parameters, cards, work and seeds.
//!
//! Nothing here knows of machines, kernels or files, and nothing of ours is below it.

pub mod card;
pub mod date;
pub mod hosts;
pub mod near;
pub mod seed;
pub mod units;
pub mod work;

pub use card::{Card, Kind, Param, ParamError, Params, ReadParams};
pub use seed::{Rng, permutation};
pub use units::{
    ParseUnitError, Rate, Time, about_bytes, about_seconds, parse_bytes, parse_rate, parse_time, show_bytes,
};
pub use work::Work;
