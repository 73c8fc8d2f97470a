# SPDX-License-Identifier: GPL-3.0-or-later
"""
Streams of programs from other compilers, linkers and C libraries, and of stacks with each end reason, are unwound
and symbolized as the texts beside them expect. UPDATE=1 in the environment rewrites the texts: review the diff.
"""
import difflib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
sys.path.append(str(SOURCE.parent / "pipeline"))
import pipeline  # noqa: E402

UNWINDER_OPTIONS = {"frame-limit": ["--max-frames=3"]}
WITHOUT_FILES = {"image-unavailable"}
CASES = sorted(path.name.removesuffix(".tar.xz") for path in SOURCE.glob("*.tar.xz"))
DERIVED = {"frame-limit": "musl", "image-unavailable": "musl"}  # the same stream, processed differently
TABLES_ALONE = {"go"}  # elfutils cannot read the tables of the Go runtime
LINES = ("stack ", "symbol ", "inlined ")
KERNEL = re.compile(r"^image image=(\d+) kind=kernel ")


class Corpus(unittest.TestCase):
    def unwound(self, name, *options):
        """The stacks of a case and their names as text."""
        with tempfile.TemporaryDirectory(prefix="stackpipe-test-") as home:
            with tarfile.open(SOURCE / f"{DERIVED.get(name, name)}.tar.xz") as packed:
                packed.extractall(home)
            stream = Path(home, "stream").read_bytes()
            environment = os.environ | {"HOME": "/nonexistent" if name in WITHOUT_FILES else home}
            for stage in (["live-unwinder", "-q", "--sandbox=off", "--no-cache", *options], ["symbolizer", "-q", "--sandbox=off"],
                          ["frame-dump"]):
                stream = subprocess.run([pipeline.program(stage[0]), *stage[1:]], input=stream, stdout=subprocess.PIPE,
                                        env=environment, check=True).stdout
        lines = stream.decode().splitlines()
        # Kernel names are those of the machine that runs the test, or none.
        kernel = tuple(f"symbol image={number} " for line in lines for number in KERNEL.findall(line))
        return [line for line in lines if line.startswith(LINES) and not line.startswith(kernel)]

    def test_stacks_and_names_match_the_texts(self):
        for name in [*CASES, *DERIVED]:
            with self.subTest(name=name):
                expected = SOURCE / f"{name}.txt"
                lines = self.unwound(name, *UNWINDER_OPTIONS.get(name, []))
                if os.environ.get("UPDATE"):
                    expected.write_text("\n".join(lines) + "\n")
                difference = "\n".join(difflib.unified_diff(expected.read_text().splitlines(), lines, lineterm="", n=0))
                self.assertEqual(difference, "")

    def test_the_engines_agree(self):
        for name in set(CASES) - TABLES_ALONE:
            with self.subTest(name=name):
                self.assertEqual(self.unwound(name, "--engine=table"), self.unwound(name, "--engine=dwfl"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
