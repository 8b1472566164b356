//! HPL: solve a dense system of order N by LU factorization with partial pivoting on a P x Q grid of ranks.
//!
//! ```text
//! panel       one process column factors nb columns           (pivot: the search for each pivot)
//! broadcast   the panel travels along the process rows
//! swap        its row interchanges reach the other columns
//! solve       back substitution; residual
//! ```
//!
//! The column of right-hand sides travels with the matrix, so the factorization leaves `U x = y`. With look-ahead a later panel is
//! brought up to date and factored before its turn, and travels while the first one updates the rest.

mod broadcast;
mod panel;
mod pivot;
mod solve;
mod swap;

pub use broadcast::{ROUTES, Route};
pub use swap::Swap;

use super::grid::{Cyclic, Grid, Shape};
use super::library::{BLAS, Engine, engine};
use super::{EPS, OPTIMIZED, THREADS, THRESHOLD, array, bounded, modelled, not_computed, pay};
use crate::Stopwatch;
use crate::kernel::{Arithmetic, Declares, Kernel, NamedNumber, Pattern, Progress, Room, Setup, Traits};
use broadcast::Journey;
use comm::{Comm, Reduce, Refusal, agree, overlap};
use local::blas::{Blas, Diag, Side, Trans, Tri, Uplo};
use local::{Buffer, MatMut, lcg};
use panel::{Factor, Panel};
use record::{Metric, Verdict};
use solve::Norms;
use spec::{Card, Kind, Param, Params, ReadParams, Work};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use swap::{Exchange, Moves};

/// HPCC's HPL.
pub const HPL: Kernel = Kernel {
    card: Card {
        name: "hpl",
        about: "Gflop/s of solving a dense system on all ranks",
        source: "HPCC 1.5.0, HPL",
        params: &[
            Param::new("n", Kind::Count, "1000", "order of the system"),
            Param::new("nb", Kind::Count, "80", "block size"),
            P,
            Q,
            MAPPING,
            // The defaults from here on are those that HPCC 1.5.0 takes without an input file.
            Param::new("pfact", VARIANTS, "right", "panel factorization"),
            Param::new("nbmin", Kind::Count, "4", "columns at which the recursion stops"),
            Param::new("ndiv", Kind::Count, "2", "parts of a panel in each recursion").up_to(1e6),
            Param::new("rfact", VARIANTS, "crout", "recursive factorization"),
            Param::new(
                "bcast",
                Kind::Choice(&["1ring", "1ringM", "2ring", "2ringM", "long", "longM"]),
                "1ringM",
                "how panels travel",
            ),
            Param::new("depth", Kind::Count, "1", "look-ahead: panels factored before their turn").up_to(1000.0),
            Param::new("swap", Kind::Choice(&["binary", "long", "mix"]), "mix", "how rows are interchanged"),
            Param::new("swap-threshold", Kind::Count, "64", "columns up to which `mix` is binary"),
            Param::new("align", Kind::Count, "8", "columns start at multiples of so many numbers").up_to(4096.0),
            Param::new("matrix-seed", Kind::Count, "100", "seed of the matrix").up_to(f64::INFINITY),
            BLAS,
            THREADS,
            THRESHOLD,
        ],
    },
    metric: Metric::Flops,
    min_ranks: 1,
    traits: Traits {
        declares: Declares::AsCalled("operations are counted, not bytes"),
        beside: Some("rows that do not become the pivot's are sent and not used"),
        one_step: true,
        room: |params, ranks| Room::each(params.count("n").saturating_pow(2).saturating_mul(8) / ranks.max(1)),
        tiny: &[("n", "60"), ("nb", "8")],
        ..Traits::PLAIN
    },
    start,
};

/// Rows of the grid.
pub const P: Param = Param::new("p", Kind::Count, "0", "process rows, 0 = as square as possible");
/// Columns of the grid.
pub const Q: Param = Param::new("q", Kind::Count, "0", "process columns, 0 = as square as possible");
/// Which ranks are where.
pub const MAPPING: Param = Param::new(
    "mapping",
    Kind::Choice(&["row", "column"]),
    "row",
    "whether consecutive ranks lie along a row or a column of the grid",
);
const VARIANTS: Kind = Kind::Choice(&["left", "crout", "right"]);

