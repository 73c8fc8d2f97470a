# SPDX-License-Identifier: GPL-3.0-or-later
"""Privileges: users record their own programs, and unwinding needs no privilege at all."""
import re
import subprocess
import sys

import pipeline
import streams

KERNEL_SIDE_TOO = 1  # the highest perf_event_paranoid at which a user sees the kernel's side
OWN_PROGRAMS = 2  # … and at which a user may record at all
PROGRAMS = "perf-source", "live-unwinder", "symbolizer"
# Prints how many bytes the first client sends.
SQUATTER = """
import socket, sys
listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listening.bind("\\0" + sys.argv[1])
listening.listen(8)
print("there", flush=True)
print(len(listening.accept()[0].recv(4096)))
"""


@pipeline.needs_root
class AsNobody(pipeline.RecordingTest):
    """Stages as the user nobody; the programs are copies, as the build directory may be private."""

    def setUp(self):
        super().setUp()
        self.directory.chmod(0o755)
        self.copies = {name: pipeline.readable_copy(pipeline.program(name), self.directory)
                       for name in PROGRAMS}

    def as_nobody(self, name, *arguments):
        return [*pipeline.NOBODY, self.copies[name], *arguments]

    def start_as_nobody(self, *arguments):
        return self.start(self.as_nobody("perf-source", *arguments))

    def folded_by(self, *commands):
        sink = self.stage("capture-sink", "-f", "folded", "-")
        folded = self.run_well(*commands, sink)[-1].output.decode()
        return streams.folded_stacks(folded)

    def test_an_impostor_at_the_servers_address(self):
        """A stream recorded by root: its image server has exited, and any user can take the address."""
        stream = self.directory / "raw.stream"
        with stream.open("wb") as out:
            self.run_well(self.source("-F", "999", "--", pipeline.CHAIN, "once", "0.3"), stdout=out)
        text = self.run_on(stream, [pipeline.program("frame-dump")]).decode()
        address = re.search(r'^hello .*image_server="([^"]+)"', text).group(1)
        with subprocess.Popen([*pipeline.NOBODY, sys.executable, "-c", SQUATTER, address],
                              stdout=subprocess.PIPE, text=True) as squatter:
            self.assertEqual(squatter.stdout.readline().strip(), "there")
            with stream.open("rb") as stdin:
                ended = self.start(self.stage("live-unwinder"), self.stage("symbolizer", "-q"),
                                   self.stage("capture-sink", "-f", "folded", "-"), stdin=stdin).end()
            self.assertEqual(squatter.communicate()[0].strip(), "0")
        self.assertIn("is not the image server", "\n".join(ended[0].errors))
        self.assert_nearly_all_in_chain(streams.folded_stacks(ended[-1].output.decode()))

    def assert_is_one_line(self, ended, text):
        ended.name = "perf-source"
        self.assert_fails_in_one_line(ended, text=text)

    def test_records_an_own_command(self):
        chain = pipeline.readable_copy(pipeline.CHAIN, self.directory)
        ended = self.start_as_nobody("--", chain, "once", "0.2").end()[0]
        if pipeline.paranoid() > OWN_PROGRAMS:
            return self.assert_is_one_line(ended, "not allowed")
        self.assertEqual(ended.status, 0, ended)
        warned = "kernel code is not sampled" in "\n".join(ended.errors)
        self.assertEqual(warned, pipeline.paranoid() > KERNEL_SIDE_TOO, ended)
        self.assertTrue(all(line.startswith("perf-source: ") for line in ended.errors), ended)

    def test_sees_the_whole_chain_of_an_own_command(self):
        if pipeline.paranoid() > OWN_PROGRAMS:
            return
        chain = pipeline.readable_copy(pipeline.CHAIN, self.directory)
        stacks = self.folded_by(self.as_nobody("perf-source", "-q", "--", chain, "once", "0.5"),
                                self.as_nobody("live-unwinder"), self.as_nobody("symbolizer"))
        self.assert_nearly_all_in_chain(stacks)

    def assert_nearly_all_in_chain(self, stacks):
        found = sum(n for names, n in stacks if streams.user_side(names)[:1] == ["_start"]
                    and streams.user_side(names)[-4:] == ["main", "outer", "middle", "inner"])
        self.assertGreater(found, 0.8 * sum(n for _, n in stacks), stacks)

    def test_system_wide_recording_needs_permission(self):
        ended = self.start_as_nobody("-q", "-a", "-d", "0.1").end()[0]
        if pipeline.paranoid() > 0:
            self.assert_is_one_line(ended, "not allowed to record all processes")
        else:
            self.assertEqual(ended.status, 0, ended)

    def test_records_no_process_of_another_user(self):
        process = self.start_busy()
        ended = self.start_as_nobody("-q", "-p", str(process.pid)).end()[0]
        self.assert_is_one_line(ended, "not allowed to record this process")

    def test_unwinds_what_root_records(self):
        """The image server hands over files that the user nobody could not open by their paths."""
        private = self.directory / "private"
        private.mkdir(mode=0o700)
        chain = pipeline.readable_copy(pipeline.CHAIN, private)
        refused = subprocess.run([*pipeline.NOBODY, "test", "-e", chain])
        self.assertNotEqual(refused.returncode, 0)
        stacks = self.folded_by(self.source("--", chain, "once", "0.5"),
                                self.as_nobody("live-unwinder"), self.as_nobody("symbolizer"))
        self.assert_nearly_all_in_chain(stacks)


if __name__ == "__main__":
    pipeline.main()
