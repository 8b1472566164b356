"""What scripts share that simulate for hours: the program and its calls, machine files with another control, rows that are saved as they are
made."""
import csv
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PROGRAM = os.path.abspath(os.environ.get("TAILBACK", os.path.join(ROOT, "target/release/tailback")))
# Files of saved rows, in docs/validation.
SAVED = ("table2.csv", "predictions.csv", "twins.csv")


def machine(folder, system, control="as built"):
    """The file of a preset; with another control, a copy of it in this folder."""
    path = os.path.join(ROOT, f"machines/{system}.toml")
    if control == "as built":
        return path
    with open(path, encoding="utf-8") as file:
        text = file.read().split("[control]")[0]
    path = os.path.join(folder, f"{system}-control-{control}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'{text}[control]\nkind = "{control}"\n')
    return path


def called(*words, good=(0,)):
    """Calls the program, which may launch ranks as root; another exit code than a good one ends the script with what was said."""
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env=env, check=False)
    if good and done.returncode not in good:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {' '.join(map(str, words))} ended with {done.returncode}: {(done.stderr or done.stdout)[-800:]}")
    return done


def commit():
    """The commit that is checked out. Documents and saved rows do not count as changes: what they say does not change what is made."""

    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout.strip()

    changed = [line for line in git("status", "--porcelain").split("\n") if line and not line.endswith((".md", *SAVED))]
    return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def jobs(words, limit=None):
    """Runs a suite and returns the measured job of each test, `alone` and `loaded`. Fails with what the program said."""
    with tempfile.TemporaryDirectory() as folder:
        words = [str(word) for word in [*words, "--quiet", "--no-page", "--out", os.path.join(folder, "run")]]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=limit)
        if done.returncode not in (0, 5):
            raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
        with open(os.path.join(folder, "run", "run.json"), encoding="utf-8") as file:
            record = json.load(file)
    found = {}
    for phase in record["phases"]:
        about = phase["about"]
        found.setdefault(about["test"], {})[about["kind"]] = next(j for j in phase["jobs"] if j["role"] == "measured")
    return found


def micros(text):
    """Microseconds of a time that ends with its unit; 0 of none."""
    return next((float(text.removesuffix(unit)) * many for unit, many in (("us", 1), ("ms", 1000)) if text.endswith(unit)), 0)


class Rows:
    """A CSV of what was made so far: lines by the key of their row, each row in the place of what it was."""

    def __init__(self, name, fields, key, order):
        self.path, self.fields, self.key, self.order = os.path.join(ROOT, "docs/validation", name), fields, key, order

    def read(self):
        rows = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                for line in csv.DictReader(file):
                    rows.setdefault(tuple(line[k] for k in self.key), []).append(line)
        return rows

    def put(self, lines):
        """Saves a row. The file is read again first: another process may have saved its own meanwhile."""
        rows = self.read()
        rows[tuple(str(lines[0][k]) for k in self.key)] = lines
        with open(self.path + ".new", "w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, self.fields, lineterminator="\n")
            out.writeheader()
            for key in sorted(rows, key=self.order):
                out.writerows(rows[key])
        os.replace(self.path + ".new", self.path)


PREDICTED = ["system", "nodes", "ranks_per_node", "victim", "bytes", "aggressor", "burst", "pause", "quiet", "quiet_p99", "loaded", "loaded_p99", "unit", "impacts", "placements", "measured_us", "seed", "commit", "seconds"]
PREDICTIONS = Rows("predictions.csv", PREDICTED, PREDICTED[:8], lambda k: (k[0], int(k[1]), int(k[2]), k[3], int(k[4]), k[5], micros(k[6]), micros(k[7])))

TWINS = Rows(
    "twins.csv",
    ["seed", "network", "told", "near", "wrong", "held", "together", "kept", "threshold", "hidden_threshold", "impacts", "tails", "predicted", "measure_s", "fit_s", "commit"],
    ("seed",),
    lambda k: int(k[0]),
)