/// Which part of a panel is up to date when a column is factored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Nothing to the right; the column is brought up to date when its turn comes.
    Left,
    /// The rows of finished pivots.
    Crout,
    /// Everything.
    Right,
}

impl Variant {
    fn read(word: &str) -> Variant {
        match word {
            "left" => Variant::Left,
            "crout" => Variant::Crout,
            _ => Variant::Right,
        }
    }
}

/// All choices of `HPL.dat` that change what is done.
#[derive(Clone, Debug)]
struct Options {
    nb: usize,
    pfact: Variant,
    nbmin: usize,
    ndiv: usize,
    rfact: Variant,
    route: Route,
    depth: usize,
    swap: Swap,
}

impl Options {
    fn read(params: &Params) -> Options {
        let route = ROUTES.iter().find(|(name, _)| *name == params.word("bcast")).expect("checked by its card").1;
        let swap = match params.word("swap") {
            "binary" => Swap::Binary,
            "long" => Swap::Long,
            _ => Swap::Mix(params.count("swap-threshold") as usize),
        };
        Options {
            nb: params.count("nb").max(1) as usize,
            pfact: Variant::read(params.word("pfact")),
            nbmin: params.count("nbmin").max(1) as usize,
            // With one part a panel would never get narrower and the recursion would not end.
            ndiv: params.count("ndiv").max(2) as usize,
            rfact: Variant::read(params.word("rfact")),
            route,
            depth: params.count("depth") as usize,
            swap,
        }
    }
}

/// This rank's part of `[A | b]`.
struct Matrix {
    n: usize,
    rows: Cyclic,
    cols: Cyclic,
    ld: usize,
    a: Buffer<f64>,
    model: bool,
    seed: u64,
}

impl Matrix {
    fn new(grid: &Grid<'_>, params: &Params, model: bool) -> Result<Matrix, Refusal> {
        let (n, nb) = (params.count("n") as usize, params.count("nb").max(1) as usize);
        let rows = Cyclic { n, nb, procs: grid.shape.p, me: grid.row };
        // Column n is the right-hand side.
        let cols = Cyclic { n: n + 1, nb, procs: grid.shape.q, me: grid.col };
        let align = params.count("align").max(1) as usize;
        let mut ld = rows.count().max(1).next_multiple_of(align);
        // Columns a power of two apart would all fall into the same few lines of the caches.
        if ld.is_power_of_two() && ld > 64 {
            ld += align;
        }
        let len = ld
            .checked_mul(cols.count())
            .ok_or_else(|| Refusal(format!("n={n}: the matrix does not fit any memory")))?;
        Ok(Matrix { n, rows, cols, ld, a: array(model, len)?, model, seed: params.count("matrix-seed") })
    }

    /// Makes `[A | b]` anew, block by block.
    fn fill(&mut self) {
        let source = lcg::Source::hpl(self.n as u64, self.seed);
        let (rows, cols, ld) = (self.rows, self.cols, self.ld);
        for c in (0..cols.count()).step_by(cols.nb) {
            let width = cols.nb.min(cols.count() - c);
            for r in (0..rows.count()).step_by(rows.nb) {
                let height = rows.nb.min(rows.count() - r);
                let out = MatMut::new(&mut self.a[c * ld + r..], height, width, ld);
                // Elements follow from their global place alone, so every grid solves the same system.
                source.fill(rows.global(r) as u64, cols.global(c) as u64, out);
            }
        }
    }
}

struct Hpl<'c> {
    comm: &'c dyn Comm,
    stopwatch: Stopwatch<'c>,
    progress: &'c dyn Fn(Progress),
    /// Nothing on ranks beyond the grid.
    lu: Option<Lu<'c>>,
    n: usize,
    threshold: f64,
    time: f64,
    norms: Norms,
    residual: f64,
    notes: Vec<String>,
}

