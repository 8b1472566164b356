"""How each table of the documents is made: a function of a Run, which calls the program and keeps the commands. See scripts/tables.

A maker takes what the program prints or records and never types a number. Cheap makers are simulated and repeat to the last digit, so
./check makes them again; the others measure time, memory or a processor, or take long."""
import contextlib
import json
import os
import re
import subprocess
import time

from table_run import digits, fenced, first_table, grid, per_cent, table

# ---- README.md and docs/VALIDATION.md


@table("default", cheap=True)
def default(run):
    return fenced(run.tailback("run", "gpcnet", out="run"))


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
    return emulated_coverage(run, "40")


@table("coverage-one-seed", needs="Open MPI, network namespaces (root), two idle cores")
def coverage_one_seed(run):
    return emulated_coverage(run, "--one-seed", "30")


def emulated_coverage(run, *words):
    command = ["scripts/coverage", *words, "--time", "2s"]
    with testbed(run, 10, "100MB/s", 1) as launcher:
        launch = " ".join([run.program(), *launcher])
        return run.call(["env", f"LAUNCHER={launch}", *command], shown=command).split("\n\n", 1)[1]


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


@table("hpcc-estimate", needs="Open MPI, two idle cores")
def hpcc_estimate(run):
    rows = []
    flags = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    units = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
    for ranks, n in [(1, 2000), (1, 6000), (2, 2000), (2, 4000), (2, 8000), (4, 4000)]:
        name = f"e{ranks}-{n}"
        run.tailback("run", "hpcc", "--n", n, out=name, launcher=["mpirun", "-n", ranks, *flags])
        record = run.record(name)
        said = next(re.match(r"about ([\d.]+) (\w+) by a trial", note) for note in record["plan"]["notes"] if "by a trial" in note)
        taken = sum(phase["elapsed_s"] for phase in record["phases"])
        seconds = float(said[1]) * units[said[2]]
        rows.append([ranks, n, f"{seconds:.1f} s", f"{taken:.1f} s", f"{seconds / taken:.2f}"])
    return grid(["ranks", "N", "said before", "it took", "ratio"], rows)


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


def beside_the_original(run, rounds, launch, keys=None, **sizes):
    """Runs of the original and ours in turn: medians, ranges, ratios. The first line says how both were started and with which BLAS."""
    given = [f"{name}={value}" for name, value in sizes.items()]
    shown = [f"LAUNCH='{launch}'", *given, "scripts/bench-hpcc", "tailback", str(rounds)]
    text = run.call(["env", f"LAUNCH={launch}", *given, "scripts/bench-hpcc", run.program(), str(rounds)], shown=shown)
    rows = [line.split() for line in text.strip().split("\n")]
    rows = [row for row in rows if len(row) == 8 and row[0] != "N" and (keys is None or row[0] in keys)]
    cells = [[row[0], f"{row[1]} ({row[2]} to {row[3]})", f"{row[4]} ({row[5]} to {row[6]})", row[7]] for row in rows]
    return grid([f"medians of {rounds} rounds (range)", "original", "ours", "ratio"], cells)


@table("hpcc-speed", needs="hpcc 1.5.0, Open MPI, two idle cores")
def hpcc_speed(run):
    return beside_the_original(run, 8, "mpirun.openmpi -n 2")


@table("hpcc-speed-yield", needs="hpcc 1.5.0, Open MPI, two idle cores")
def hpcc_speed_yield(run):
    flags = "--oversubscribe --bind-to none --mca mpi_yield_when_idle 1"
    return beside_the_original(run, 3, f"mpirun.openmpi -n 2 {flags}", ["MPIRandomAccess_GUPs", "MPIRandomAccess_LCG_GUPs"])


@table("hpcc-speed-one", needs="hpcc 1.5.0, Open MPI, two idle cores")
def hpcc_speed_one(run):
    keys = ["SingleRandomAccess_GUPs", "SingleRandomAccess_LCG_GUPs", "SingleSTREAM_Copy", "SingleSTREAM_Triad", "SingleFFT_Gflops"]
    return beside_the_original(run, 5, "mpirun.openmpi -n 1", keys, N=5000, P=1, Q=1)


@table("hpcc-speed-four", needs="hpcc 1.5.0, Open MPI, two idle cores")
def hpcc_speed_four(run):
    flags = "--oversubscribe --bind-to none --mca mpi_yield_when_idle 1"
    keys = ["PTRANS_GBs", "StarFFT_Gflops", "SingleFFT_Gflops", "MPIFFT_Gflops"]
    return beside_the_original(run, 5, f"mpirun.openmpi -n 4 {flags}", keys, N=4000, P=2, Q=2)


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
