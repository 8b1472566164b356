"""All-to-alls and ring all-gathers beside aggressors on half of an allocation, as HLC-Lab/CRAB measures them: one run. See scripts/crab."""
import csv
import os
import tempfile

from simulated import ROOT, jobs, machine

MEASURED = os.path.join(ROOT, "docs/validation/crab_impact.csv")
AGGRESSORS = {"all-to-all": "a2a-posted:2MiB", "incast": "p2p-incast:2MiB"}
VICTIMS = {"All-to-All": "a2a-posted", "All-Gather": "allgather"}


def measured():
    """Average and 99 % in us, by system, nodes, victim, bytes and aggressor. None was measured in bursts."""
    points = {}
    with open(MEASURED, encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            key = (row["system"], int(row["nodes"]), row["victim"], int(row["bytes"]), row["aggressor"])
            points[key] = (float(row["avg_us"]), float(row["p99_us"]))
    return points


def label(victim, size, ranks):
    """The canary of a victim. Measured all-gathers are named by the whole result; ours by what each rank has."""
    return f"{VICTIMS[victim]}:{size}" if victim == "All-to-All" else f"{VICTIMS[victim]}:{max(size // ranks, 1)}"


def run(options, system, nodes, aggressor, burst, sizes):
    """The job of each canary, `alone` and `loaded`. Fails with what the program said."""
    ranks = nodes // 2
    canaries = sorted({label(victim, size, ranks) for victim, size in sizes})
    with tempfile.TemporaryDirectory() as folder:
        words = [options.tailback, "run", "gpcnet", "--on", machine(folder, system, options.control), "--nodes", nodes, "--ranks-per-node", 1, "--allocation", options.allocation]
        words += ["--share", "50%", "--roles", "interleaved", "--congestors", AGGRESSORS[aggressor], "--canaries", ",".join(canaries), "--placements", options.placements]
        words += ["--rounds", options.rounds, "--cut", options.cut, "--time", options.time, "--seed", options.seed, "--threads", options.threads, "--payload", "lengths"]
        if burst:
            length, pause = burst.split("/")
            words += ["--burst", length, "--rest", pause]
        return jobs(words, getattr(options, "limit", None))


def seconds(job, ranks):
    """Average and 99 % of a whole operation: our times are those of one of its messages."""
    tail = next(q["value"] for q in job["summary"]["quantiles"] if q["q"] == 0.99)
    return job["summary"]["mean"] * (ranks - 1), tail * (ranks - 1)


def impacts(both):
    """The average impact in each placement."""
    return [loaded["summary"]["mean"] / alone["summary"]["mean"] for alone, loaded in zip(both["alone"]["placements"], both["loaded"]["placements"])]
