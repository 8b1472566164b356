"""The tables of docs/validation/network.md: what the simulated network is held against. See scripts/table_makers.py."""
import csv
import os
import re
import statistics

from table_run import digits, fenced, grid, merits, table

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


CONTROLS = [("none", ""), ("infiniband", ""), ("dcqcn", 'preset = "ns3-rdma"\n'), ("slingshot", "")]


@table("control-shares")
def control_shares(run):
    with open(os.path.join(run.root, "machines/default.toml"), encoding="utf-8") as file:
        machine = file.read().split("[control]")[0]
    for control, more in CONTROLS:
        with open(os.path.join(run.folder, f"{control}.toml"), "w", encoding="utf-8") as file:
            file.write(f'{machine}[control]\nkind = "{control}"\n{more}')
    rows = []
    for share in (15, 21, 25, 30, 35, 40, 50, 80):
        cells = []
        for control, _ in CONTROLS:
            options = ["--canaries", "p2p-lat", "--congestors", "put-incast", "--share", f"{share}%", "--placements", "5", "--threads", "1", "--payload", "lengths", "--format", "fom"]
            on = os.path.join(run.folder, f"{control}.toml")
            impacts = [merits(run.tailback("run", "gpcnet", "--on", on, *options, "--seed", seed, out="run"))["p2p-lat.impact"] for seed in (1, 2, 3)]
            cells.append(f"{min(impacts):.2f} to {max(impacts):.2f}")
        rows.append([f"{share} %", *cells])
    return grid(["nodes that load", *(" ".join([control, more.strip()]).strip() for control, more in CONTROLS)], rows)


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


def ranks(pairs):
    """The rank correlation (Spearman) of pairs; equal values share the mean of their ranks."""

    def ranked(values):
        return [sum(w < v for w in values) + (sum(w == v for w in values) - 1) / 2 for v in values]

    return statistics.correlation(*(ranked(side) for side in zip(*pairs)))


