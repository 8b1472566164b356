"""Tailback for Ramble and Benchpark: every suite is a workload, every FOM line a figure of merit."""

from ramble.appkit import *


class Tailback(ExecutableApplication):
    """Measure, model and predict congestion in HPC networks."""

    name = "tailback"

    maintainers("tailback")

    tags("network", "congestion", "synthetic-benchmarks")

    with when("package_manager_family=spack"):
        software_spec("tailback", pkg_spec="tailback")
        required_package("tailback")

    suites = ["gpcnet", "network", "hpcc", "ambient", "maxrate", "contention"]

    for suite in suites:
        executable(
            f"run-{suite}",
            f"tailback run {suite} --quiet --format fom --force --out {{experiment_run_dir}}/record {{options}}",
            use_mpi=True,
        )
        workload(suite, executables=[f"run-{suite}"])

    workload_variable(
        "options",
        default="",
        description="Options of the suite; `tailback run SUITE --help` lists them",
        workloads=suites,
    )

    log_file = "{experiment_run_dir}/{experiment_name}.out"

    # One context for each name that the program prints, so that nothing need be listed here.
    fom_regex = r"^FOM (?P<name>\S+) (?P<value>\S+) (?P<unit>\S+)$"

    figure_of_merit_context("merit", regex=fom_regex, output_format="{name} [{unit}]")

    figure_of_merit(
        "value",
        log_file=log_file,
        fom_regex=fom_regex,
        group_name="value",
        units="",
        contexts=["merit"],
    )

    # The last line says whether all ran and all data were right; anything else is a failure.
    success_criteria("passed", mode="string", match=r"^RESULT: PASS$", file=log_file)
