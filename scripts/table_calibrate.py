"""Tables of docs/validation/calibrate.md: twins of machines. See scripts/table_makers.py."""
from table_run import table


@table("twins")
def twins(run):
    """Ten hidden machines, measured, fitted and predicted."""
    return run.call(["scripts/twins", "10", "1"]).strip()


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
