# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers made of namespaces and control groups, as container runtimes make them, are distinguished."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
sys.path.insert(0, str(SOURCE.parent / "pipeline"))
import pipeline  # noqa: E402 (the other tests' helpers)

FETCHED = SOURCE.parent.parent / "build" / "interop"  # for all build directories
OTLP_DEB = FETCHED / "opentelemetry-proto.deb"
OTLP_READER = ["/usr/bin/python3", SOURCE / "otlp.py", "--resources", OTLP_DEB]
IDS = ["0a" * 32, "1b" * 32]
UNSHARED = ["unshare", "--pid", "--mount", "--uts", "--ipc", "--cgroup", "--fork", "--mount-proc", "--kill-child"]


def hierarchy():
    """Mount point of a control-group hierarchy: version 2, else systemd's; None: neither."""
    mounts = [line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for kind, option in ("cgroup2", ""), ("cgroup", "name=systemd"):
        for mount, system in mounts:
            if system.split()[0] == kind and option in system:
                return Path(mount.split()[4])
    return None


@contextlib.contextmanager
def groups():
    """Creates two control groups like those of Docker with systemd; they must be empty at the end."""
    root = hierarchy()
    made = []
    try:
        if not root:
            raise OSError("no hierarchy")
        parent = root / f"stackpipe-test-{os.getpid()}.slice"
        for path in [parent, *(parent / f"docker-{number}.scope" for number in IDS)]:
            path.mkdir()
            made.insert(0, path)
    except OSError as error:
        for path in made:
            path.rmdir()
        raise unittest.SkipTest(f"{pipeline.NOT_HERE} control groups be made: {error}") from None
    try:
        yield made[1::-1]
    finally:
        for path in made:
            pipeline.wait_for(lambda path=path: not (path / "cgroup.procs").read_text(), f"{path} to be empty")
            path.rmdir()


@pipeline.needs_root
class Containers(pipeline.RecordingTest):
    def start_container(self, group, *command):
        moved = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
        return self.start([*moved, *UNSHARED, *command])

    def pids_of(self, group, n):
        """PIDs, on the host, of the processes that spin there."""
        def spinning():
            pids = [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
            found = [pid for pid in pids if Path(f"/proc/{pid}/comm").read_text().strip() == "chain"]
            return found if len(found) == n else None
        return pipeline.wait_for(spinning, "the container")

    def time_of(self, pids):
        """ns of CPU time of these processes."""
        return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids)

    def report(self, capture, *options):
        done = subprocess.run([pipeline.program("stackpipe"), "report", "--json", "-n", "0", *options, capture],
                              capture_output=True, check=True)
        return json.loads(done.stdout)

    def check_report(self, capture, pids, times):
        whole = {row["container"]: row["samples"] for row in self.report(capture)["cgroups"]}
        for number in IDS:
            report = self.report(capture, f"--cgroup={number}")
            self.assertEqual({row["pid"] for row in report["processes"] if row["name"] == "chain"}, pids[number])
            self.assertEqual(report["summary"]["looked_at"], whole[number])
            self.assertEqual([row["unit"] for row in report["cgroups"]], [f"docker-{number}.scope"])
        rates = [whole[number] / times[number] for number in IDS]
        self.assertLess(max(rates), 1.3 * min(rates), "samples of containers are proportional to their CPU time")

    def check_otlp(self, stream, pids, report):
        otlp = self.directory / "out.otlp"
        with stream.open("rb") as stdin:
            self.run_well([pipeline.program("capture-sink"), "-q", "--tid", otlp], stdin=stdin)
        if subprocess.run([SOURCE / "fetch-otlp", OTLP_DEB], check=False).returncode:
            self.skipTest("OpenTelemetry's schema is not installed, and cannot be had")
        resources = json.loads(subprocess.run([*OTLP_READER, otlp], capture_output=True, check=True).stdout)
        self.assertIn("chain", {resource["attributes"]["service.name"] for resource in resources})
        for row in report["cgroups"]:
            if row["container"] not in IDS:
                continue
            found = [each for each in resources if each["attributes"].get("container.id") == row["container"]]
            for each in found:
                self.assertEqual(each["attributes"]["process.linux.cgroup"], row["path"])
                self.assertEqual(each["attributes"]["systemd.unit"], row["unit"])
            self.assertEqual(sum(sum(each["samples"].values()) for each in found), row["samples"])
            self.assertLessEqual(pids[row["container"]], {int(pid) for each in found for pid in each["samples"]})
        for pid in set().union(*pids.values()):
            where = [resource for resource in resources if str(pid) in resource["samples"]]
            self.assertEqual(len(where), 1, "a process that was not moved has one resource")

    def test_containers_are_distinguished(self):
        stream, capture = self.directory / "all.stream", self.directory / "out.syscap"
        chain = pipeline.readable_copy(pipeline.CHAIN, self.directory)
        with groups() as paths:
            before = self.start_container(paths[0], chain, "once", "1000000")
            first = self.pids_of(paths[0], 1)
            with stream.open("wb") as out:
                started = self.start(self.source("-a"), self.stage("live-unwinder"), self.stage("symbolizer"), stdout=out)
                pipeline.wait_for(lambda: pipeline.has_size(stream, 1), "the stream")
                unseen = self.time_of(first)
                later = self.start_container(paths[1], "sh", "-c", f"{chain} once 1000000 & {chain} once 1000000")
                second = self.pids_of(paths[1], 2)
                pipeline.wait_for(lambda: pipeline.has_size(stream, 8_000_000), "samples")
                times = dict(zip(IDS, (self.time_of(first) - unseen, self.time_of(second))))
                started.processes[0].send_signal(signal.SIGINT)
                for ended in started.end():
                    self.assertEqual(ended.status, 0, ended)
            for container in before, later:
                container.kill()
        pids = dict(zip(IDS, (set(first), set(second))))
        with stream.open("rb") as stdin:
            self.run_well([pipeline.program("capture-sink"), "-q", capture], stdin=stdin)
        self.check_report(stream, pids, times)
        self.check_report(capture, pids, times)
        self.check_otlp(stream, pids, self.report(stream))


if __name__ == "__main__":
    pipeline.main()