struct Lu<'c> {
    grid: Grid<'c>,
    matrix: Matrix,
    options: Options,
    engine: Engine,
    /// Whether the threads of this rank, which is alone, share the work among themselves.
    team: bool,
    x: Vec<f64>,
    singular: Option<usize>,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let model = modelled(&setup);
    let shape = Shape::read(setup.params, setup.comm.size())?;
    let engine = engine(&setup)?;
    let mut notes = engine.notes.clone();
    if shape.p * shape.q < setup.comm.size() {
        notes.push(format!(
            "the grid is {} x {}: {} ranks stand by",
            shape.p,
            shape.q,
            setup.comm.size() - shape.p * shape.q
        ));
    }
    let lu = match Grid::join(setup.comm, shape) {
        None => None,
        Some(grid) => {
            let matrix = Matrix::new(&grid, setup.params, model)?;
            // What threads do by themselves nobody charges for.
            let real = setup.arithmetic == Arithmetic::Real && !model;
            let team = real && shape.p * shape.q == 1 && engine.pool.threads() > 1 && engine.blas.is_shared();
            let options = Options::read(setup.params);
            Some(Lu { grid, matrix, options, engine, team, x: Vec::new(), singular: None })
        }
    };
    Ok(Box::new(Hpl {
        comm: setup.comm,
        stopwatch: setup.stopwatch,
        progress: setup.progress,
        lu,
        n: setup.params.count("n") as usize,
        threshold: setup.params.real("threshold"),
        time: 0.0,
        norms: Norms::default(),
        residual: 0.0,
        notes,
    }))
}

/// Operations that count: `2/3 N^3 + 3/2 N^2`.
fn flops(n: usize) -> u64 {
    let n = n as f64;
    // 2/3 N^3 - 1/2 N^2 for the factorization and 2 N^2 for the solution, as HPL counts.
    (n * n * (2.0 / 3.0 * n + 1.5)) as u64
}

