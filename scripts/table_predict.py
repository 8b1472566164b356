"""Tables of docs/validation/network.md and predictions.md about what simulated networks foretell. See scripts/table_makers.py."""
import csv
import os
import statistics

from simulated import PREDICTIONS, machine, micros
from table_run import digits, grid, merits, per_cent, table

CANARIES = ("p2p-lat", "p2p-bw-sync", "allreduce")

# ---- Figures 8 to 10 of the GPCNeT paper

# Counters as the paper's figures have them, as near as a simulated node comes; a stall is a time.
COUNTED = {
    "nic0.rx_bytes": "bytes over the last hop",
    "nic0.tx_stalled_ps": "stalls of the NIC",
    "switch.stalled_ps": "stalls of its switch's ports to switches",
    "switch.waiting_byte_ns": "bytes that wait in the node's switch",
}


def rates(phase, counter, jobs=None):
    """Growth per second on each node of these jobs; a counter that is not there stayed at 0."""
    found = {c["job"]: c["per_node"] for c in phase["counters"] if c["name"] == f"machine.{counter}"}
    wanted = [job for job in phase["counted"] if job != "idle" and jobs in (None, job)]
    return [value / phase["elapsed_s"] for job in wanted for value in found.get(job, [0] * len(phase["counted"][job]))]


def quantiles(values):
    """10 %, median, 90 % and largest."""
    ordered = sorted(values)
    return [ordered[min(int(q * len(ordered)), len(ordered) - 1)] for q in (0.1, 0.5, 0.9)] + [ordered[-1]]


def growth(phases, counter, test):
    """Under load, in multiples of the quiet median; where that is 0 there are none: times in ms a second, bytes on average."""
    quiet = statistics.median(rate for alone, _ in phases for rate in rates(alone, counter, test))
    loaded = quantiles([rate for _, under in phases for rate in rates(under, counter)])
    if quiet > 0:
        return " / ".join(digits(value / quiet, 2) for value in loaded)
    unit = "B" if counter.endswith("byte_ns") else "ms/s"
    return "0 alone; " + " / ".join(digits(value * 1e-9, 2) for value in loaded) + f" {unit}"


def ejection(phases, job, nic_rate):
    """What came over the last hop to the root of an incast, as a share of its rate: the node with most in each run."""
    shares = [max(rates(under, "nic0.rx_bytes", job)) / nic_rate for _, under in phases]
    return f"{per_cent(min(shares))} to {per_cent(max(shares))}"


@table("counters-loaded")
def counters_loaded(run):
    rows = []
    for system, nodes, ranks, control, nic_rate in [("crystal", 64, 8, "as built", 8.5e9), ("osprey", 128, 8, "as built", 12.3e9), ("malbec", 120, 20, "as built", 12.3e9), ("malbec", 120, 20, "none", 12.3e9)]:
        seen = {canary: [] for canary in CANARIES}
        on = system if control == "as built" else machine(run.folder, system, control)
        for seed in (1, 2, 3, 4, 5):
            # One placement a run, so that each has its own length to divide by.
            options = ["--nodes", nodes, "--ranks-per-node", ranks, "--placements", "1", "--rounds", "2", "--time", "4ms", "--threads", "1", "--payload", "lengths", "--seed", seed]
            run.tailback("run", "gpcnet", "--on", on, *options, "--no-page", "--format", "fom", out="run")
            phases = {(p["about"]["kind"], p["about"]["test"]): p for p in run.record("run")["phases"]}
            for canary in CANARIES:
                seen[canary].append((phases["alone", canary], phases["loaded", canary]))
        name = f"{system.capitalize()} {nodes}x{ranks}" + ("" if control == "as built" else ", no control")
        for canary, phases in seen.items():
            rows.append([name, canary, *(growth(phases, counter, canary) for counter in COUNTED), *(ejection(phases, job, nic_rate) for job in ("p2p-incast", "put-incast"))])
    return grid(["system", "beside", *COUNTED.values(), "into the root of p2p-incast, % of its rate", "of put-incast"], rows)


# ---- the HPE guide

TESTS = {
    "p2p-lat": "RR Two-sided Lat (8 B)",
    "get-lat": "RR Get Lat (8 B)",
    "p2p-bw": "RR Two-sided BW (131072 B)",
    "put-bw": "RR Put BW (131072 B)",
    "p2p-bw-sync": "RR Two-sided BW+Sync (131072 B)",
    "p2p-bw-nat": "Nat Two-sided BW (131072 B)",
    "allreduce": "Multiple Allreduce (8 B)",
    "alltoall": "Multiple Alltoall (4096 B)",
}