@table("table2", needs="rows that scripts/table2 has saved")
def table2(run):
    """Only shows what docs/validation/table2.csv has: its rows take a day, and say themselves what made them."""
    run.commands.append(["scripts/table2"])
    with open(os.path.join(run.root, "docs/validation/table2.csv"), encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    with open(os.path.join(run.root, "crates/record/data/gpcnet_results.csv"), encoding="utf-8") as file:
        paper = [line for line in csv.DictReader(file) if line["source"] == "SC19 paper Table 2"]
    tests = {"p2p-lat": "Lat", "p2p-bw-sync": "BW", "allreduce": "Allreduce"}

    def theirs(line, phase, stat):
        found = [x for x in paper if x["system"].lower() == line["system"] and x["nodes"] == line["nodes"] and x["ppn"] == line["ranks_per_port"]]
        return next(float(x["value"]) for x in found if tests[line["canary"]] in x["test"] and x["phase"] == phase and x["stat"] == stat)

    rows, near, tails, alone_near, lats = [], {}, [], {"p2p-bw-sync": [], "allreduce": []}, []
    for line in lines:
        values = {(phase, stat): theirs(line, phase, stat) for phase in ("isolated", "loaded") for stat in ("avg", "99%")}
        alone, loaded = values["isolated", "avg"], values["loaded", "avg"]
        impact = alone / loaded if line["canary"] == "p2p-bw-sync" else loaded / alone
        ours = sorted(map(float, line["impacts"].split()))
        middle = statistics.median(ours)
        cells = [f"{line[f'{phase}_{key}'] or '-'} / {values[phase, stat]:g}" for phase in ("isolated", "loaded") for key, stat in (("avg", "avg"), ("p99", "99%"))]
        ratio = f"{line['drain_ratio']} / {values['loaded', '99%'] / float(line['drain_us']):.3g}" if line["drain_ratio"] else ""
        control = "" if line["control"] == "as built" else f", control {line['control']}"
        name = f"{line['system']} {line['nodes']}x{line['ranks_per_port']}{control}"
        rows.append([name, line["canary"], *cells, f"{middle:.3g} ({ours[0]:.3g} to {ours[-1]:.3g}) / {impact:.3g}", ratio, line["placements"], line["drains"], line["commit"], line["seconds"]])
        if not control:
            near.setdefault(line["canary"], []).append(1 / 3 <= middle / impact <= 3)
            if line["isolated_p99"] and line["loaded_p99"]:
                worse = float(line["loaded_p99"]) / float(line["isolated_p99"]) / (values["loaded", "99%"] / values["isolated", "99%"])
                tails.append(1 / 3 <= worse <= 3)
            if line["canary"] in alone_near:
                alone_near[line["canary"]].append(1 / 1.5 <= float(line["isolated_avg"]) / alone <= 1.5)
            else:
                lats.append((float(line["loaded_avg"]), loaded))
    header = ["row (nodes x ranks per port)", "canary", "isolated avg", "isolated 99 %", "loaded avg", "loaded 99 %", "impact: median (of placements) / published", "99 % / drain", "placements", "drain times measured", "made at", "s"]
    counts = [[canary, f"{sum(good)} of {len(good)}"] for canary, good in near.items()]
    counts.append(["all", f"{sum(map(sum, near.values()))} of {sum(map(len, near.values()))}"])
    counts.append(["all, 99 % loaded over 99 % alone", f"{sum(tails)} of {len(tails)}"])
    counts += [[f"{canary} alone, within a factor of 1.5", f"{sum(good)} of {len(good)}"] for canary, good in alone_near.items()]
    counts.append(["p2p-lat loaded, rank correlation with the published", f"{ranks(lats):.2f}"])
    missing = len({(x["system"], x["nodes"], x["ppn"]) for x in paper}) - len({(x["system"], x["nodes"], x["ranks_per_port"]) for x in lines})
    return grid(header, rows) + "\n\n" + grid(["of the lines above, as built", "median impact within a factor of three, unless it says otherwise"], counts) + f"\n\nRows of the paper that are not here: {missing}."


@table("congestors-alone")
def congestors_alone(run):
    rows = []
    for system, nodes in (("crystal", 64), ("osprey", 128)):
        for congestor in ("p2p-incast", "put-incast", "get-bcast", "a2a"):
            cells = {"p2p-lat": [], "p2p-bw-sync": [], "allreduce": []}
            for seed in (1, 2, 3):
                options = ["--nodes", nodes, "--ranks-per-node", "8", "--congestors", congestor, "--placements", "5", "--time", "20ms", "--threads", "1", "--payload", "lengths", "--seed", seed]
                found = merits(run.tailback("run", "gpcnet", "--on", system, *options, "--format", "fom", out="run"))
                for canary, impacts in cells.items():
                    impacts.append(found[f"{canary}.impact"])
            rows.append([f"{system.capitalize()} {nodes}x8", congestor, *(f"{min(x):.2f} to {max(x):.2f}" for x in cells.values())])
    return grid(["system", "congestor", "p2p-lat", "p2p-bw-sync", "allreduce"], rows)


# What is assumed in three machine files, or could be otherwise: (system, size, what, expression, replacement).
ASSUMED = [
    ("crystal", "64", "as it is", "", ""),
    ("crystal", "64", "two trains private to a channel", r'\nbuffer = "336B"[^\n]*\nshared = "3456B"[^\n]*\nglobal_shared = "3456B"', '\nbuffer = "672B"\nshared = "768B"\nglobal_shared = "768B"'),
    ("crystal", "64", "8 KiB private to a channel", r'\nbuffer = "[^"]*"', '\nbuffer = "8KiB"'),
    ("crystal", "64", "packets of 64 bytes, no trains", r'\nmtu = "[^"]*"', '\nmtu = "64B"'),
    ("crystal", "64", "trains of 512 bytes, all private", r'\nmtu = "[^"]*"((?s:.*))\nbuffer = "[^"]*"[^\n]*\nshared = "[^"]*"[^\n]*\nglobal_shared = "[^"]*"', '\nmtu = "512B"\\1\nbuffer = "768B"\nshared = "0"'),
    ("crystal", "64", "messages of 4 KiB pushed", r'\neager = "[^"]*"', '\neager = "8KiB"'),
    ("crystal", "64", "4 transfers under way", r"\noutstanding = \d+", "\noutstanding = 4"),
    ("crystal", "64", "32 KiB under way", r'\nwindow = "[^"]*"', '\nwindow = "32KiB"'),
    ("crystal", "64", "no limit of bytes under way", r'\nwindow = "[^"]*"', '\nwindow = "0"'),
    ("crystal", "64", "answers travel with data", r'\napart = "[^"]*"', '\napart = "control"'),
    ("crystal", "64", "loads multiplied with lengths", r'\nby_length = "[^"]*"', '\nby_length = "true"'),
    ("crystal", "64", "UGAL bias 4 KiB", r'\nbias = "[^"]*"', '\nbias = "4KiB"'),
    ("crystal", "64", "a queue for each column of tiles", r'\nqueueing = "[^"]*"', '\nqueueing = "columns"'),
    ("crystal", "64", "no shared queues (voq)", r'\nqueueing = "[^"]*"', '\nqueueing = "voq"'),
    ("crystal", "64", "a NIC takes in 2 GB/s", r"\n\[nic\]", '\n[nic]\neject_rate = "2GB/s"'),
    ("osprey", "128", "as it is", "", ""),
    ("osprey", "128", "buffer 16 KiB", r'\nbuffer = "[^"]*"', '\nbuffer = "16KiB"'),
    ("osprey", "128", "buffer 256 KiB", r'\nbuffer = "[^"]*"', '\nbuffer = "256KiB"'),
    ("osprey", "128", "a queue for each input", r'\nqueueing = "[^"]*"', '\nqueueing = "fifo"'),
    ("osprey", "128", "buffers of 16 KiB, and 48 KiB shared", r'\nbuffer = "[^"]*"', '\nbuffer = "16KiB"\nshared = "48KiB"'),
    ("osprey", "128", "eager to 1 KiB", r'\neager = "[^"]*"', '\neager = "1KiB"'),
    ("osprey", "128", "adaptive routing", r'\n\[routing\]\nkind = "[^"]*"', '\n[routing]\nkind = "adaptive"'),
    ("malbec", "120", "as it is", "", ""),
    ("malbec", "120", "buffers of 16 KiB, and 48 KiB shared", r'\nbuffer = "[^"]*"', '\nbuffer = "16KiB"\nshared = "48KiB"'),
    ("malbec", "120", "no control", r'\n\[control\]\nkind = "[^"]*"[^\[]*', '\n[control]\nkind = "none"\n'),
    ("malbec", "120", "no control, buffers of 16 KiB, and 48 KiB shared", r'\nbuffer = "[^"]*"((?s:.*))\n\[control\]\nkind = "[^"]*"[^\[]*', '\nbuffer = "16KiB"\nshared = "48KiB"\\1\n[control]\nkind = "none"\n'),
]
# On many nodes other things matter than in one chassis.
SMALL_ONLY = ("UGAL bias 4 KiB", "a NIC takes in 2 GB/s", "messages of 4 KiB pushed")
ASSUMED += [(system, "696", what, *change) for system, _, what, *change in ASSUMED if system == "crystal" and what not in SMALL_ONLY]


def altered(run, system, name, expression, replacement):
    """The path of a preset with one place changed. Fails if there is no such place."""
    with open(os.path.join(run.root, f"machines/{system}.toml"), encoding="utf-8") as file:
        text, changes = re.subn(expression, replacement, file.read(), count=1)
    if changes != 1:
        raise RuntimeError(f"machines/{system}.toml has no place for: {replacement.strip()}")
    path = os.path.join(run.folder, f"{system}-{name}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


@table("assumed")
def assumed(run):
    rows = []
    for i, (system, nodes, what, expression, replacement) in enumerate(ASSUMED):
        path = altered(run, system, str(i), expression, replacement)
        options = ["--nodes", nodes, "--ranks-per-node", "8", "--canaries", "p2p-lat,allreduce", "--time", "10ms", "--format", "fom"]
        said = run.tailback("run", "gpcnet", "--on", path, *options, out=f"run{i}")
        fom = merits(said)
        cells = [digits(fom[key]) for key in ("p2p-lat.impact", "p2p-lat.drain_ratio99", "allreduce.impact")]
        rows.append([f"{system.capitalize()} {nodes}x8, {what}", *cells])
    return grid(["changed", "p2p-lat, average impact", "its loaded 99 % / drain", "allreduce, average impact"], rows)


@table("packets")
def packets(run):
    """Aries in trains of four packets, as its presets are, and packet by packet."""
    rows = []
    for system, nodes, ranks in (("crystal", "696", "1"), ("crystal", "696", "8"), ("theta", "4096", "1"), ("edison", "5575", "1")):
        path = altered(run, system, "64", r'\nmtu = "256B"', '\nmtu = "64B"')
        for name, what in ((system, "trains of 256 bytes"), (path, "packets of 64 bytes")):
            options = ["--nodes", nodes, "--ranks-per-node", ranks, "--canaries", "p2p-lat,allreduce", "--placements", "3", "--rounds", "6", "--cut", "20", "--time", "8ms"]
            fom = merits(run.tailback("run", "gpcnet", "--on", name, *options, "--threads", "1", "--payload", "lengths", "--format", "fom", out="run"))
            rows.append([f"{system.capitalize()} {nodes}x{ranks}", what, *(digits(fom[key]) for key in ("p2p-lat.impact", "p2p-lat.drain_ratio99", "allreduce.impact"))])
    return grid(["", "simulated as", "p2p-lat, average impact", "its loaded 99 % / drain", "allreduce, average impact"], rows)


@table("crab", needs="one idle core")
def crab(run):
    options = ["--nodes", "8,16,32,64", "--bytes", "8,64,512,4096,32768,262144", "--placements", "5", "--seed", "1"]
    return run.call(["scripts/crab", *options, run.program()], shown=["scripts/crab", *options, "tailback"])
