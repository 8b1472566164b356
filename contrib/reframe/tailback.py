"""ReFrame tests that run Tailback on a system's nodes, one rank per node, several, and as many as there are cores.

reframe -c contrib/reframe/tailback.py --run
        -S tailback.executable=/path/to/tailback  where the program is [found by PATH]
        -S tailback.nodes=64                      how many nodes [10]
        -S tailback.options='--time 10s'          options of the suite

A threshold for acceptance is a reference of the site's configuration, or --require of `tailback compare`.
"""

import os

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class tailback(rfm.RunOnlyRegressionTest):
    descr = "Congestion of the network as applications feel it"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    maintainers = ["The Tailback developers"]
    tags = {"network", "congestion", "acceptance"}

    suite = parameter(["gpcnet"])
    # 0: as many as the partition's processor has cores. GPCNeT's authors advise 1, some, and all of them.
    ranks_per_node = parameter([1, 8, 0])
    nodes = variable(int, value=10)
    options = variable(str, value="")

    executable = "tailback"
    time_limit = "1h"

    @run_before("run")
    def place(self):
        per_node = self.ranks_per_node
        if per_node == 0:
            processor = self.current_partition.processor
            self.skip_if_no_procinfo("the partition's processor is not known")
            per_node = processor.num_cores
        self.num_tasks_per_node = per_node
        self.num_tasks = self.nodes * per_node
        self.executable_opts = ["run", self.suite, "--quiet", "--format", "fom", "--force", "--out", "record", *self.options.split()]
        self.keep_files = ["record"]

    @sanity_function
    def passed(self):
        """Wrong data, a missing phase and a crash all lack this last line."""
        return sn.assert_found(r"^RESULT: PASS$", self.stdout, msg="the run did not end with RESULT: PASS")

    @run_before("performance")
    def figures(self):
        """Every FOM line is a performance variable; names are the program's, dots become underscores."""
        # Names are wanted now, before ReFrame evaluates anything in the stage directory.
        stdout = os.path.join(self.stagedir, sn.evaluate(self.stdout))
        found = sn.evaluate(sn.extractall(r"^FOM (\S+) (\S+) (\S+)$", stdout, (1, 2, 3), (str, float, str)))
        names = {name: (value, unit) for name, value, unit in found}
        self.perf_variables = {
            name.replace(".", "_").replace("-", "_"): sn.make_performance_function(sn.defer(value), unit)
            for name, (value, unit) in names.items()
        }
