//! The machine file: what can be written, what it means, and the files that come with the program.
//!
//! Not for building a machine of it: that is `net/`.

mod config;
mod faults;
mod import;
mod knobs;
mod presets;
mod train;

pub use config::{
    Allocation, Apart, CARDS, Config, ConfigError, Full, HostConfig, Long, NicConfig, ProtocolConfig, Queueing,
    Sharing, SwitchConfig,
};
pub(crate) use config::{NO_LIMIT, WAYS, texts};
pub(crate) use faults::absurd;
pub use faults::{Fault, FaultSite};
pub use import::{Imported, Joined, import};
pub use presets::{BUILTIN, builtin};
