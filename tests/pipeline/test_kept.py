# SPDX-License-Identifier: GPL-3.0-or-later
"""A failed recording loses no older one, and the recorded program goes on whatever happens to its recording."""
import signal
import subprocess
from pathlib import Path

import pipeline

STACKPIPE = pipeline.program("stackpipe")
KNOWN = "known"
STATUS = 7
# Writes a known text, a while after its recording has failed, and exits with a known status.
WRITER = f': > "$0.begun"; i=0; while [ $i -lt 300 ]; do ls /usr/bin >/dev/null; i=$((i+1)); done; echo {KNOWN} > "$0"; exit {STATUS}'
NO_ROOM = "No space left on device"


class Kept(pipeline.RecordingTest):
    def stackpipe(self, *arguments, status=0, **options):
        done = subprocess.run([STACKPIPE, *arguments], cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, **options)
        self.assertEqual(done.returncode, status, done)
        return done

    def names(self):
        return sorted(path.name for path in self.directory.iterdir() if path.name.startswith("stackpipe."))

    def content(self, ending=""):
        return (self.directory / f"stackpipe.syscap{ending}").read_bytes()

    def test_a_typo_twice(self):
        self.stackpipe("record", "-q", "--", pipeline.CHAIN, "once", "0.2")
        before = self.content()
        for arguments, status in (["--", "./no-such-program"], 127), (["-e", "no-such-event", "--", "true"], 2), \
                                 (["-F", "fast", "--", "true"], 2), (["-p", "4194304"], 1):
            for _ in range(2):
                self.stackpipe("record", "-q", *arguments, status=status)
                self.assertEqual((self.names(), self.content()), (["stackpipe.syscap"], before), arguments)

    def test_the_last_recording_is_kept(self):
        self.stackpipe("record", "-q", "--", pipeline.CHAIN, "once", "0.2")
        before = self.content()
        self.stackpipe("record", "-q", "--", pipeline.CHAIN, "once", "0.2")
        self.assertEqual(self.names(), ["stackpipe.syscap", "stackpipe.syscap.old"])
        self.assertEqual(self.content(".old"), before)
        self.assertNotEqual(self.content(), before)

    def test_a_failure_replaces_no_file(self):
        for name in "out.syscap", "out.html", "out.folded", "out.pb.gz":
            self.stackpipe("record", "-q", "-o", name, "--", pipeline.CHAIN, "once", "0.2")
            before = (self.directory / name).read_bytes()
            self.stackpipe("record", "-q", "--force", "-o", name, "--", "./no-such-program", status=127)
            self.assertEqual((self.directory / name).read_bytes(), before)
            damaged = self.directory / "damaged.syscap"
            damaged.write_bytes((self.directory / "out.syscap").read_bytes()[:3000])
            self.stackpipe("convert", "-q", "--force", damaged, name, status=1)
            if name != "out.syscap":
                self.assertEqual((self.directory / name).read_bytes(), before)

    def test_a_failure_leaves_no_new_file(self):
        self.stackpipe("record", "-q", "--", "./no-such-program", status=127)
        self.stackpipe("heap", "-q", "--", "./no-such-program", status=127)
        self.assertEqual(self.names(), [])

    def test_heaps(self):
        self.stackpipe("heap", "-q", "--", "ls", "/")
        before = (self.directory / "stackpipe.heap").read_bytes()
        for _ in range(2):
            self.stackpipe("heap", "-q", "--", "./no-such-program", status=127)
            self.assertEqual(self.names(), ["stackpipe.heap"])
            self.assertEqual((self.directory / "stackpipe.heap").read_bytes(), before)

    @pipeline.needs_root
    def test_a_full_disk(self):
        small, known = self.directory / "small", self.directory / KNOWN
        small.mkdir()
        script = f'mount -t tmpfs -o size=64k none "{small}" && cd "{small}" && "$@"; status=$?; cp stackpipe.* ..; exit $status'
        for what in ["record"], ["heap", "--follow"]:
            with self.subTest(what[0]):
                known.unlink(missing_ok=True)
                done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", STACKPIPE, *what, "--", "sh", "-c", WRITER,
                                       known], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, STATUS, done)
                self.assertEqual(known.read_text().split(), [KNOWN])
                self.assertEqual(len([line for line in done.stderr.splitlines() if NO_ROOM in line]), 1, done)
                self.assertNotIn("wrote", done.stderr)
        self.assertRegex(self.stackpipe("report", "stackpipe.syscap", status=1).stdout, "INCOMPLETE")

    def test_each_stage_is_killed(self):
        """Kills the stages after the source, one after the other; the command is not affected."""
        for victim in range(1, 4):
            known = self.directory / f"{KNOWN}-{victim}"
            capture = self.directory / f"{victim}.syscap"
            started = self.start(self.source("--", "sh", "-c", WRITER, known), self.stage("live-unwinder"),
                                 self.stage("symbolizer"), self.stage("capture-sink", "-q", capture))
            pipeline.wait_for(lambda: Path(f"{known}.begun").exists(), "the command")
            started.processes[victim].send_signal(signal.SIGKILL)
            ended = started.end()
            self.assertEqual(ended[0].status, STATUS, ended)
            self.assertEqual(known.read_text().split(), [KNOWN])


if __name__ == "__main__":
    pipeline.main()
