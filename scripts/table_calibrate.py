"""Tables of docs/validation/calibrate.md: twins of machines. See scripts/table_makers.py."""
from simulated import TWINS
from table_run import grid, table


@table("twins", needs="rows that scripts/twins has saved")
def twins(run):
    """Only shows what docs/validation/twins.csv has: hidden machines, measured, fitted and predicted."""
    run.commands.append(["scripts/twins"])
    lines = [row[0] for row in TWINS.read().values()]
    rows = []
    for line in lines:
        near = f"{line['near']} of {line['told']}" + (f": {line['wrong']}" if line["wrong"] else "")
        right = "right" if line["threshold"] == line["hidden_threshold"] else f"{line['threshold']} for {line['hidden_threshold']}"
        impacts = line["impacts"] + ("" if line["predicted"] == "yes" else " **off**")
        rows.append([line["seed"], line["network"], near, f"{line['held']} of {line['told']}", line["together"], line["kept"], right, impacts, line["tails"], line["measure_s"], line["fit_s"], line["commit"]])
    head = ["seed", "network, control", "numbers told alone: within 5 %", "in their interval", "told with another", "kept", "threshold", "average impact: machine / twin", "99 %", "CPU s to measure", "to fit", "at"]
    total = lambda key: sum(int(line[key]) for line in lines)
    thresholds = sum(line["threshold"] == line["hidden_threshold"] for line in lines)
    good = sum(line["predicted"] == "yes" for line in lines)
    return f"""{grid(head, rows)}

Of {total('told')} numbers that are told alone {total('near')} are within 5 % of the hidden ones, {total('held')} intervals hold them; {thresholds} of {len(lines)} thresholds are right.
Impacts of {good} of {len(lines)} machines are predicted within 25 % (average) and a factor of two (99 %)."""


@table("twins-spread")
def twins_spread(run):
    """The hidden machines whose twins' impacts are off, with other seeds."""
    return run.call(["scripts/twins", "spread", "2", "7", "10"]).strip()


@table("twin-emulated", needs="Open MPI, network namespaces, two idle cores")
def twin_emulated(run):
    """Four nodes of the emulated cluster, and what their twin says of eight and ten."""
    return run.call(["scripts/twin-emulated"]).strip()


@table("twin-waiting", needs="Open MPI, network namespaces, two idle cores")
def twin_waiting(run):
    """What waiting costs on the emulated cluster."""
    return run.call(["scripts/twin-emulated", "waiting"]).strip()


@table("twin-bluewaters")
def twin_bluewaters(run):
    """Twins of Blue Waters from what is public."""
    return run.call(["scripts/twin-bluewaters"]).strip()
