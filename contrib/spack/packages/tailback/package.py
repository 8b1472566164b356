from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class Tailback(CargoPackage):
    """Measure, model and predict congestion in HPC networks: one program, any MPI, and a packet-level
    network of its own for when there is no cluster."""

    homepage = "https://github.com/tailback/tailback"
    git = "https://github.com/tailback/tailback.git"

    maintainers("tailback")

    license("Apache-2.0 OR MIT")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    depends_on("rust@1.95:", type="build")
    # MPI is opened when a run starts, so the program is not linked with it and any one will do.
    depends_on("mpi", type="run")

    @property
    def build_directory(self):
        return join_path(self.stage.source_path, "crates", "cli")

    @run_after("install")
    def install_generated(self):
        """Man pages and completions come from the program itself."""
        tailback = Executable(self.prefix.bin.tailback)
        tailback("generate", "man", self.prefix.share.man.man1)
        mkdirp(bash_completion_path(self.prefix))
        with open(bash_completion_path(self.prefix) / "tailback", "w") as file:
            tailback("generate", "completions", "bash", output=file)

    def test_simulated_run(self):
        """run a small simulated network"""
        tailback = which(self.prefix.bin.tailback)
        out = tailback("run", "gpcnet", "--nodes", "10", "--rounds", "3", "--cut", "50", output=str.split)
        assert "RESULT: PASS" in out
