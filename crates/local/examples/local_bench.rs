//! The rate of every local kernel beside a plain loop, in one run on one machine.
//!
//! `cargo run --release -p tailback-local --example local_bench -- [--cpu-time] [kernel ..]` with kernels of gemm, trsm, stream, random,
//! fft, transpose. Each line is the median of five interleaved repetitions. On a machine shared with others `--cpu-time` counts
//! the time this thread really ran.

use local::blas::{Blas, Diag, Side, Trans, Tri, Uplo, peak};
use local::fft::{Batch, Complex, Direction, Plan};
use local::random_access::{Generator, Method, Table};
use local::stream::{Arrays, Kernel, SCALAR, Stores};
use local::{Buffer, Mat, MatMut, Pool, bcnrand, memory, transpose};
use std::sync::Arc;

const REPEATS: usize = 3;

type Benchmark = (&'static str, fn(&Clock));

struct Clock {
    cpu: bool,
}

impl Clock {
    #[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    fn time(&self, f: &mut dyn FnMut()) -> f64 {
        let ran = || {
            let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
            text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
        };
        let (wall, cpu) = (std::time::Instant::now(), ran());
        f();
        if self.cpu { ran() - cpu } else { wall.elapsed().as_secs_f64() }
    }

    /// Prints the median rate of each candidate and its ratio to the first.
    fn race(&self, title: &str, work: f64, unit: &str, candidates: &mut [(&str, &mut dyn FnMut())]) {
        let mut times = vec![Vec::new(); candidates.len()];
        for _ in 0..REPEATS {
            for (list, (_, f)) in times.iter_mut().zip(candidates.iter_mut()) {
                list.push(self.time(*f).max(1e-9));
            }
        }
        let median = |list: &mut Vec<f64>| {
            list.sort_by(f64::total_cmp);
            work / list[REPEATS / 2]
        };
        let rates: Vec<f64> = times.iter_mut().map(median).collect();
        for (rate, (name, _)) in rates.iter().zip(candidates.iter()) {
            println!("{title:28} {name:22} {rate:9.3} {unit:8} x{:.2}", rate / rates[0]);
        }
    }
}

fn matrix(rows: usize, cols: usize) -> Buffer<f64> {
    let mut x = Buffer::zeroed(rows * cols).expect("memory for a matrix");
    x.iter_mut().enumerate().for_each(|(i, v)| *v = (i % 13) as f64 - 6.0);
    x
}

fn libraries() -> (Blas, Option<Blas>) {
    let pool = Arc::new(Pool::new(1));
    let system = Blas::system(None, 1).map_err(|e| println!("{e}")).ok();
    if let Some(s) = &system {
        println!("{:?}", s.library());
    }
    (Blas::builtin(pool), system)
}

fn gemm(clock: &Clock) {
    let (builtin, system) = libraries();
    let pool = Pool::new(1);
    for (m, n, k) in [(3265, 3265, 3265), (4000, 4000, 192), (4000, 2000, 64), (4000, 64, 192), (4000, 16, 16)] {
        let (a, b) = (matrix(m, k), matrix(k, n));
        let (mut c, mut d) = (matrix(m, n), matrix(m, n));
        let repeat = ((1e9 / (2 * m * n * k) as f64) as usize).clamp(1, 100);
        let call = |blas: &Blas, c: &mut [f64]| {
            for _ in 0..repeat {
                blas.dgemm(Trans::No, Trans::No, (m, n, k), 0.4, (&a, m), (&b, k), 0.7, (c, m));
            }
        };
        let flops = repeat as f64 * 2.0 * (m * n * k) as f64;
        let mut theirs = || system.iter().for_each(|s| call(s, &mut d));
        let mut ours = || call(&builtin, &mut c);
        let title = format!("gemm {m} x {n} x {k}");
        let top = (0..REPEATS).map(|_| peak(&pool)).fold(0.0, f64::max);
        println!("{title:28} {:22} {:9.3} Gflop/s", "peak (best, wall clock)", top / 1e9);
        match &system {
            Some(_) => {
                clock.race(&title, flops / 1e9, "Gflop/s", &mut [("system", &mut theirs), ("built-in", &mut ours)])
            }
            None => clock.race(&title, flops / 1e9, "Gflop/s", &mut [("built-in", &mut ours)]),
        }
    }
}

fn trsm(clock: &Clock) {
    let (builtin, system) = libraries();
    let (n, sides) = (192, 4000);
    let t = vec![0.01; n * n];
    for (side, uplo) in [(Side::Left, Uplo::Lower), (Side::Right, Uplo::Upper)] {
        let tri = Tri { side, uplo, trans: Trans::No, diag: Diag::Unit };
        let (rows, cols) = if side == Side::Left { (n, sides) } else { (sides, n) };
        let (mut x, mut y) = (matrix(rows, cols), matrix(rows, cols));
        let call = |blas: &Blas, x: &mut [f64]| {
            blas.trsm(tri, 1.0, Mat::new(&t, n, n, n), MatMut::new(x, rows, cols, rows));
        };
        let mut theirs = || system.iter().for_each(|s| call(s, &mut y));
        let mut ours = || call(&builtin, &mut x);
        let work = (n * n * sides) as f64 / 1e9;
        let mut both: [(&str, &mut dyn FnMut()); 2] = [("system", &mut theirs), ("built-in", &mut ours)];
        let skip = usize::from(system.is_none());
        clock.race(&format!("trsm {side:?} {n}, {sides} sides"), work, "Gflop/s", &mut both[skip..]);
    }
}