impl Pattern for Hpl<'_> {
    fn arrange(&mut self, _: u64) {
        if let Some(lu) = self.lu.as_mut().filter(|lu| !lu.matrix.model) {
            lu.matrix.fill();
        }
    }

    fn step(&mut self) -> Option<Work> {
        self.comm.barrier();
        let lap = self.stopwatch.start();
        if let Some(lu) = &mut self.lu {
            let (tell, n) = (self.progress, self.n as f64);
            let total = flops(self.n) as f64;
            lu.factor(&|columns| {
                // What is left is a smaller system, so what is done is the difference of two cubes.
                let share = 1.0 - ((n - columns as f64) / n).powi(3);
                let flops_per_s = total * share / lap.seconds().max(1e-12);
                tell(Progress { share, flops_per_s });
            });
            lu.x = solve::back_substitute(&lu.grid, &mut lu.matrix, &lu.engine.blas);
        }
        self.time = lap.seconds();
        self.lu.is_some().then(|| Work::flops(flops(self.n)))
    }

    fn verify(&mut self) -> Verdict {
        // Before the return below: the maximum is collective, and ranks beyond the grid take part in it.
        self.time = agree(self.comm, self.time, Reduce::Max);
        let Some(lu) = &mut self.lu else { return Verdict::Right { checked: 0 } };
        if lu.matrix.model {
            return not_computed();
        }
        self.norms = solve::norms(&lu.grid, &mut lu.matrix, &lu.engine.blas, &lu.x);
        self.residual = self.norms.scaled(self.n);
        let verdict = bounded("the scaled residual", self.residual, self.threshold, lu.matrix.rows.count() as u64);
        match (verdict, lu.singular) {
            (Verdict::Wrong { checked, wrong, first }, Some(column)) => {
                Verdict::Wrong { checked, wrong, first: format!("{first}; the pivot of column {column} is zero") }
            }
            (verdict, _) => verdict,
        }
    }

    fn results(&mut self) -> Vec<NamedNumber> {
        let Some(lu) = &self.lu else { return Vec::new() };
        let Shape { p, q, .. } = lu.grid.shape;
        let Norms { r_inf, a_one, a_inf, x_one, x_inf, b_inf } = self.norms;
        let mut all = vec![
            (OPTIMIZED, 0.0),
            ("time_s", self.time),
            ("flops_per_s", flops(self.n) as f64 / self.time.max(1e-12)),
            ("p", p as f64),
            ("q", q as f64),
        ];
        if !lu.matrix.model {
            all.extend([("residual", self.residual), ("eps", EPS), ("rnorm_inf", r_inf), ("anorm_1", a_one)]);
            all.extend([("anorm_inf", a_inf), ("xnorm_1", x_one), ("xnorm_inf", x_inf), ("bnorm_inf", b_inf)]);
        }
        all.into_iter().map(|(name, value)| NamedNumber::same(name, value)).collect()
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

/// Columns of one piece of an update while a panel is on its way, in blocks: often enough to pass it on, long enough to be fast.
const PIECE_BLOCKS: usize = 4;
/// Columns of the smallest piece where threads share an update: few enough that all are done at about the same time.
const TEAM_COLUMNS: usize = 256;

/// Columns in pieces for so many threads. Each packs the panel anew, so the first are wide; what is left decides the width of the next.
fn pieces(mut columns: &mut [f64], ld: usize, threads: usize) -> Vec<Mutex<&mut [f64]>> {
    let mut all = Vec::new();
    while !columns.is_empty() {
        let left = columns.len() / ld;
        let width = (left / (threads + 1)).max(TEAM_COLUMNS).min(left);
        let (piece, rest) = columns.split_at_mut(width * ld);
        all.push(Mutex::new(piece));
        columns = rest;
    }
    all
}

impl Lu<'_> {
    /// Factors; `tell` hears after each panel how many columns are done.
    fn factor(&mut self, tell: &dyn Fn(usize)) {
        self.singular = None;
        let (n, nb) = (self.matrix.n, self.options.nb);
        if n == 0 {
            return;
        }
        // Panels that are factored and everywhere, but not yet applied to the columns from `next` on.
        let mut ready: VecDeque<Panel> = VecDeque::new();
        let mut next = 0;
        loop {
            // With look-ahead this fills the queue at the start only; with depth 0 it makes the one panel of each
            // round.
            while next < n && ready.len() < self.options.depth.max(1) {
                let panel = self.plain(&ready, next);
                ready.push_back(panel);
                next += nb;
            }
            let Some(first) = ready.front() else { return };
            if self.options.depth == 0 || next >= n {
                // The last panel may be narrower than nb, so `next` can lie beyond column n, the right-hand side,
                // which is still due.
                self.update(first, self.columns_from(next.min(n)));
            } else {
                let panel = self.ahead(&ready, next);
                ready.push_back(panel);
                next += nb;
            }
            let done = ready.pop_front().expect("it was there");
            tell(done.j0 + done.jb);
        }
    }

    /// The panel at column `j0`: factored where it is, room for it elsewhere.
    fn new_panel(&mut self, j0: usize) -> Panel {
        let Lu { grid, matrix, options, engine, .. } = self;
        if matrix.cols.owner(j0) == grid.col {
            return Factor::run(matrix, &*grid.along_col, &engine.blas, options, j0);
        }
        let jb = options.nb.min(matrix.n - j0);
        let below = matrix.rows.count() - matrix.rows.below(j0 + jb);
        let mut panel = Panel { j0, jb, below, data: Vec::new(), pivots: Vec::new() };
        panel.data = vec![0.0; if matrix.model { 0 } else { panel.len() }];
        panel
    }

    fn arrived(&mut self, panel: &mut Panel) {
        panel.read_pivots(self.matrix.model, self.matrix.n);
        self.singular = self.singular.or(if self.matrix.model { None } else { panel.singular() });
    }

    fn journey(&self, panel: &Panel) -> Journey<'_> {
        let root = self.matrix.cols.owner(panel.j0);
        Journey {
            row: &*self.grid.along_row,
            root,
            route: self.options.route,
            model: self.matrix.model,
            len: panel.len(),
        }
    }

    /// Local columns from global column `g` on.
    fn columns_from(&self, g: usize) -> Range<usize> {
        self.matrix.cols.below(g)..self.matrix.cols.count()
    }

    /// Applies the panels that are ready to the columns of the one at `next`. Returns whether they are this rank's.
    fn bring_up(&mut self, ready: &VecDeque<Panel>, next: usize) -> bool {
        let mine = self.matrix.cols.owner(next) == self.grid.col;
        if mine {
            let start = self.matrix.cols.below(next);
            let width = self.options.nb.min(self.matrix.n - next);
            ready.iter().for_each(|panel| self.update(panel, start..start + width));
        }
        mine
    }

    /// The panel at `next`, sent before anything else is done.
    fn plain(&mut self, ready: &VecDeque<Panel>, next: usize) -> Panel {
        self.bring_up(ready, next);
        let mut panel = self.new_panel(next);
        self.journey(&panel).run(&mut panel.data);
        self.arrived(&mut panel);
        panel
    }

    /// The panel at `next`, on its way while the first one that is ready updates the columns behind it.
    fn ahead(&mut self, ready: &VecDeque<Panel>, next: usize) -> Panel {
        let mine = self.bring_up(ready, next);
        if self.team {
            return self.ahead_by_a_team(&ready[0], next);
        }
        let rest = self.columns_from(next + self.options.nb.min(self.matrix.n - next));
        let mut following = self.new_panel(next);
        let first = &ready[0];
        if self.options.route.is_ring() && self.grid.shape.q > 1 {
            self.update_on_the_way(first, rest, &mut following, mine);
        } else {
            self.update(first, rest);
            self.journey(&following).run(&mut following.data);
        }
        self.arrived(&mut following);
        following
    }

    /// The panel at `next`, factored by this thread while the others apply the first one to the columns behind it; then all do.
    fn ahead_by_a_team(&mut self, first: &Panel, next: usize) -> Panel {
        let Lu { grid, matrix, options, engine, .. } = self;
        let (rows, ld) = (matrix.rows, matrix.ld);
        let end = next + options.nb.min(matrix.n - next);
        let (before, rest) = matrix.a.split_at_mut(end * ld);
        let pieces = pieces(rest, ld, engine.pool.threads());
        let taken = AtomicUsize::new(0);
        let mut panel = engine.pool.beside(
            || {
                let column = (&*grid.along_col, false);
                Factor::of(&mut before[next * ld..], ld, rows, column, &engine.blas, options, next)
            },
            |_| {
                while let Some(piece) = pieces.get(taken.fetch_add(1, Ordering::Relaxed)) {
                    // Each is taken once, so nobody waits here.
                    let mut a = piece.lock().unwrap_or_else(PoisonError::into_inner);
                    interchange(&mut a, ld, &first.pivots, first.j0);
                    apply(&engine.blas, rows, first, &mut a, ld);
                }
            },
        );
        self.arrived(&mut panel);
        panel
    }

    /// Updates `cols` in pieces; in between the following panel is received and passed on.
    fn update_on_the_way(&mut self, panel: &Panel, cols: Range<usize>, following: &mut Panel, sent: bool) {
        let Lu { grid, matrix, options, engine, .. } = self;
        let update = Update { grid, options, engine };
        let root = matrix.cols.owner(following.j0);
        let len = following.len();
        let journey = Journey { row: &*grid.along_row, root, route: options.route, model: matrix.model, len };
        let step = PIECE_BLOCKS * options.nb;
        let end = cols.end;
        let mut pieces = cols.clone().step_by(step).map(|c| c..(c + step).min(end));
        if !sent {
            overlap(&*grid.along_row, |pending| {
                let receiving = pending.start(journey.receive(&mut following.data));
                for piece in pieces.by_ref() {
                    update.run(matrix, panel, piece);
                    if pending.test(receiving) {
                        break;
                    }
                }
            });
        }
        overlap(&*grid.along_row, |pending| {
            // Passed on before the rest of the update: the next rank of the ring waits for it.
            pending.start(journey.send(&following.data));
            if sent {
                // The sender has nothing to look for: one update is faster than many.
                update.run(matrix, panel, cols);
            } else {
                pieces.for_each(|piece| update.run(matrix, panel, piece));
            }
        });
    }

    fn update(&mut self, panel: &Panel, cols: Range<usize>) {
        let Lu { grid, matrix, options, engine, .. } = self;
        Update { grid, options, engine }.run(matrix, panel, cols);
    }
}

