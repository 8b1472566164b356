"""How each table of the documents is made: a function of a Run, which calls the program and keeps the commands. See scripts/tables.

A maker takes what the program prints or records and never types a number. Cheap makers are simulated and repeat to the last digit, so
./check makes them again; the others measure time, memory or a processor, or take long."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from typing import Callable, NamedTuple

TABLES = {}


class Table(NamedTuple):
    make: Callable
    cheap: bool
    needs: str


class Missing(Exception):
    """A program that a table needs is not installed."""


def table(name, cheap=False, needs="nothing"):
    def add(make):
        TABLES[name] = Table(make, cheap, needs)
        return make

    return add


class Run:
    """One making of a table: calls programs from the root of the repository and remembers how."""

    # Tables are made side by side; cargo is asked by one at a time.
    lock = threading.Lock()
    cargo = os.environ.get("CARGO", "cargo")

    def __init__(self, root):
        self.root, self.commands = root, []
        self.target = os.path.join(root, os.environ.get("CARGO_TARGET_DIR", "target"), "release")

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def call(self, words, shown=None, codes=(0,)):
        """What a program prints. `shown` is the command as a reader would type it. With an exit code beside `codes` there is no table."""
        words = [str(word) for word in words]
        self.commands.append([word.replace(self.folder + "/", "") for word in (shown or words)])
        if not shutil.which(words[0]):
            raise Missing(f"{words[0]} is not installed")
        env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TAILBACK": self.program()}
        done = subprocess.run(words, cwd=self.root, env=env, capture_output=True, text=True, check=False)
        if done.returncode == 77:
            raise Missing((done.stdout + done.stderr).strip().split("\n")[-1])
        if done.returncode not in codes:
            raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
        return done.stdout

    def program(self):
        return os.environ.get("TAILBACK") or os.path.join(self.target, "tailback")

    def tailback(self, *words, out=None, launcher=()):
        """Runs the program; with `out` it leaves its record in that folder of this run."""
        if not os.access(self.program(), os.X_OK):
            raise Missing(f"{self.program()} is missing: cargo build --release")
        more = ["--quiet", "--force", "--out", os.path.join(self.folder, out)] if out else []
        shown = [*launcher, "tailback", *words, *(["--out", out] if out and out != "run" else [])]
        return self.call([*launcher, self.program(), *words, *more], shown=["tailback" if word == self.program() else str(word) for word in shown])

    def record(self, out):
        with open(os.path.join(self.folder, out, "run.json"), encoding="utf-8") as file:
            return json.load(file)

    def example(self, crate, name, *words):
        """Runs an example of a crate, built first."""
        with Run.lock:
            built = subprocess.run([self.cargo, "build", "--quiet", "--release", "-p", crate, "--example", name], cwd=self.root, check=False)
        if built.returncode != 0:
            raise RuntimeError(f"the example {name} of {crate} does not build")
        shown = ["cargo", "run", "--release", "-p", crate, "--example", name, *(["--", *words] if words else [])]
        return self.call([os.path.join(self.target, "examples", name), *words], shown=shown)


def grid(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines).replace("| --- ", "|---").replace("|--- |", "|---|")


def digits(x, n=3):
    """A number with n digits that count."""
    text = f"{x:.{n}g}"
    return f"{float(text):.0f}" if "e" in text and abs(x) >= 1 else text


def per_cent(x):
    return f"{100 * x:.1f}"


def fenced(text):
    return f"```\n{text.rstrip()}\n```"


def first_table(text):
    """What a report of the program begins with: its head and its sections up to the first table, warnings, and its result."""
    lines = text.rstrip().split("\n")
    # A title is not indented and follows an empty line.
    titles = [i for i in range(1, len(lines)) if lines[i] and not lines[i].startswith(" ") and not lines[i - 1]]
    sections = [lines[a:b] for a, b in zip([0, *titles], [*titles, len(lines) - 1])]
    has_table = [any(set(line.strip()) == {"-"} for line in section) for section in sections]
    first = has_table.index(True) if True in has_table else len(sections) - 1
    kept = sections[: first + 1] + [section for section in sections[first + 1 :] if section[0].startswith("Read this first")]
    return "\n".join("\n".join(section).rstrip() + "\n" for section in [*kept, lines[-1:]])


# ---- README.md and docs/VALIDATION.md


@table("default", cheap=True)
def default(run):
    return fenced(first_table(run.tailback("run", "gpcnet", out="run")))


@table("one-host", needs="Open MPI, two idle cores")
def one_host(run):
    return fenced(first_table(run.tailback("run", "network", "--time", "2s", out="run", launcher=["mpirun.openmpi", "-n", "2"])))


@contextlib.contextmanager
def testbed(run, nodes, rate, per_node):
    """The words that start a program under Open MPI on emulated nodes, which are removed whatever happens."""
    name = f"tables{os.getpid()}"
    run.tailback("testbed", "up", nodes, "--rate", rate, "--name", name)
    try:
        yield ["testbed", "run", "--name", name, "--per-node", str(per_node), "--mpirun", "mpirun.openmpi", "--timeout", "600s", "--"]
    finally:
        run.tailback("testbed", "down", "--name", name)


def on_testbed(run, nodes, rate, per_node, *words):
    with testbed(run, nodes, rate, per_node) as launcher:
        return run.tailback(*launcher, run.program(), *words)


@table("emulated", needs="Open MPI, network namespaces (root)")
def emulated(run):
    return fenced(first_table(on_testbed(run, 10, "100MB/s", 1, "run", "gpcnet", "--time", "2s", "--quiet", "--out", os.path.join(run.folder, "run"))))


def coverage(run, *words):
    # A title and an empty line stand before the table.
    return run.call(["scripts/coverage", "40", *words]).split("\n\n", 1)[1]


@table("coverage-default", needs="two idle cores")
def coverage_default(run):
    return coverage(run)


@table("coverage-20", needs="two idle cores")
def coverage_20(run):
    return coverage(run, "--nodes", "20")


@table("coverage-dragonfly", needs="two idle cores")
def coverage_dragonfly(run):
    return coverage(run, "--on", "small-dragonfly", "--nodes", "36", "--ranks-per-node", "2")


@table("coverage-osprey", needs="two idle cores")
def coverage_osprey(run):
    return coverage(run, "--on", "osprey", "--nodes", "128", "--ranks-per-node", "4")


@table("coverage-emulated", needs="Open MPI, network namespaces (root), two idle cores")
def coverage_emulated(run):
    command = ["scripts/coverage", "40", "--time", "2s"]
    with testbed(run, 10, "100MB/s", 1) as launcher:
        words = " ".join([run.program(), *launcher])
        return run.call(["env", f"LAUNCHER={words}", *command], shown=command).split("\n\n", 1)[1]


@table("verify-cost", needs="Open MPI, two idle cores")
def verify_cost(run):
    # Its first line says what the line below the table says.
    return run.call(["scripts/verify-cost"]).split("\n\n", 1)[1]


@table("faults", needs="Open MPI, MPICH, network namespaces (root), two idle cores")
def faults(run):
    # 1: some did not end as they must, which the table says.
    return run.call(["scripts/fault-campaign", "200", "1"], codes=(0, 1))


@table("refused")
def refused(run):
    """The numbers that nobody can mean, as the tests have them, and how long each takes to be refused."""
    with open(os.path.join(run.root, "crates/cli/tests/limits.rs"), encoding="utf-8") as file:
        of_runs = re.search(r"const OF_RUNS.*?= &\[\n(.*?)\n\];", file.read(), re.S)[1]
    cases = re.findall(r'\(\s*"([^"]+)",\s*"([^"]*)",', of_runs)
    rows = []
    for template, bad in cases:
        before, after, rest = template.replace("{}", bad).partition(" -- ")
        words = [*before.split(), "--plan-only", *([after.strip(), rest] if after else [])]
        times, code = [], None
        for _ in range(3):
            begin = time.monotonic()
            code = subprocess.run([run.program(), *words], cwd=run.folder, capture_output=True, check=False).returncode
            times.append(time.monotonic() - begin)
        rows.append((f"`{before}`", code, f"{min(times):.3f}"))
    run.commands.append(["each", "command", "three", "times", "with", "--plan-only"])
    slowest = max(rows, key=lambda row: row[2])
    return grid(["command", "exit code", "best of three, s"], rows) + f"\n\n{len(rows)} commands, the slowest {slowest[2]} s."


@table("fuzz", needs="a C++ compiler")
def fuzz(run):
    return run.call(["scripts/fuzz", "-s", "40"])


@table("sanitize", needs="a nightly Rust or valgrind, Open MPI, MPICH")
def sanitize(run):
    return run.call(["scripts/sanitize"])


@table("simultaneous")
def simultaneous(run):
    return run.call(["scripts/simultaneous", "200"])


@table("lines", needs="the whole history in git")
def lines(run):
    return run.call(["scripts/count-lines", "2ec0aaa", "721dcb8"])


# ---- docs/validation/models.md


def estimate(fit, name):
    return next(e["value"] for e in fit["estimates"] if e["name"] == name) / 1e9


def chosen(phase):
    return next(f for f in phase["fits"] if f["model"] == phase["chosen"])


@table("nic", cheap=True)
def nic(run):
    """A payload of 4096 bytes takes (4096 + 40) B / 10 GB/s + 2 ns: docs/validation/nic.toml says so."""
    truth = 4096 / ((4096 + 40) / 10 + 2)
    options = ["--payload", "lengths", "--from", "64", "--to", "1MiB", "--per-octave", "2", "--probe", "yes", "--loggp", "yes"]
    run.tailback("run", "maxrate", "--on", "docs/validation/nic.toml", *options, out="m1")
    found = json.loads(run.tailback("fit", "maxrate", os.path.join(run.folder, "m1"), "--json"))
    fit = found["fits"][0]["report"]
    rows = []
    for phase in fit["phases"]:
        best = chosen(phase)
        where = f"{phase['from_bytes']} to {phase['to_bytes']} B, {best['model']}, largest error of a time {per_cent(best['error_max'])} %"
        for name, key, scale in [("R_N", "rate_node", 1), ("R_C one way", "rate_core", 2)]:
            value = scale * estimate(best, key)
            rows.append([f"{name}, {where}", f"{truth:.3f} GB/s", f"{digits(value)} GB/s", f"{100 * (value / truth - 1):+.1f} %"])
    limit = fit["breaks"][0]
    rows.append(["eager limit by the times", "8192 B", f"between {limit['after_bytes']} and {limit['bytes']} B", "the grid of sizes"])
    probe = found["probes"][0]["outcome"]["blocks"]
    rows.append(["eager limit by the delayed receiver", "8192 B", f"{probe['below']} B pass, {probe['from']} B wait", "within its 4 bytes"])
    loggp = found["trips"][0]["fit"]["Ok"]
    rate = 1e-9 / loggp["gap_per_byte_s"]
    rows.append(["1/G of LogGP, one line over all sizes", f"{truth:.3f} GB/s", f"{digits(rate)} GB/s", f"{100 * (rate / truth - 1):+.1f} %"])
    overheads = [f"{1e6 * o:.2f} us at {n} B" for n, o in loggp["overhead_s"] if n in (64, 2048, 11585)]
    rows.append(["o of LogGP; the machine's overhead of a send is 0.2 us", "", ", ".join(overheads), ""])
    return grid(["", "truth", "found", "error"], rows)


@table("nics", cheap=True)
def nics(run):
    truth = 4096 / ((4096 + 40) / 10 + 2)
    options = ["--payload", "lengths", "--modes", "stream,duplex", "--pairs", "1,2,4,6,8", "--from", "16KiB", "--per-octave", "2", "--to", "1MiB"]
    run.tailback("run", "maxrate", "--on", "docs/validation/nics.toml", *options, out="m2")
    rows = []
    for location in ["worst", "median"]:
        found = json.loads(run.tailback("fit", "maxrate", os.path.join(run.folder, "m2"), "--phases", "none", "--location", location, "--json"))
        for fit in found["fits"]:
            m3 = next(f for f in fit["report"]["phases"][0]["fits"] if f["model"] == "m3")
            values = [(estimate(m3, key), nics) for key, nics in [("rate_core", 1), ("rate_node", 2)]]
            rows.append([f"{fit['pattern']}, {location} of the pairs", *(f"{digits(v)} GB/s ({100 * (v / (n * truth) - 1):+.1f} %)" for v, n in values)])
    return grid(["m3", f"R_C, truth {truth:.2f} GB/s", f"R_N, truth {2 * truth:.2f} GB/s"], rows)


@table("classes", cheap=True)
def classes(run):
    names = ["same-switch", "same-group", "far", "inside"]
    run.tailback("run", "maxrate", "--on", "docs/validation/dragonfly.toml", "--pair", ",".join(names), "--pairs", "1", "--sizes", "8,64,1KiB,64KiB", out="m3")
    found = json.loads(run.tailback("fit", "maxrate", os.path.join(run.folder, "m3"), "--json"))
    times = {(f["class"], c["bytes"]): c["bytes"] / c["measured"] for f in found["fits"] for c in f["rates"]}
    sizes = sorted({size for _, size in times})
    rows = [[name, *(f"{1e6 * times[name, size] / 2:.2f}" for size in sizes)] for name in names if (name, sizes[0]) in times]
    return grid(["us one way", *(f"{size} B" for size in sizes)], rows)


SEEDS = (1, 2, 3)


def campaign(run, machine, seed):
    """The scores of every rule set on 100 random graphs; the first campaign of a machine also measures what the others learn from."""
    name = machine.removesuffix(".toml")
    learned = ["--learn", "4"] if seed == SEEDS[0] else ["--learn", "0", "--learned", os.path.join(run.folder, f"{name}-{SEEDS[0]}")]
    options = ["--graphs", "100", "--size", "1MiB", "--repeats", "1", "--seed", seed, *learned, "--threads", "1", "--json"]
    return json.loads(run.tailback("contention", "validate", "--on", f"docs/validation/{machine}", *options, out=f"{name}-{seed}"))


@table("rules", cheap=True)
def rules(run):
    machines = {"one queue per input (`fifo.toml`)": "fifo.toml", "one per input and output (`voq.toml`)": "voq.toml"}
    columns, flows = [], []
    for machine in machines.values():
        found = [campaign(run, machine, seed)["validation"]["scores"] for seed in SEEDS]
        columns.append({score["rules"]: [next(s for s in f if s["rules"] == score["rules"])["all"] for f in found] for score in found[0]})
        flows.append(sum(f[0]["all"]["flows"] for f in found))

    def cell(errors):
        means = [e["mean"] for e in errors]
        mean = sum(means) / len(means)
        return f"{per_cent(mean)} ({per_cent(min(means))} to {per_cent(max(means))}); {per_cent(max(e['max_flow'] for e in errors))}"

    order = sorted(columns[0], key=lambda name: sum(e["mean"] for e in columns[0][name]))
    rows = [[name, *(cell(column[name]) for column in columns)] for name in order]
    header = [f"mean of abs(err) in % ({len(SEEDS)} seeds: least to largest); worst flow", *(f"{m}, {n} flows" for m, n in zip(machines, flows))]
    return grid(header, rows)


@table("inverse", cheap=True)
def inverse(run):
    """Penalties of two graphs by both inverses: from completion times of several sizes, and from steady rates over several times."""

    def row(what, given, graphs):
        options = ["--on", "docs/validation/fifo.toml", *given, "--threads", "1", "--json"]
        out = "d-" + given[1]
        found = json.loads(run.tailback("contention", "derive", *graphs, *options, out=out))
        cells = []
        for graph in found:
            penalties = [p["penalty"] for p in graph["penalties"]]
            groups = [penalties[:3], penalties[3:5], penalties[5:]] if len(penalties) == 6 else [penalties[:2], penalties[2:]]
            cells += ["/".join(sorted({f"{p:.2f}" for p in group})) for group in groups]
        return [what, *cells]

    graphs = ["fig3", "g4"]
    rows = [row(f"times, {size}", ["--size", size, "--repeats", "1"], graphs) for size in ["1MiB", "4MiB", "20MiB", "80MiB"]]
    rows += [row(f"rates over {time}", ["--steady", time], graphs) for time in ["50ms", "150ms", "600ms"]]
    rules = json.loads(run.tailback("contention", "predict", *graphs, "--rules", "paper", "--json"))
    a, b = ([f"{p:.2f}" for p in g["penalties"]] for g in rules)
    rows.append(["the paper's rules", a[0], a[3], a[5], b[0], b[2]])
    return grid(["penalty of", "fig3: a, b, c", "d, e", "f", "g4: a, b", "c, d"], rows)


@table("rules-tcp", needs="Open MPI, network namespaces (root), idle cores")
def rules_tcp(run):
    options = ["--graphs", "200", "--edges", "2..5", "--among", "7", "--degree", "3", "--learn", "3", "--size", "2MiB", "--repeats", "3", "--lead", "50ms"]
    text = on_testbed(run, 7, "20MB/s", 3, "contention", "validate", *options, "--json", "--quiet", "--out", os.path.join(run.folder, "run"))
    scores = json.loads(text)["validation"]["scores"]
    edges = sorted(scores[0]["by_edges"], key=int)
    rows = []
    for score in sorted(scores, key=lambda s: s["all"]["mean"]):
        every = score["all"]
        rows.append([score["rules"], *(per_cent(every[k]) for k in ("mean", "max_graph_mean", "max_flow")), *(per_cent(score["by_edges"][e]["mean"]) for e in edges)])
    return grid(["rule set", "mean of abs(err) in %", "worst graph's mean", "worst flow", *(f"{e} flows" for e in edges)], rows)


# ---- docs/validation/hpcc.md


def results(record, phase):
    """The named numbers of a test; the largest of several jobs."""
    jobs = [job for p in record["phases"] if p["name"] == phase for job in p["jobs"]]
    names = {name for job in jobs for name in job["results"]}
    return {name: max(job["results"][name] for job in jobs if name in job["results"]) for name in names}


@table("hpcc-right", needs="the same processor for the same last digits")
def hpcc_right(run):
    rows = []
    for ranks in (1, 2, 3, 4, 6, 8):
        options = ["--ranks-per-node", "1", "--payload", "checked", "--n", "400", "--nb", "32", "--memory", "4MiB", "--blas", "builtin"]
        run.tailback("run", "hpcc", "--on", "default", "--nodes", ranks, *options, out=f"h{ranks}")
        record = run.record(f"h{ranks}")
        updates = [f"{mode}/random-access{generator}" for mode in ("mpi", "star", "single") for generator in ("", "-lcg")]
        errors = sum(results(record, name).get("errors", 0) for name in updates)
        pick = [("mpi/hpl", "residual"), ("mpi/ptrans", "residual"), ("star/dgemm", "residual")]
        found = [digits(results(record, phase)[name], 2) for phase, name in pick]
        ffts = [f"{results(record, phase)['max_error']:.1e}" for phase in ("mpi/fft", "star/fft")]
        wrong = sum("wrong" in job["verdict"] for p in record["phases"] for job in p["jobs"])
        rows.append([ranks, *found, digits(errors), *ffts, wrong])
    header = ["ranks", "HPL scaled residual", "PTRANS residual", "DGEMM (star)", "RandomAccess errors (global, star, single; both generators)"]
    return grid([*header, "FFT max error, global", "FFT, star", "wrong verdicts"], rows)


@table("hpcc-memory", needs="an x86-64 processor, 1 GB")
def hpcc_memory(run):
    rows = []
    share = 8 * 6000 * 6000  # bytes of HPL's matrix, from which the sizes of the other tests follow
    power = lambda x: 2 ** (x.bit_length() - 1)
    tests = [("hpl", 8000, 8 * 8000 * 8000), ("hpl", 6000, share), ("single/dgemm", 6000, share), ("single/stream", 6000, share), ("ptrans", 6000, share // 2)]
    tests += [(f"{mode}/random-access", 6000, 8 * power(share // 8)) for mode in ("single", "mpi")]
    tests += [("single/fft", 6000, 32 * power(share // 32)), ("mpi/fft", 6000, 32 * power(share // 64))]
    for i, (test, n, arrays) in enumerate(tests):
        words = ["run", "hpcc", "--on", "local", "--threads-per-rank", "1", "--blas", "builtin", "--n", str(n), "--nb", "192", "--only", test]
        log = os.path.join(run.folder, "memory")
        out = ["--quiet", "--out", os.path.join(run.folder, f"run{i}")]
        run.call(["/usr/bin/time", "-f", "%M", "-o", log, run.program(), *words, *out], shown=["/usr/bin/time", "-f", "%M", "tailback", *words])
        with open(log, encoding="utf-8") as file:
            resident = 1024 * int(file.read())
        rows.append([f"{test}, N = {n}", f"{arrays / 1e6:.0f} MB", f"{resident / 1e6:.0f} MB", f"{resident / arrays:.2f}"])
    return grid(["test", "arrays", "resident", "ratio"], rows)


@table("hpcc-speed", needs="hpcc 1.5.0, Open MPI, two idle cores")
def hpcc_speed(run):
    text = run.call(["scripts/bench-hpcc", run.program(), "5"], shown=["scripts/bench-hpcc", "tailback", "5"])
    rows = [line.split() for line in text.strip().split("\n")[1:]]
    return grid(["medians of 5 rounds", "original", "ours", "ratio"], [row for row in rows if len(row) == 4])


# ---- docs/validation/mpi.md


@table("conformance", needs="Open MPI and MPICH; MPI_PREFIXES names more")
def conformance(run):
    text = run.call(["scripts/mpi-conformance", *os.environ.get("MPI_PREFIXES", "").split()])
    rows = {}
    for line in text.split("\n"):
        found = re.match(r"(ok|FAILED)\s+(\S+?):? (.*)", line)
        if found:
            rows.setdefault(found[2].rstrip(":"), []).append(found[3])
    return grid(["library", "1 rank", "2 ranks", "3 ranks", "4 ranks"], [[name, *cells] for name, cells in rows.items()])


@table("step-cost", needs="Open MPI, valgrind")
def step_cost(run):
    rows = {}
    for ranks in (1, 2):
        for line in run.call(["scripts/mpi-step-cost", str(ranks)]).split("\n")[1:]:
            found = re.match(r"(\w+)\s+(\d+)\s+(\d+)\s+overhead (-?\d+) instructions = (\S+) %", line)
            if found:
                rows.setdefault(found[1], []).extend(found.groups()[1:])
    header = ["way", *(f"{what}, {ranks}" for ranks in ("1 rank", "2 ranks") for what in ("instructions a step", "own", "more than bare", "% of the bare step"))]
    return grid(header, [[name, *cells] for name, cells in rows.items()])


# ---- docs/validation/network.md


@table("load-curves", cheap=True)
def load_curves(run):
    rows = []
    cases = [("minimal", "uniform", "0.5,0.9,0.95", "50"), ("ugal", "uniform", "0.9,0.95", "50"), ("ugal", "adversarial", "0.5", "50")]
    for routing, pattern, loads, time in cases:
        text = run.example("tailback-sim", "load_curve", "dragonfly-1056", routing, pattern, loads, time)
        rows += [[f"{routing}, {pattern}", *line.split()[:2], *line.split()[3:5]] for line in text.strip().split("\n")[2:]]
    return grid(["routing, traffic", "offered", "accepted", "mean us", "99 % us"], rows)


@table("victim", cheap=True)
def victim(run):
    rows = []
    for line in run.example("tailback-sim", "victim").strip().split("\n")[2:]:
        found = re.match(r"(.*?)\s+0s\s+(.*)", line)  # from the start; the program also prints the second half
        if found:
            mean, _, tail, over_mean, over_tail, goodput, samples = found[2].split()
            rows.append([found[1].strip(), mean, over_mean, tail, over_tail, goodput, samples])
    return grid(["control", "mean us", "times alone", "99 % us", "times alone", "GB/s into the root", "samples"], rows)


@table("sim-speed", needs="idle cores")
def sim_speed(run):
    rows = []
    for network, routing, load, size, time, threads in [
        ("dragonfly-1056", "minimal", "0.5", "65536", "200", "1"),
        ("dragonfly-1056", "minimal", "0.5", "65536", "200", "2"),
        ("dragonfly-1056", "ugal", "0.5", "65536", "200", "1"),
        ("dragonfly-1056", "minimal", "0.9", "65536", "200", "1"),
        ("dragonfly-1056", "minimal", "0.5", "4096", "100", "1"),
        ("dragonfly-5256", "minimal", "0.5", "65536", "60", "1"),
        ("dragonfly-5256", "minimal", "0.5", "65536", "60", "2"),
    ]:
        text = run.example("tailback-sim", "hops", network, routing, load, size, time, threads, "3")
        rates = [float(x) for x in re.findall(r"([\d.]+) M hops/CPU-s", text)]
        walls = [float(x) for x in re.findall(r"wall ([\d.]+) s", text)]
        arguments = f"`{' '.join([network, routing, load, size, time, threads])} 3`"
        rows.append([arguments, ", ".join(f"{x:.2f}" for x in sorted(rates)), f"{min(walls):.2f} to {max(walls):.2f} s" if walls else ""])
    return grid(["arguments of `hops`", "M packet-hops per CPU second", "wall"], rows)


@table("sim-others", needs="CAMINOS (cargo install), ns-3, idle cores")
def sim_others(run):
    return fenced(run.call(["scripts/bench-sim", "--others"]))


@table("table2", needs="one idle core")
def table2(run):
    text = run.call(["scripts/table2", "--most-ranks", "6000", run.program(), "--threads", "1"], shown=["scripts/table2", "--most-ranks", "6000", "tailback", "--threads", "1"])
    rows, near = [], {}
    for line in text.strip().split("\n")[2:]:
        words = re.sub(r"\s*/\s*", "/", line).split()
        if "failed" in line or len(words) < 10:
            rows.append([line, *[""] * 9])
            continue
        system, size, nodes, canary, *values = words
        impact = values[4]
        ratio, drains = (values[5], values[6]) if canary == "p2p-lat" else ("", values[5])
        nodes = "all" if nodes == size.split("x")[0] else nodes
        rows.append([f"{system} {size}", nodes, canary, *(v.replace("/", " / ") for v in [*values[:5], ratio]), drains])
        ours, theirs = map(float, impact.split("/"))
        if nodes == "all":
            near.setdefault(canary, []).append(1 / 3 <= ours / theirs <= 3)
    header = ["row (nodes x ranks per port)", "nodes simulated", "canary", "isolated avg", "isolated 99 %", "loaded avg", "loaded 99 %", "impact avg", "99 % / drain", "drain times measured"]
    counts = [[canary, f"{sum(good)} of {len(good)}"] for canary, good in near.items()]
    counts.append(["all", f"{sum(map(sum, near.values()))} of {sum(map(len, near.values()))}"])
    return grid(header, rows) + "\n\n" + grid(["rows at the paper's own size", "average impact within a factor of three"], counts)


# What is assumed in two machine files: (system, size, what, expression, replacement).
ASSUMED = [
    ("crystal", "64", "as it is", "", ""),
    ("crystal", "64", "buffer of local ports 4 KiB", r'\nbuffer = "[^"]*"', '\nbuffer = "4KiB"'),
    ("crystal", "64", "buffer of local ports 32 KiB", r'\nbuffer = "[^"]*"', '\nbuffer = "32KiB"'),
    ("crystal", "64", "trains of 1 KiB", r'\nmtu = "[^"]*"', '\nmtu = "1KiB"'),
    ("crystal", "64", "eager to 1 KiB", r'\neager = "[^"]*"', '\neager = "1KiB"'),
    ("crystal", "64", "UGAL bias 0", r'\nbias = "[^"]*"', '\nbias = "0"'),
    ("osprey", "128", "as it is", "", ""),
    ("osprey", "128", "buffer 16 KiB", r'\nbuffer = "[^"]*"', '\nbuffer = "16KiB"'),
    ("osprey", "128", "buffer 256 KiB", r'\nbuffer = "[^"]*"', '\nbuffer = "256KiB"'),
    ("osprey", "128", "eager to 1 KiB", r'\neager = "[^"]*"', '\neager = "1KiB"'),
    ("osprey", "128", "adaptive routing", r'\n\[routing\]\nkind = "[^"]*"', '\n[routing]\nkind = "adaptive"'),
]


@table("assumed")
def assumed(run):
    rows = []
    for i, (system, nodes, what, expression, replacement) in enumerate(ASSUMED):
        with open(os.path.join(run.root, f"machines/{system}.toml"), encoding="utf-8") as file:
            text = file.read()
        text, changes = re.subn(expression, replacement, text, count=1)
        if changes != 1:
            raise RuntimeError(f"machines/{system}.toml has no place for: {what}")
        path = os.path.join(run.folder, f"{system}-{i}.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        options = ["--nodes", nodes, "--ranks-per-node", "8", "--canaries", "p2p-lat,allreduce", "--time", "10ms"]
        said = run.tailback("run", "gpcnet", "--on", path, *options, out=f"run{i}")
        fom = dict(re.findall(r"^FOM gpcnet\.(\S+) (\S+)", said, re.M))
        cells = [digits(float(fom[key])) for key in ("p2p-lat.impact", "p2p-lat.drain_ratio99", "allreduce.impact")]
        rows.append([f"{system.capitalize()} {nodes}x8, {what}", *cells])
    return grid(["changed", "p2p-lat, average impact", "its loaded 99 % / drain", "allreduce, average impact"], rows)


# ---- docs/validation/product.md


@table("pictures", needs="nothing; sizes follow every change of a page")
def pictures(run):
    rows = []
    cases = [[], ["--on", "small-dragonfly", "--cut", "50", "--time", "3ms"], ["--on", "malbec", "--nodes", "120", "--cut", "50", "--time", "3ms"]]
    for i, options in enumerate(cases):
        run.tailback("run", "gpcnet", *options, out=f"run{i}")
        network = run.record(f"run{i}")["network"]
        kinds = "groups" if network["grouped"] else "switches"
        page = os.path.getsize(os.path.join(run.folder, f"run{i}", "report.html"))
        size = len(json.dumps(network, separators=(",", ":")))
        rows.append([f"`{' '.join(['run gpcnet', *options])}`", f"{len(network['boxes'])} {kinds}", len(network["bundles"]), len(network["slices"]), f"{size / 1e3:.0f} kB", f"{page / 1e3:.0f} kB"])
    return grid(["run", "boxes", "bundles of cables", "slices", "`network` of `run.json`", "page"], rows)


@table("big-record", needs="5 GB")
def big_record(run):
    options = ["--threads", "1", "--canaries", "p2p-lat,allreduce", "--congestors", "p2p-incast:512B", "--share", "10%", "--rounds", "1", "--cut", "1000", "--time", "50us", "--placements", "1"]
    run.tailback("run", "gpcnet", "--on", "edison", *options, out="big")
    path = os.path.join(run.folder, "big", "run.json")
    formats = ["html", "text", "csv", "markdown", "json", "openmetrics", "gpcnet"]
    cells = []
    for form in formats:
        begin = os.times()
        text = run.tailback("report", path, "--format", form)
        end = os.times()
        cells.append(f"{end.children_user + end.children_system - begin.children_user - begin.children_system:.2f} s, {len(text) / 1e3:.0f} kB")
    return grid(["record", *formats], [[f"{os.path.getsize(path) / 1e6:.1f} MB", *cells]])


@table("balance", needs="Open MPI, two idle cores")
def balance(run):
    run.tailback("run", "hpcc", "--n", "8000", out="real", launcher=["mpirun.openmpi", "-n", "2"])
    return fenced(run.tailback("compare", os.path.join(run.folder, "real"), "--with", "leibniz", "--with", "vaughan").replace(run.folder + "/", ""))
