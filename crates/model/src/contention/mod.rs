//! Contention graphs: nodes that send flows to each other at once, and by which factor each flow is slowed down by the
//! others (Martinasso and Mehaut, Euro-Par 2011).
//!
//! | module | what it does |
//! |---|---|
//! | [`graph`], [`parse`] | graphs, and the files they are written in |
//! | [`published`] | the paper's graphs and those that tell its readings apart |
//! | [`canonical`], [`random`] | graphs up to isomorphism: canonical form, random and complete lists |
//! | [`rules`] | the table [`rules::RULES`] of penalty rule sets |
//! | [`traffic`], [`solver`] | the flows under way, and when each one ends |
//! | [`mod@derive`] | penalties from measured completion times or steady rates |
//! | [`validate`], [`learned`] | which rule set is right for a network, and a table learned from it |
//! | [`join`] | rates of the max-rate model as capacities |
//! | [`recorded`], [`campaign`] | what a record holds, and how rule sets, calibrated ones included, do on it |
//!
//! The penalty rho of a flow is at least 1; its rate is 1/(alpha rho) with alpha the seconds per byte of a flow alone. A node's
//! sending and receiving do not disturb each other (full duplex).

pub mod agenda;
pub mod answers;
pub mod campaign;
pub mod canonical;
pub mod derive;
pub mod graph;
pub mod join;
pub mod learned;
pub mod parse;
pub mod published;
pub mod random;
pub mod recorded;
pub mod rules;
pub mod solver;
pub mod traffic;
pub mod validate;

pub use graph::{Flow, Graph, GraphError};
pub use rules::{RULES, RuleSet, Rules};
pub use solver::{Options, Solution, solve};
