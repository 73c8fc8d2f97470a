#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real programs run to their end when traced, with the same output as without."""
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import heap  # noqa: E402
import pipeline  # noqa: E402

PYTHON = os.path.realpath(sys.executable)
SQL = """
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
insert into t select i, hex(i * 7919) from n;
create index u on t(b);
select count(*), sum(length(b)), min(b), max(b) from t where b > '35';
"""
NODE = """
const words = {};
for (let i = 0; i < 200000; i++) { const w = "w" + i % 977; words[w] = (words[w] || []).concat(i).slice(-9); }
console.log(Object.keys(words).length, JSON.stringify(words.w5), Buffer.alloc(1 << 20).length);
"""


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} {pipeline.NOT_INSTALLED}")


class Programs(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)

    def run_both(self, *command, options=(), least=1000, data=None):
        """Runs a command alone and traced: the output is the same, and the heap is consistent."""
        stdin = self.directory / "stdin"
        stdin.write_text(data or "", encoding="utf-8")
        stream = self.directory / "stream"
        with stdin.open() as source:
            alone = subprocess.run(command, cwd=self.directory, stdin=source, check=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with stdin.open() as source, stream.open("wb") as out:
            traced = subprocess.run([heap.PRELOAD, "-q", *options, "--", *command], stdin=source,
                                    cwd=self.directory, stdout=out, stderr=subprocess.PIPE,
                                    check=False)
        self.assertEqual(traced.returncode, 0, traced.stderr[-2000:])
        self.assertIn(alone.stdout, traced.stderr)
        found = heap.Heap(stream.read_bytes())
        self.assertEqual(found.status, 0)
        self.assertFalse(found.lost)
        self.assertGreater(len(found.events), least)
        unknown = [event for event in found.live()[1] if event.kind == "allocated"]
        self.assertEqual(unknown, [])  # no allocated block is allocated again
        return found

    @unittest.skipUnless(importlib.util.find_spec("test.test_json"),
                         f"python3's own tests: the package {pipeline.NOT_INSTALLED}")
    def test_python_runs_its_own_tests(self):
        self.run_both(PYTHON, "-c", "import unittest, sys\n"
                      "names = ['test.test_json', 'test.test_struct', 'test.test_heapq', "
                      "'test.test_bisect', 'test.test_textwrap']\n"
                      "result = unittest.TextTestRunner(stream=open('/dev/null', 'w')).run("
                      "unittest.defaultTestLoader.loadTestsFromNames(names))\n"
                      "print(result.testsRun, len(result.errors), len(result.failures))",
                      least=50000)

    def test_python_with_threads_and_children(self):
        self.run_both(PYTHON, "-c", "import concurrent.futures, subprocess, sys, json\n"
                      "def work(i): return len(json.dumps([list(range(i))] * 50))\n"
                      "with concurrent.futures.ThreadPoolExecutor(8) as pool:\n"
                      "    print(sum(pool.map(work, range(300))))\n"
                      "print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'],"
                      " stdout=-1).stdout)", options=["--follow"], least=10000)

    @needs("git")
    def test_git(self):
        for command in (["git", "init", "-q", "."], ["git", "config", "user.name", "a"],
                        ["git", "config", "user.email", "a@example.org"]):
            subprocess.run(command, cwd=self.directory, check=True)
        for i in range(30):
            (self.directory / "file").write_text("".join(f"{i * k}\n" for k in range(500)))
            subprocess.run(["git", "add", "file"], cwd=self.directory, check=True)
            subprocess.run(["git", "commit", "-q", "-m", str(i)], cwd=self.directory, check=True)
        self.run_both("git", "log", "-p", "--stat", options=["--follow"])

    @needs("sqlite3")
    def test_sqlite(self):
        self.run_both("sqlite3", ":memory:", data=SQL, least=10000)

    @needs("node")
    def test_node(self):
        node = subprocess.run(["node", "-p", "process.execPath"], stdout=subprocess.PIPE,
                              check=True).stdout.decode().strip()
        self.run_both(node, "-e", NODE, least=5000)

    @needs("g++")
    def test_a_compiler_and_its_children(self):
        source = self.directory / "a.cc"
        source.write_text("#include <map>\n#include <string>\n#include <vector>\n"
                          "int main() { std::map<std::string, std::vector<int>> m;"
                          " m[\"a\"].push_back(1); return m.size() - 1; }\n")
        build = "g++ -O1 -o OUT a.cc && ./OUT && md5sum < OUT"
        found = self.run_both("sh", "-c", build.replace("OUT", "a"), options=["--follow"],
                              least=100000)
        self.assertGreater(len({event.process for event in found.events}), 4)

    @needs("redis-server")
    @needs("redis-benchmark")
    def test_a_server_under_load(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        stream = self.directory / "stream"
        with stream.open("wb") as out:
            server = subprocess.Popen([heap.PRELOAD, "-q", "--", "redis-server", "--port", port,
                                       "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"],
                                      stdout=out, stderr=subprocess.DEVNULL, cwd=self.directory)
            client = ["redis-cli", "-p", port]
            pipeline.wait_for(lambda: b"PONG" in subprocess.run(
                [*client, "ping"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                check=False).stdout, "the server")
            subprocess.run(["redis-benchmark", "-p", port, "-q", "-n", "20000", "-t",
                            "set,lpush,hset,sadd"], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(subprocess.run([*client, "llen", "mylist"], stdout=subprocess.PIPE,
                                            check=True).stdout, b"20000\n")
            subprocess.run([*client, "shutdown", "nosave"], check=False,
                           stdout=subprocess.DEVNULL)
            self.assertEqual(server.wait(pipeline.PATIENCE_S), 0)
        with stream.open("rb") as source:
            summary = subprocess.run([pipeline.program("frame-dump"), "--summary"], stdin=source,
                                     stdout=subprocess.PIPE, check=True)
        self.assertIn(b"everything adds up", summary.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