/// Applies a panel to other columns.
struct Update<'a, 'c> {
    grid: &'a Grid<'c>,
    options: &'a Options,
    engine: &'a Engine,
}

const UNIT_LOWER: Tri = Tri { side: Side::Left, uplo: Uplo::Lower, trans: Trans::No, diag: Diag::Unit };

impl Update<'_, '_> {
    fn run(&self, matrix: &mut Matrix, panel: &Panel, cols: Range<usize>) {
        if cols.is_empty() {
            return;
        }
        let (rows, ld, model) = (matrix.rows, matrix.ld, matrix.model);
        let (jb, width) = (panel.jb, cols.len());
        let column = &*self.grid.along_col;
        let top = rows.owner(panel.j0) == rows.me;
        let start = rows.below(panel.j0 + jb);
        let blas = &self.engine.blas;
        let solve = Work::flops((jb * jb * width) as u64);
        let multiply = Work::flops(2 * (panel.below * jb * width) as u64);
        let range = if model { 0..0 } else { cols.start * ld..cols.end * ld };
        // A single process row has all rows: nothing travels, and U is solved in place.
        if rows.procs == 1 {
            let a = &mut matrix.a[range];
            // An interchange reads and writes two numbers of 8 bytes.
            let moved = Work { bytes: 32 * (jb * width) as u64, ..Work::NONE };
            pay(column, model, moved, &mut || interchange(a, ld, &panel.pivots, panel.j0));
            pay(column, model, solve + multiply, &mut || apply(blas, rows, panel, a, ld));
            return;
        }
        let moves = Moves::new(panel.j0, &panel.pivots);
        let swap = self.options.swap;
        let mut u = Exchange { column, model, rows, j0: panel.j0, moves: &moves, cols: cols.clone(), ld, swap }
            .run(&mut matrix.a);
        let a = &mut matrix.a[range];
        pay(column, model, solve + multiply, &mut || {
            let mut u = MatMut::new(&mut u, jb, width, jb);
            blas.trsm(UNIT_LOWER, 1.0, panel.l1(), u.own());
            let (upper, lower) = MatMut::new(a, rows.count(), width, ld).split_rows(start);
            // Only the owner of these rows keeps U; the others need it for their product alone.
            if top {
                upper.part(start - jb..start, 0..width).copy_from(u.get());
            }
            if panel.below > 0 {
                blas.gemm(Trans::No, Trans::No, -1.0, panel.l2(), u.get(), 1.0, lower);
            }
        });
    }
}

/// Solves for the rows of U in columns that have all rows here, and subtracts what they contribute below.
fn apply(blas: &Blas, rows: Cyclic, panel: &Panel, a: &mut [f64], ld: usize) {
    let (width, start) = (a.len() / ld, panel.j0 + panel.jb);
    let (upper, lower) = MatMut::new(a, rows.count(), width, ld).split_rows(start);
    let mut u = upper.part(panel.j0..start, 0..width);
    blas.trsm(UNIT_LOWER, 1.0, panel.l1(), u.own());
    blas.gemm(Trans::No, Trans::No, -1.0, panel.l2(), u.get(), 1.0, lower);
}

/// The interchanges where all rows are here, a column at a time.
fn interchange(a: &mut [f64], ld: usize, pivots: &[usize], j0: usize) {
    for column in a.chunks_mut(ld) {
        pivots.iter().enumerate().for_each(|(i, p)| column.swap(j0 + i, *p));
    }
}
