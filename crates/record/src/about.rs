//! What a phase is about. Readers ask this type; a phase's name is a label for people and may be anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a phase measures, and under which circumstances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum About {
    /// A test with the machine to itself.
    Alone {
        /// Which test; a loaded phase of the same test is its counterpart.
        test: String,
    },
    /// The same test while other jobs load the network.
    Loaded {
        /// Which test.
        test: String,
        /// Who loads.
        by: Load,
    },
    /// A congestor measured alone, to be compared with itself under way.
    Baseline {
        /// Which congestor.
        congestor: String,
    },
    /// Load without a measurement: other programs are measured beside it.
    Load,
    /// Nothing happens, for a while.
    Rest {
        /// Rests are counted from 1.
        index: u32,
    },
    /// One of several measurements of a test over time.
    Series {
        /// Which test.
        test: String,
        /// Counted from 1.
        index: u32,
    },
    /// One point of a sweep over pairs of ranks (max-rate).
    Point {
        /// Which ranks are paired: `near`, `inside`, ..
        class: String,
        /// What the pairs do.
        pattern: PairPattern,
        /// Bytes of a message.
        bytes: u64,
        /// Pairs at the same time.
        pairs: u32,
    },
    /// Flows of a contention graph that start together, one job each.
    Graph {
        /// The graph's name.
        graph: String,
        /// What the graph is for.
        purpose: Purpose,
        /// What of its flows is measured.
        flows: FlowMeasure,
    },
    /// A test of a suite that runs each in several modes (HPC Challenge), or of a plan written by hand.
    Test {
        /// Who takes part; none if the suite has no modes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<TestMode>,
        /// Which test.
        test: String,
        /// Counted from 1 if the test runs with several sets of parameters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variant: Option<u32>,
    },
}

/// Who loads the network while a test is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// All congestors of the run together.
    All,
    /// One of them, on all nodes that load.
    Only(String),
    /// A mixture that a search tries, counted from 1.
    Candidate(u32),
}

/// What pairs of ranks do in one point of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PairPattern {
    /// One message there, one back (Gropp et al.).
    Pingpong,
    /// Messages one way.
    Stream,
    /// Messages both ways at once.
    Duplex,
    /// The size from which on a send waits for its receiver.
    EagerLimit,
    /// Parametrised round trips, for LogGP.
    RoundTrip {
        /// Messages of a trip.
        messages: u32,
        /// Whether the sender pauses between them.
        spaced: bool,
    },
    /// So many messages at once: the search through the receive queue.
    Queue {
        /// How many.
        messages: u32,
        /// Whether they are received in the reverse order.
        reverse: bool,
    },
    /// Messages beside work.
    Overlap {
        /// What of it.
        part: OverlapPart,
    },
}

/// What is timed in order to see whether messages move while a processor works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverlapPart {
    /// The messages alone.
    Messages,
    /// The work alone.
    Work,
    /// Both at once.
    Both,
}

impl OverlapPart {
    /// All of them.
    pub const ALL: [OverlapPart; 3] = [OverlapPart::Messages, OverlapPart::Work, OverlapPart::Both];

    /// Its word, in names of phases and in the parameter of the kernel.
    pub const fn word(self) -> &'static str {
        match self {
            OverlapPart::Messages => "messages",
            OverlapPart::Work => "work",
            OverlapPart::Both => "both",
        }
    }
}

/// What a contention graph is measured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// One flow alone: what others are compared with.
    Alone,
    /// A rule set's parameters are fitted to it.
    Calibrate,
    /// A table of penalties is learned from it.
    Learn,
    /// Asked for: shown, derived from, or predicted and scored.
    Score,
}

/// What of a graph's flows is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowMeasure {
    /// When each ends, in this repetition, counted from 0.
    Times {
        /// Which repetition.
        repeat: u32,
    },
    /// Their steady rates.
    Rates,
}

/// Who takes part in a test of HPC Challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TestMode {
    /// One rank; the others wait.
    Single,
    /// Every rank for itself, at the same time ("embarrassingly parallel").
    Star,
    /// All ranks together.
    Mpi,
}

impl TestMode {
    /// All of them.
    pub const ALL: [TestMode; 3] = [TestMode::Single, TestMode::Star, TestMode::Mpi];

    /// Its word on the command line and in figures of merit.
    pub fn word(self) -> &'static str {
        match self {
            TestMode::Single => "single",
            TestMode::Star => "star",
            TestMode::Mpi => "mpi",
        }
    }
}

/// The label that a phase gets where nobody chose another.
impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            About::Alone { test } => write!(f, "isolated/{test}"),
            About::Loaded { test, by: Load::All } => write!(f, "loaded/{test}"),
            About::Loaded { test, by: Load::Only(congestor) } => write!(f, "loaded-by-{congestor}/{test}"),
            About::Loaded { by: Load::Candidate(n), .. } => write!(f, "candidate-{n:02}"),
            About::Baseline { congestor } => write!(f, "congestor/{congestor}"),
            About::Load => write!(f, "congest"),
            About::Rest { index } => write!(f, "rest-{index:04}"),
            About::Series { test, index } => write!(f, "ambient-{index:04}/{test}"),
            About::Point { class, pattern, bytes, pairs } => match pattern {
                PairPattern::Pingpong => write!(f, "{class}/pingpong/n={bytes}/k={pairs}"),
                PairPattern::Stream => write!(f, "{class}/stream/n={bytes}/k={pairs}"),
                PairPattern::Duplex => write!(f, "{class}/duplex/n={bytes}/k={pairs}"),
                PairPattern::EagerLimit => write!(f, "{class}/probe"),
                PairPattern::RoundTrip { messages: 1, .. } => write!(f, "{class}/loggp/n={bytes}/one"),
                PairPattern::RoundTrip { spaced: false, .. } => write!(f, "{class}/loggp/n={bytes}/many"),
                PairPattern::RoundTrip { spaced: true, .. } => write!(f, "{class}/loggp/n={bytes}/spaced"),
                PairPattern::Queue { messages, reverse } => {
                    write!(f, "{class}/queue/m={messages}/{}", if *reverse { "reverse" } else { "same" })
                }
                PairPattern::Overlap { part } => write!(f, "{class}/overlap/n={bytes}/k={pairs}/{}", part.word()),
            },
            About::Graph { graph, flows: FlowMeasure::Times { repeat }, .. } => write!(f, "{graph}#{repeat}"),
            About::Graph { graph, flows: FlowMeasure::Rates, .. } => write!(f, "{graph}#rate"),
            About::Test { mode, test, variant } => {
                if let Some(mode) = mode {
                    write!(f, "{}/", mode.word())?;
                }
                write!(f, "{test}")?;
                variant.map_or(Ok(()), |n| write!(f, "/{n}"))
            }
        }
    }
}

impl About {
    /// The part of a figure of merit's name that says which phase it is of: stable whatever the phase is called.
    pub fn key(&self) -> String {
        self.to_string().replace('/', ".")
    }

    /// Whether a phase of this kind needs a measured job.
    pub fn measures(&self) -> bool {
        *self != About::Load
    }
}
