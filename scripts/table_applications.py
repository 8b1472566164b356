"""The tables of docs/validation/applications.md: what programs feel of congestion. See scripts/table_makers.py."""
import os
import time

from table_run import digits, grid, merits, table

# The GPCNeT paper's Table 3: a step of LULESH on 32 nodes alone and with an incast on all others, in milliseconds.
TABLE3 = [("crystal", 696, 45, 85, 1.9), ("osprey", 128, 55, 65, 1.2), ("malbec", 485, 30, 30, 1.0)]


def merits_of(run, out):
    return merits(run.tailback("report", os.path.join(run.folder, out), "--format", "fom"))


def impacts(record, test):
    """The least and the largest impact of any placement, in words."""
    def means(kind):
        job = next(phase["jobs"][0] for phase in record["phases"] if phase["name"] == f"{kind}/{test}")
        return [placement["summary"]["mean"] for placement in job["placements"]]

    ratios = [loaded / alone for alone, loaded in zip(means("isolated"), means("loaded"))]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


@table("table3", needs="two idle cores")
def table3(run):
    rows = []
    for machine, nodes, alone, loaded, impact in TABLE3:
        share = f"{100 * (nodes - 32) / nodes + 0.0005:.3f}%"
        run.tailback("run", "gpcnet", "--on", machine, "--nodes", nodes, "--ranks-per-node", "32", "--canaries", f"lulesh:compute={alone}ms",
                     "--congestors", "p2p-incast", "--share", share, "--placements", "5", "--time", "200ms", out=machine)
        found = {name.rsplit("ms.", 1)[-1]: value for name, value in merits_of(run, machine).items()}
        ms = [f"{1e-3 * found[name]:.1f}" for name in ("isolated.avg", "loaded.avg")]
        rows.append([machine, *ms, f"{found['impact']:.2f}", impacts(run.record(machine), f"lulesh:compute={alone}ms"), alone, loaded, impact])
    return grid(["system", "alone ms", "with the incast ms", "impact", "of single placements", "published: alone", "with the incast", "impact"], rows)


# Skeletons in sizes that end in minutes on 1,000 simulated ranks, and in seconds on four processes.
SKELETONS = [
    "lulesh:compute=1ms",
    "halo3d",
    "cg",
    "sweep3d:blocks=1",
    "fft3d:n=16",
    "gradient:size=100kB:buckets=2",
    "checkpoint:size=16KiB:pieces=4:share=8",
]


@table("skeletons", needs="Open MPI, two idle cores")
def skeletons(run):
    rows = []
    flags = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    run.tailback("run", "ambient", "--canaries", ",".join(SKELETONS), "--unit", "rank", "--repeat", "1", "--time", "1s", out="mpi", launcher=["mpirun", "-n", "4", *flags])
    machine = ["--on", "malbec", "--nodes", "100", "--ranks-per-node", "20", "--share", "50%"]
    run.tailback("run", "gpcnet", *machine, "--canaries", ",".join(SKELETONS), "--congestors", "a2a", "--placements", "3", "--rounds", "6", "--time", "50ms", out="simulated")
    real, simulated = merits_of(run, "mpi"), merits_of(run, "simulated")
    for canary in SKELETONS:
        times = [digits(simulated[f"{canary}.{name}"]) for name in ("isolated.avg", "loaded.avg")]
        impact = f"{simulated[f'{canary}.impact']:.2f}"
        here = digits(next(value for name, value in real.items() if name.endswith(f"{canary}.avg")))
        rows.append([f"`{canary}`", *times, impact, impacts(run.record("simulated"), canary), here])
    return grid(["skeleton", "1,000 simulated ranks: alone us", "under an all-to-all us", "impact", "of single placements", "4 processes: us"], rows)


def halo(side, steps):
    """A schedule: `side`^3 ranks exchange 10 KiB with six neighbours and compute for 20 us, again and again."""
    def number(x, y, z):
        return (x % side) + side * (y % side) + side * side * (z % side)

    ways = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    lines = [f"num_ranks {side ** 3}"]
    for z, y, x in ((z, y, x) for z in range(side) for y in range(side) for x in range(side)):
        lines.append(f"rank {number(x, y, z)} {{")
        for step in range(steps):
            for i, (dx, dy, dz) in enumerate(ways):
                lines.append(f"s{step}.{i}: send 10240b to {number(x + dx, y + dy, z + dz)} tag {i}")
                lines.append(f"r{step}.{i}: recv 10240b from {number(x - dx, y - dy, z - dz)} tag {i}")
                if step > 0:
                    lines += [f"s{step}.{i} requires c{step - 1}", f"r{step}.{i} requires c{step - 1}"]
            lines.append(f"c{step}: calc 20000")
            lines += [f"c{step} requires {way}{step}.{i}" for i in range(6) for way in "sr"]
        lines.append("}")
    return "\n".join(lines) + "\n", side ** 3 * steps * 13


@table("replay", needs="two idle cores")
def replay(run):
    rows = []
    for steps in (8, 77):
        name = f"halo{steps}.goal"
        text, operations = halo(10, steps)
        with open(os.path.join(run.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        begin = time.monotonic()
        run.tailback("replay", os.path.join(run.folder, name), "--on", "malbec", "--nodes", "100", "--ranks-per-node", "20", "--share", "50%", "--congestors", "a2a", "--repeat", "1", out=name + "-run")
        seconds = time.monotonic() - begin
        found = merits_of(run, name + "-run")
        alone, loaded, impact = (next(value for key, value in found.items() if key.endswith(last)) for last in ("isolated.avg", "loaded.avg", "impact"))
        row = [digits(alone), digits(loaded), f"{impact:.2f}"]
        rows.append([f"1,000 ranks, {steps} steps, {operations:,} operations", *row, f"{seconds:.0f} s"])
    return grid(["schedule: 3-D halo of 10 KiB, 20 us of computing", "alone us", "under an all-to-all us", "impact", "the whole run took"], rows)
