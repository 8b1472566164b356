"""Tables of docs/validation/product.md about using the program: the slow part of a network, and what a newcomer does. See
scripts/table_makers.py."""
import os
import re
import time
from typing import NamedTuple

from table_run import grid, table

# A sound tree of four leaves with four nodes each and four spines; the cable of a node, and one between a leaf and a spine, made slow.
TREE = 'nodes = 16\nranks_per_node = 1\n[topology]\nkind = "fat-tree"\nlevels = 2\nradix = 8\n'
SLOW = '[[fault]]\nlink = "{}"\nrate = "{}"\n'


@table("slow-parts")
def slow_parts(run):
    """How often `run all-pairs` names the part that is slow, another one, or none."""
    rows = []
    for machine, link, rate, right in [
        ("default", None, None, None),
        ("small-dragonfly", None, None, None),
        ("tree", None, None, None),
        ("tree", "endpoint 9", "3GB/s", "node 9"),
        ("tree", "endpoint 9", "6GB/s", "node 9"),
        ("tree", "1-5", "1GB/s", "the switch of node 4, node 5, node 6, node 7"),
        ("tree", "1-5", "3GB/s", "the switch of node 4, node 5, node 6, node 7"),
    ]:
        on = machine
        if machine == "tree":
            on = os.path.join(run.folder, f"tree-{len(rows)}.toml")
            with open(on, "w", encoding="utf-8") as file:
                file.write(TREE + (SLOW.format(link, rate) if link else ""))
        named = [named_parts(run.tailback("run", "all-pairs", "--on", on, "--seed", seed, out="run", codes=(0, 3))) for seed in range(1, 11)]
        first = sum(parts[:1] == [right] for parts in named) if right else "-"
        rows.append([machine, f"{link} at {rate}" if link else "none", first, sum(any(part != right for part in parts) for parts in named), sum(not parts for parts in named)])
    return grid(["machine", "slow cable", "its part is named first", "another part is named", "none is named"], rows)


def named_parts(text):
    """The parts in the table of `run all-pairs`, the surest first."""
    found = re.search(r"Part +slow pairs.*\n +-+\n((?: +\S.*\n)*)", text)
    return [re.split(r"  +", line.strip())[0] for line in found[1].splitlines()] if found else []


class Task(NamedTuple):
    """What a newcomer wants, what to type (files to write first, commands, exit codes that are fine), and where the answer is printed."""

    wanted: str
    commands: list
    answer: str
    files: dict = {}
    codes: tuple = (0,)


CONTRACT = '[[require]]\nfigure = "gpcnet.p2p-lat.impact99"\nat_most = 20\n[[require]]\nfigure = "gpcnet.p2p-bw-sync.isolated.avg"\nat_least = "2000 MiB/s"\n'
NETWORK = ["run", "network", "--time", "1s", "--out"]

# Every command is in README.md. Records that a task leaves are there for later ones.
TASKS = [
    Task("a first result", [["tailback", "run", "gpcnet", "--out", "first"]], r"\S+ (takes|keeps) [^.]*\.?\d* [^.]*under load"),
    Task("a job for a cluster", [["tailback", "launch", "--nodes", "64", "--", "gpcnet"]], r"#SBATCH --nodes=\S+"),
    Task("which congestor hurts", [["tailback", "run", "gpcnet", "--sets", "matrix", "--out", "matrix"]], r"Impact, average\n.*\n.*\n.*"),
    Task(
        "are two MPIs different",
        [["mpirun.openmpi", "-n", "2", "tailback", *NETWORK, "open"], ["mpirun.mpich", "-n", "2", "tailback", *NETWORK, "mpich"], ["tailback", "compare", "open", "mpich"]],
        r"Verdict: [^.]*",
    ),
    Task("is this machine good enough", [["tailback", "accept", "contract.toml", "first"]], r"(ACCEPTED|NOT ACCEPTED)[^.]*", {"contract.toml": CONTRACT}, (0, 3)),
    Task("what would Summit do", [["tailback", "run", "gpcnet", "--on", "summit", "--nodes", "20", "--out", "summit"]], r"\S+ (takes|keeps) [^.]*\.?\d* [^.]*under load"),
    Task("my own machine", [["tailback", "machine", "check", "mine.toml"], ["tailback", "run", "gpcnet", "--on", "mine.toml", "--out", "mine"]], r"\S+ (takes|keeps) [^.]*\.?\d* [^.]*under load", {"mine.toml": TREE}),
    Task("every night", [["env", "OPTIONS=--nodes 20", "contrib/nightly/nightly.sh", "nights"], ["tailback", "history", "nights"]], r"\d+ runs?.*"),
    Task("the slow node", [["tailback", "run", "all-pairs", "--on", "slow.toml", "--out", "pairs"]], r"Nodes to take out of service: .*", {"slow.toml": TREE + SLOW.format("endpoint 9", "3GB/s")}, (0, 3)),
    Task("a page for the boss", [["tailback", "report", "first", "summit", "--format", "html"]], r"<title>.*?</title>"),
]


@table("tasks", needs="Open MPI, MPICH, two idle cores")
def tasks(run):
    """Ten tasks of a newcomer, each with what it took and where its answer begins."""
    rows = []
    for task in TASKS:
        for name, text in task.files.items():
            with open(os.path.join(run.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        begin, printed = time.monotonic(), ""
        for words in task.commands:
            real = [run.program() if w == "tailback" else os.path.join(run.root, w) if w.startswith("contrib/") else w for w in words]
            printed = run.call(real, shown=words, codes=task.codes, cwd=run.folder)
        seconds = time.monotonic() - begin
        found = re.search(task.answer, " ".join(printed.split()) if "\\n" not in task.answer else printed)
        if not found:
            raise RuntimeError(f"{task.wanted}: no answer {task.answer} in {printed[-2000:]}")
        rows.append([task.wanted, len(task.commands), len(task.files), f"{seconds:.1f} s", " ".join(found[0].split())[:100]])
    return grid(["wanted", "commands", "files to write", "took", "the answer begins"], rows)
