//! The little numerical analysis that the models need, written out so that every result can be traced to a formula here:
//! linear least squares, Levenberg-Marquardt, minimisation on an interval, and order statistics.
//!
//! Not a general library: problems have at most a dozen unknowns, so everything is dense and allocates freely.

pub mod least_squares;
pub mod levenberg;
pub mod search;
pub mod stats;
