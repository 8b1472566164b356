"""What makers of tables share: the table of them, a Run, which calls the program and keeps the commands, and grids. See scripts/tables."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
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

    def call(self, words, shown=None, codes=(0,), cwd=None):
        """What a program prints. `shown` is the command as a reader would type it. With an exit code beside `codes` there is no table."""
        words = [str(word) for word in words]
        self.commands.append([word.replace(self.folder + "/", "") for word in (shown or words)])
        if not shutil.which(words[0]):
            raise Missing(f"{words[0]} is not installed")
        env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TAILBACK": self.program()}
        done = subprocess.run(words, cwd=cwd or self.root, env=env, capture_output=True, text=True, check=False)
        if done.returncode == 77:
            raise Missing((done.stdout + done.stderr).strip().split("\n")[-1])
        if done.returncode not in codes:
            raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
        if done.returncode:
            print(done.stderr, end="", file=sys.stderr)
        return done.stdout

    def program(self):
        return os.environ.get("TAILBACK") or os.path.join(self.target, "tailback")

    def tailback(self, *words, out=None, launcher=(), codes=(0,)):
        """Runs the program; with `out` it leaves its record in that folder of this run."""
        if not os.access(self.program(), os.X_OK):
            raise Missing(f"{self.program()} is missing: cargo build --release")
        more = ["--quiet", "--force", "--out", os.path.join(self.folder, out)] if out else []
        shown = [*launcher, "tailback", *words, *(["--out", out] if out and out != "run" else [])]
        return self.call([*launcher, self.program(), *words, *more], shown=["tailback" if word == self.program() else str(word) for word in shown], codes=codes)

    def record(self, out):
        with open(os.path.join(self.folder, out, "run.json"), encoding="utf-8") as file:
            return json.load(file)

    def example(self, crate, name, *words):
        """Runs an example of a crate, built first."""
        with Run.lock:
            built = subprocess.run([self.cargo, "build", "--quiet", "--release", "-p", "tailback", "-p", crate, "--example", name], cwd=self.root, check=False)
        if built.returncode != 0:
            raise RuntimeError(f"the example {name} of {crate} does not build")
        shown = ["cargo", "run", "--release", "-p", crate, "--example", name, *(["--", *words] if words else [])]
        return self.call([os.path.join(self.target, "examples", name), *words], shown=shown)


def merits(text):
    """Figures of merit as `--format fom` prints them, by their names without that of the suite."""
    found = (line.split()[1:3] for line in text.splitlines() if line.startswith("FOM "))
    return {name.split(".", 1)[1]: float(value) for name, value in found}


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