fn stream(clock: &Clock) {
    let n = 10_666_666;
    let pool = Pool::new(1);
    let (mut a, mut b, mut c) = (vec![2.0f64; n], vec![2.0f64; n], vec![1.0f64; n]);
    for kernel in Kernel::ALL {
        let mut plain = Arrays::new(n, &pool).expect("memory for STREAM");
        let mut streaming = Arrays::new(n, &pool).expect("memory for STREAM");
        let mut reference = || match kernel {
            Kernel::Copy => c.iter_mut().zip(&a).for_each(|(c, a)| *c = *a),
            Kernel::Scale => b.iter_mut().zip(&c).for_each(|(b, c)| *b = SCALAR * c),
            Kernel::Add => c.iter_mut().zip(&a).zip(&b).for_each(|((c, a), b)| *c = a + b),
            Kernel::Triad => a.iter_mut().zip(&b).zip(&c).for_each(|((a, b), c)| *a = b + SCALAR * c),
        };
        let (mut p, mut s) =
            (|| plain.run(kernel, Stores::Plain, &pool), || streaming.run(kernel, Stores::Streaming, &pool));
        clock.race(
            &format!("stream {kernel:?}"),
            (kernel.bytes() * n) as f64 / 1e9,
            "GB/s",
            &mut [("plain loop", &mut reference), ("plain, huge pages", &mut p), ("streaming", &mut s)],
        );
    }
}

fn random(clock: &Clock) {
    let pool = Pool::new(1);
    // A table that fits the second-level cache, one that fits the last, and one that fits none.
    for (bits, generator) in [16, 18, 21, 24].into_iter().flat_map(|b| [(b, Generator::Poly), (b, Generator::Lcg)]) {
        let mut words: Vec<u64> = (0..1 << bits).collect();
        let updates = 4u64 << bits;
        let mut reference = || {
            let mut state: [u64; 128] = std::array::from_fn(|j| generator.start(j as u64 * (updates / 128)));
            for _ in 0..updates / 128 {
                for s in &mut state {
                    *s = generator.next(*s);
                    words[generator.index(*s, bits)] ^= *s;
                }
            }
        };
        let mut one = Table::new(bits, &pool).expect("memory for the table");
        let mut two = Table::new(bits, &pool).expect("memory for the table");
        let mut direct = || one.update(generator, Method::Direct, &pool);
        let mut ahead = || two.update(generator, Method::Ahead, &pool);
        clock.race(
            &format!("random access {generator:?} 2^{bits}"),
            updates as f64 / 1e9,
            "GUP/s",
            &mut [("plain loop", &mut reference), ("direct, huge pages", &mut direct), ("ahead", &mut ahead)],
        );
    }
}

fn fft(clock: &Clock) {
    let pool = Pool::new(1);
    for lg in [20, 22] {
        let n = 1usize << lg;
        let whole = Batch::new(n, Direction::Forward).expect("a power of two");
        let plan = Plan::new(n, Direction::Forward).expect("a power of two");
        let mut x = vec![Complex::default(); n];
        bcnrand::Stream::at(0).fill(memory::floats_mut(&mut x));
        let mut a = Buffer::<Complex>::zeroed(n).expect("memory for the transform");
        let mut b = Buffer::<Complex>::zeroed(n).expect("memory for the transform");
        a.copy_from_slice(&x);
        b.fill(Complex::default());
        let mut reference = || whole.rows(&mut x, &pool);
        let mut ours = || plan.run(&mut a, &mut b, &pool);
        let flops = 5.0 * n as f64 * f64::from(lg) / 1e9;
        clock.race(
            &format!("fft 2^{lg}"),
            flops,
            "Gflop/s",
            &mut [("rustfft, not split", &mut reference), ("plan", &mut ours)],
        );
    }
}

fn transposes(clock: &Clock) {
    let (n, pool) = (4000, Pool::new(1));
    let (a, mut c, mut d) = (matrix(n, n), vec![1.0; n * n], matrix(n, n));
    let mut reference = || {
        for j in 0..n {
            for i in 0..n {
                c[i + j * n] += a[j + i * n];
            }
        }
    };
    let mut ours = || transpose::transpose_add(Mat::new(&a, n, n, n), 1.0, MatMut::new(&mut d, n, n, n), &pool);
    let work = (8 * n * n) as f64 / 1e9;
    clock.race(
        &format!("transpose_add {n}"),
        work,
        "GB/s",
        &mut [("plain loop", &mut reference), ("blocked", &mut ours)],
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let clock = Clock { cpu: arguments.iter().any(|a| a == "--cpu-time") };
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let all: [Benchmark; 6] = [
        ("gemm", gemm),
        ("trsm", trsm),
        ("stream", stream),
        ("random", random),
        ("fft", fft),
        ("transpose", transposes),
    ];
    if let Some(unknown) = names.iter().find(|n| all.iter().all(|(k, _)| *k != n.as_str())) {
        eprintln!("unknown kernel `{unknown}`; the kernels are {}", all.map(|(k, _)| k).join(", "));
        std::process::exit(2);
    }
    for (name, run) in all {
        if names.is_empty() || names.iter().any(|n| n.as_str() == name) {
            run(&clock);
        }
    }
}
