//! The library of dense kernels that a test computes with, agreed by the ranks that use it together.

use super::modelled;
use crate::kernel::{Arithmetic, Setup};
use comm::{Buffer, Refusal};
use local::blas::{Blas, Trans, WantedBlas, pick};
use local::{Mat, MatMut, Pool};
use spec::{Kind, Param, ReadParams};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What to compute with.
pub(super) const BLAS: Param = Param::new(
    "blas",
    Kind::Text,
    "fastest",
    "dense kernels: `fastest` measures `builtin` and `system` and takes the better; or the path of a library",
);

/// Something to compute with.
pub(super) struct Engine {
    /// Dense kernels.
    pub blas: Blas,
    /// The threads they run on.
    pub pool: Arc<Pool>,
    /// Name, version, kernels; what was measured.
    pub notes: Vec<String>,
}

/// Threads of a rank: one floats where the launcher put the rank, several are bound within the launcher's binding.
pub(super) fn pool(threads: u64) -> Arc<Pool> {
    let threads = threads.clamp(1, 4096) as usize;
    Arc::new(if threads == 1 { Pool::floating(1) } else { Pool::new(threads) })
}

/// What was measured once need not be measured for every test of a run: by (library, threads), whether the system's won.
static PICKED: Mutex<BTreeMap<usize, (bool, Vec<String>)>> = Mutex::new(BTreeMap::new());

/// Finds the library. Collective: rank 0's measurement decides for all, so that all compute the same.
pub(super) fn engine(setup: &Setup<'_>) -> Result<Engine, Refusal> {
    let (pool, model) = (pool(setup.params.count("threads")), modelled(setup));
    // A simulated machine has no processor of its own: the same run must give the same bits wherever it is simulated.
    let simulated = setup.arithmetic == Arithmetic::Charged;
    let (wanted, mut notes) = match setup.params.word("blas") {
        "builtin" => (WantedBlas::Builtin, Vec::new()),
        "system" => (WantedBlas::System(None), Vec::new()),
        "fastest" if simulated => (WantedBlas::Builtin, Vec::new()),
        "fastest" => {
            let (system, notes) = measured(&pool);
            let mut won = [u8::from(system)];
            setup.comm.bcast(0, Buffer::Bytes(&mut won));
            (if won[0] == 1 { WantedBlas::System(None) } else { WantedBlas::Builtin }, notes)
        }
        path => (WantedBlas::System(Some(path.to_string())), Vec::new()),
    };
    let blas = match wanted {
        WantedBlas::System(path) => Blas::system(path.as_deref(), pool.threads())
            .map_err(|e| Refusal(format!("blas: {e}; or use blas=builtin")))?,
        _ => Blas::builtin(Arc::clone(&pool)),
    };
    if !model {
        notes.insert(0, describe(&blas));
    }
    if !model && !simulated {
        warm(&blas);
    }
    Ok(Engine { blas, pool, notes })
}

/// A product before anything is timed: in its first one a library makes its work memory.
fn warm(blas: &Blas) {
    const N: usize = 512;
    let (ones, mut c) = (vec![1.0; N * N], vec![0.0; N * N]);
    let ones = Mat::new(&ones, N, N, N);
    blas.gemm(Trans::No, Trans::No, 1.0, ones, ones, 0.0, MatMut::new(&mut c, N, N, N));
}

fn describe(blas: &Blas) -> String {
    let library = blas.library();
    let part = |label: &str, x: &Option<String>| x.as_ref().map(|x| format!("{label}{x}")).unwrap_or_default();
    format!(
        "dense kernels: {}{}{}{}, {} threads{}",
        library.name,
        part(" ", &library.version),
        part(", ", &library.core),
        part(", ", &library.path),
        library.threads,
        part("; ", &library.note),
    )
}

/// Measures both candidates, once in a process; whether the system's library won, and what to say.
fn measured(pool: &Arc<Pool>) -> (bool, Vec<String>) {
    // A panic leaves nothing half done: an entry is inserted whole or not at all.
    let mut picked = PICKED.lock().unwrap_or_else(|e| e.into_inner());
    let found = picked.entry(pool.threads()).or_insert_with(|| match pick(&WantedBlas::Fastest, pool) {
        Err(e) => (false, vec![format!("no system library of dense kernels: {e}")]),
        Ok(choice) => {
            // Rates differ from rank to rank; a note that did too would fill the record.
            let names: Vec<&str> = choice.rates.iter().map(|(library, _)| library.name.as_str()).collect();
            let mut notes = vec![format!("measured and ranked: {}", names.join(", "))];
            notes.extend(choice.warning);
            (choice.rates[0].0.name != "built-in", notes)
        }
    });
    found.clone()
}
