"""Reads the recipes of Ramble, Spack, containers and conda, the first two with stand-ins for the tools' words, and holds them against the program.

contrib.py STDOUT: what a real run of `tailback run gpcnet` printed. With UPDATE=1 the easyconfig's list of crates is rewritten.
"""

import ast
import builtins
import os
import re
import sys
import tomllib
from pathlib import Path

EASYCONFIG = Path("contrib/easybuild/Tailback-0.1.0.eb")


class Words:
    """Every word of a recipe language that a source uses: a call is noted, and a class can be derived from."""

    def __init__(self, source):
        self.said = []
        used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
        # `license` is a word of Spack's and, in a Python with its site module, a builtin.
        ours = {name for name in used if name == "license" or not hasattr(builtins, name)}
        self.names = {name: self.word(name) for name in ours}

    def word(self, name):
        def word(*args, **kwargs):
            self.said.append((name, args, kwargs))
            return Noted()

        return type(name, (), {}) if name[:1].isupper() else word

    def all(self, name):
        return [(args, kwargs) for said, args, kwargs in self.said if said == name]


class Noted:
    """What a word gives: a block to enter, or a decorator."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def __call__(self, function):
        return function


def read(path):
    """Runs a recipe without its imports."""
    source = re.sub(r"^from .* import .*$", "", Path(path).read_text(), flags=re.M)
    words = Words(source)
    exec(compile(source, path, "exec"), words.names | {"__name__": "recipe"})
    return words


def ramble(printed):
    words = read("contrib/ramble/applications/tailback/application.py")
    lines = printed.splitlines()
    ((_, merit),) = words.all("figure_of_merit")
    found = [m for m in (re.match(merit["fom_regex"], line) for line in lines) if m]
    assert len(found) == sum(line.startswith("FOM ") for line in lines) > 5, "the expression misses FOM lines"
    assert all(float(m[merit["group_name"]]) >= 0 for m in found)
    ((_, success),) = words.all("success_criteria")
    assert [line for line in lines if re.match(success["match"], line)] == [lines[-1]], "only the last line tells of success"
    workloads = [args[0] for args, _ in words.all("workload")]
    print(f"Ramble's application: {len(workloads)} workloads, {len(found)} figures of merit found in a run")
    return workloads


def spack(version, rust):
    words = read("contrib/spack/packages/tailback/package.py")
    versions = [args[0] for args, _ in words.all("version")]
    assert version in versions, f"version {version} is not among {versions}"
    assert ((f"rust@{rust}:",), {"type": "build"}) in words.all("depends_on"), f"the recipe must ask for rust@{rust}:"
    print(f"Spack's package: versions {', '.join(versions)}, rust {rust} or newer")


def crates():
    """The crates of Cargo.lock that come from the registry, as EasyBuild wants them."""
    lock = tomllib.loads(Path("Cargo.lock").read_text())
    packages = [(p["name"], p["version"]) for p in lock["package"] if "source" in p]
    return "crates = [\n" + "".join(f"    ('{name}', '{version}'),\n" for name, version in packages) + "]\n"


def easybuild(version, rust):
    text = EASYCONFIG.read_text()
    listed = re.search(r"^crates = \[\n.*?^\]\n", text, flags=re.M | re.S)
    if os.environ.get("UPDATE"):
        EASYCONFIG.write_text(text.replace(listed[0], crates()))
        listed = re.match(r".*", crates(), flags=re.S)
    assert listed[0] == crates(), f"{EASYCONFIG} lists other crates than Cargo.lock; UPDATE=1 scripts/check-contrib rewrites it"
    assert f"version = '{version}'" in text and f"('Rust', '{rust}" in text, "the easyconfig's version or Rust is not the workspace's"


def container(rust):
    text = Path("contrib/container/Containerfile").read_text()
    assert f"rust:{rust}-" in text, f"the image to build in is not that of rust {rust}"
    copied = [line.split()[1] for line in text.splitlines() if line.startswith("COPY ") and "--from" not in line]
    assert copied and all(Path(source).exists() for source in copied), f"not all of {copied} are there"
    print(f"Containerfile: rust {rust}, copies {', '.join(copied)}")


def conda(version):
    text = Path("contrib/conda/recipe.yaml").read_text()
    assert f'version: "{version}"' in text, f"the recipe's version is not {version}"
    licences = re.findall(r"^    - (LICENSE\S*)$", text, flags=re.M)
    folder = re.search(r"--path (\S+)", text)[1]
    missing = [path for path in [*licences, folder + "/Cargo.toml"] if not Path(path).exists()]
    assert len(licences) == 2 and not missing, f"missing: {missing}"
    print(f"conda's recipe: version {version}, from {folder}")


def main():
    package = tomllib.loads(Path("Cargo.toml").read_text())["workspace"]["package"]
    version, rust = package["version"], package["rust-version"]
    ramble(Path(sys.argv[1]).read_text())
    spack(version, rust)
    easybuild(version, rust)
    container(rust)
    conda(version)


main()