@table("hpe-guide")
def hpe_guide(run):
    with open(os.path.join(run.root, "crates/record/data/gpcnet_results.csv"), encoding="utf-8") as file:
        guide = [line for line in csv.DictReader(file) if line["source"].endswith("fabric_validation_using_gpcnet_tests.md")]
    size = ["--on", "aurora", "--nodes", "64", "--ranks-per-node", "32", "--threads", "1", "--payload", "lengths", "--format", "fom"]
    # For each program and way to allocate, what seeds gave. The load test has three placements a seed; all nodes take part in the other.
    found = {}
    for allocation in ("contiguous", "scattered"):
        for seed in (1, 2):
            options = ["--placements", "3", "--rounds", "6", "--time", "20ms", "--allocation", allocation, "--seed", seed]
            found.setdefault(("network_load_test", allocation), []).append(merits(run.tailback("run", "gpcnet", *size, *options, "--no-page", out="run")))
        options = ["--rounds", "1", "--cut", "20", "--time", "20ms", "--allocation", allocation, "--seed", "1"]
        found["network_test", allocation] = [merits(run.tailback("run", "network", *size, *options, "--no-page", out="run"))]
    names, rows = {test: name for name, test in TESTS.items()}, []
    for line in guide:
        name, stat = names[line["test"]], {"avg": "avg", "99%": "p99"}[line["stat"]]
        key = f"{name}.impact{'99' if stat == 'p99' else ''}" if line["phase"] == "impact" else f"{name}.{line['phase']}.{stat}"
        cells = []
        for allocation in ("contiguous", "scattered"):
            values = [fom[key] for fom in found[line["program"], allocation] if key in fom]
            few, many = (digits(f(values)) if values else "-" for f in (min, max))
            cells.append(few if few == many else f"{few} to {many}")
        rows.append([line["program"], line["phase"], name, line["stat"], *cells, line["value"], line["unit"]])
    return grid(["program", "phase", "test", "", "one group", "scattered", "published", "unit"], rows)


# ---- LUMI with and without its control


def crab_lines(run, *options):
    """What scripts/crab prints, by system, nodes, victim, bytes and aggressor."""
    text = run.call(["scripts/crab", *options, run.program()], shown=["scripts/crab", *options, "tailback"])
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().split("\n")[2:]]
    return {(*line[:4], line[5]): line[6:] for line in cells}


@table("crab-control")
def crab_control(run):
    options = ["--systems", "lumi", "--nodes", "32,64", "--bytes", "64,4096,262144", "--placements", "5", "--seed", "1"]
    built, none = crab_lines(run, *options), crab_lines(run, *options, "--control", "none")
    rows = []
    for key, (average, _, tail) in built.items():
        without, spread, without_tail = none[key]
        (on, there), (on_tail, there_tail) = average.split(" / "), tail.split(" / ")
        rows.append([*key, f"{on} / {without.split(' / ')[0]} / {there}", spread, f"{on_tail} / {without_tail.split(' / ')[0]} / {there_tail}"])
    return grid(["system", "nodes", "victim", "bytes", "aggressor", "impact avg: with control / without / measured", "without, of placements", "99 %: with / without / measured"], rows)


# ---- predictions


def load(line):
    return f"{line['burst']} on, {line['pause']} off" if line["burst"] else "steady"


def foretold(line):
    """Average impact: the median of placements and its range, then 99 % over 99 %."""
    each = sorted(map(float, line["impacts"].split()))
    tail = ""
    if line["quiet_p99"] and line["loaded_p99"]:
        times = float(line["loaded_p99"]) / float(line["quiet_p99"])
        tail = f"; {1 / times if 'MiB' in line['unit'] else times:.3g}"
    return f"{statistics.median(each):.3g} ({each[0]:.3g} to {each[-1]:.3g}){tail}"


@table("predictions", needs="rows that scripts/predict has saved")
def predictions(run):
    """Only shows what docs/validation/predictions.csv has: its rows take days, and say themselves what made them."""
    run.commands.append(["scripts/predict"])
    lines = [line for row in PREDICTIONS.read().values() for line in row]
    loads = sorted({(micros(line["burst"]), micros(line["pause"]), load(line)) for line in lines})
    rows = {}
    for line in lines:
        key = (line["system"], f"{line['nodes']}x{line['ranks_per_node']}", line["victim"], line["bytes"], line["aggressor"])
        rows.setdefault(key, {})[load(line)] = line
    cells = []
    for key, found in rows.items():
        quiet = [float(line["quiet"]) for line in found.values()]
        few, many = digits(min(quiet)), digits(max(quiet))
        unit = next(iter(found.values()))["unit"]
        cells.append([*key[:4], f"{few if few == many else f'{few} to {many}'} {unit}", key[4], *(foretold(found[name[-1]]) if name[-1] in found else "-" for name in loads)])
    made = {}
    for line in lines:
        made.setdefault((line["system"], line["nodes"], line["commit"], line["seed"], line["placements"]), []).append(float(line["seconds"]))
    counts = [[*key, len(seconds), digits(sum(seconds)), digits(max(seconds))] for key, seconds in made.items()]
    header = ["system", "nodes x ranks", "victim", "bytes", "alone", "beside", *(name[-1] for name in loads)]
    return grid(header, cells) + "\n\n" + grid(["system", "nodes", "made at", "seed", "placements", "lines", "s in all", "s at most"], counts)
