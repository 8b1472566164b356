//! The machine: MPI from its start to its end.

use crate::abi::{Abi, Kind, Mpich, OpenMpi, Standard, THREAD_NAMES};
use crate::abort::{Running, arm, disarm, end_by};
use crate::begin::begin_by;
use crate::communicator::Communicator;
use crate::context::Context;
use crate::find::Found;
use crate::launch::{Launch, launched};
use crate::node::place;
use crate::table::Api;
use crate::{MpiError, abort, yardstick};
use comm::{Comm, MachineError};
use std::ffi::{CStr, c_int};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::time::Instant;

/// Room for a host name; the largest MPI_MAX_PROCESSOR_NAME is 256.
const HOST_ROOM: usize = 1024;

/// What is known about the running machine, for the record.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What the library says about itself, on one line.
    pub library: String,
    /// The version of the MPI standard it implements.
    pub standard: (i32, i32),
    /// The binary interface it speaks.
    pub abi: Kind,
    /// Its file.
    pub path: PathBuf,
    /// How it was found.
    pub how: String,
    /// Who launched the job, if the environment shows it.
    pub launch: Option<Launch>,
    /// The thread level that the library grants: `single`, `funneled`, `serialized` or `multiple`.
    pub threads: &'static str,
    /// Whether messages may be longer than 2 GiB.
    pub large_counts: bool,
    /// This process's host name, as the library tells it.
    pub host: String,
    /// This process's rank in the world.
    pub rank: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// This process's node, numbered by the lowest rank on it.
    pub node: usize,
    /// The number of nodes: sets of ranks that can share memory.
    pub nodes: usize,
    /// What is strange about the placement; the same on all ranks.
    pub warnings: Vec<String>,
}

/// The running MPI. It ends with this value (MPI_Finalize), so drop it before the process exits.
pub struct MpiMachine {
    // The session is dropped with the machine; facts stay readable until then.
    session: Box<dyn Session>,
    facts: Facts,
}

impl MpiMachine {
    /// Starts MPI. Once in a process; all ranks must do it. From now on an error of MPI's or a panic on one rank ends the
    /// job on all of them.
    pub fn start(found: &Found) -> Result<MpiMachine, MpiError> {
        match found.kind {
            Kind::OpenMpi => start::<OpenMpi>(found),
            Kind::Mpich => start::<Mpich>(found),
            Kind::Standard => start::<Standard>(found),
        }
    }

    /// What is known about it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// A bare loop over MPI calls, to compare the cost of [`Comm::exchange`] with: `steps` times receive from both
    /// neighbours in the ring of all ranks and send to both, `bytes` a message.
    pub fn bare_ring(&self, steps: u64, bytes: usize) {
        self.session.bare_ring(steps, bytes, self.facts.rank, self.facts.ranks);
    }
}

impl comm::Machine for MpiMachine {
    fn run(&self, body: &(dyn Fn(&dyn Comm) + Sync)) -> Result<(), MachineError> {
        self.session.run(body);
        Ok(())
    }
}

/// A machine without its binary interface.
trait Session {
    fn run(&self, body: &(dyn Fn(&dyn Comm) + Sync));
    fn bare_ring(&self, steps: u64, bytes: usize, rank: usize, ranks: usize);
}

/// MPI between its start and its end.
struct Started<A: Abi> {
    context: Context<A>,
}

impl<A: Abi> Session for Started<A> {
    fn run(&self, body: &(dyn Fn(&dyn Comm) + Sync)) {
        body(&Communicator::new(&self.context, self.context.api.handles.world, false));
    }
    fn bare_ring(&self, steps: u64, bytes: usize, rank: usize, ranks: usize) {
        yardstick::ring(&self.context, steps, bytes, rank, ranks);
    }
}

impl<A: Abi> Drop for Started<A> {
    fn drop(&mut self) {
        // SAFETY: MPI is running; communicators and windows borrow the context, so none is left.
        let code = end_by(|| unsafe { (self.context.api.finalize)() });
        // From here on there is no MPI to abort with.
        disarm();
        if code != 0 {
            abort(1, &format!("MPI_Finalize failed with code {code}"));
        }
    }
}

/// See [`MpiMachine::start`].
fn start<A: Abi>(found: &Found) -> Result<MpiMachine, MpiError> {
    // SAFETY: `find` has looked which binary interface the library speaks, and leaks it.
    let api: &'static Api<A> = Box::leak(Box::new(unsafe { Api::load(found.library) }?));
    let check = |call: &'static str, code: c_int| match code {
        0 => Ok(()),
        _ => Err(MpiError::Start { call, library: found.version.clone(), text: api.error_text(code) }),
    };
    let granted = init(api, &check)?;
    #[expect(clippy::disallowed_methods, reason = "this is the real machine's clock")]
    let zero = Instant::now();
    // The default handler would end the job without our reason. What is split from these inherits the handler.
    for handle in [api.handles.world, api.handles.own] {
        // SAFETY: MPI is running, and both are predefined communicators.
        check("MPI_Comm_set_errhandler", unsafe { (api.comm_set_errhandler)(handle, api.handles.errors_return) })?;
    }
    let (mut rank, mut ranks) = (0, 0);
    // SAFETY: the world is valid.
    check("MPI_Comm_rank", unsafe { (api.comm_rank)(api.handles.world, &mut rank) })?;
    // SAFETY: the world is valid.
    check("MPI_Comm_size", unsafe { (api.comm_size)(api.handles.world, &mut ranks) })?;
    let launch = launched();
    if let Some(error) = wrong_library(launch.as_ref(), ranks as usize, found) {
        // SAFETY: MPI is running, alone in this process.
        unsafe { (api.finalize)() };
        return Err(error);
    }
    let host = host(api);
    // Not before: the errors above go back to the caller instead of ending the job.
    arm(Running {
        who: format!("rank {rank} of {ranks} on {host}"),
        // SAFETY: the world is valid while the job is armed.
        end: Box::new(move |code| _ = unsafe { (api.abort)(api.handles.world, code) }),
    });
    let mut context = Context::new(api, zero, window_hint(found));
    let placement = place(&context, &host);
    context.node = placement.node;
    let threads = A::THREADS.iter().position(|&level| level == granted).map_or("unknown", |i| THREAD_NAMES[i]);
    let facts = Facts {
        library: found.version.clone(),
        standard: found.standard,
        abi: found.kind,
        path: found.path.clone(),
        how: found.how.clone(),
        launch,
        threads,
        large_counts: api.isend_c.is_some(),
        host,
        rank: rank as usize,
        ranks: ranks as usize,
        node: placement.node,
        nodes: placement.nodes,
        warnings: placement.warnings,
    };
    Ok(MpiMachine { session: Box::new(Started { context }), facts })
}

/// Starts MPI and gives the level of threads that it grants.
fn init<A: Abi>(api: &Api<A>, check: &dyn Fn(&'static str, c_int) -> Result<(), MpiError>) -> Result<c_int, MpiError> {
    let mut running = 0;
    // SAFETY: it may be called before MPI_Init.
    check("MPI_Initialized", unsafe { (api.initialized)(&mut running) })?;
    if running != 0 {
        return Err(MpiError::Twice);
    }
    let mut granted = 0;
    // The level of the benchmarks that results are compared with, and the fastest. Other threads may exist but do not call
    // MPI, or only to abort. Open MPI 4 and 5 at a higher level never return from MPI_Waitall on a request that has failed
    // before (a truncated message): the error path skips the signal that the release then waits for.
    // SAFETY: MPI takes null for both argument pointers, and is not started yet.
    let start = || unsafe { (api.init_thread)(null_mut(), null_mut(), A::THREADS[0], &mut granted) };
    check("MPI_Init_thread", begin_by(start))?;
    Ok(granted)
}

/// A launcher that started many ranks which are all alone speaks to another library.
fn wrong_library(launch: Option<&Launch>, ranks: usize, found: &Found) -> Option<MpiError> {
    let launch = launch.filter(|_| ranks == 1)?;
    let expected = launch.ranks.filter(|&expected| expected > 1)?;
    Some(MpiError::WrongLibrary {
        launcher: launch.launcher,
        ranks: expected,
        variable: launch.variable,
        library: found.version.clone(),
        path: found.path.clone(),
        how: found.how.clone(),
    })
}

/// How to get windows from a library that refuses them.
fn window_hint(found: &Found) -> &'static str {
    if found.kind == Kind::OpenMpi && found.version.contains("Open MPI v4") {
        " Open MPI 4 offers windows over TCP with `mpirun --mca osc pt2pt`"
    } else {
        ""
    }
}

fn host<A: Abi>(api: &Api<A>) -> String {
    let mut name = [0u8; HOST_ROOM];
    let mut length = 0;
    // SAFETY: there is more room than any MPI_MAX_PROCESSOR_NAME, and the last byte stays zero.
    let failed = unsafe { (api.get_processor_name)(name.as_mut_ptr().cast(), &mut length) };
    match CStr::from_bytes_until_nul(&name) {
        Ok(name) if failed == 0 => name.to_string_lossy().into_owned(),
        _ => "an unknown host".to_string(),
    }
}
