# SPDX-License-Identifier: GPL-3.0-or-later
"""
Recordings fail at a random moment: the recorded program runs to its end unharmed, and no older recording is
lost. With --all, two hundred of them.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
sys.path.append(str(SOURCE.parent / "pipeline"))
import pipeline  # noqa: E402 (the other tests' helpers)

N = 200 if "--all" in sys.argv else 24
STACKPIPE = pipeline.program("stackpipe")
LINES = 400
STATUS = 7
# A child writes each line, so that programs end while the recording fails.
WRITER = f"""
: > "$0.begun"
i=0
while [ $i -lt {LINES} ]; do
	expr $i + 1 >> "$0.part" || exit 9
	i=$((i + 1))
done
mv "$0.part" "$0"
exit {STATUS}
"""
KNOWN = "".join(f"{i + 1}\n" for i in range(LINES))
LONGEST_S = 1.2  # latest time at which a stage is killed; a whole recording takes about as long
RECORDERS = {
    "record": ("perf-source", "live-unwinder", "symbolizer", "capture-sink"),
    "heap": ("preload-source", "live-unwinder", "symbolizer"),
}
FILES = {"record": "stackpipe.syscap", "heap": "stackpipe.heap"}
OPTIONS = {"record": ["-F", "4999"], "heap": ["--follow"]}


def descendants(pid):
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield int(child)


def kill_stage(front, name):
    """Returns False if there is no such stage any more."""
    for child in descendants(front.pid):
        try:
            if Path(f"/proc/{child}/comm").read_text().strip() == name:
                os.kill(child, signal.SIGKILL)
                return True
        except (FileNotFoundError, ProcessLookupError):
            pass
    return False


@pipeline.needs_root
class Recordings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.old = {}
        for what in RECORDERS:
            with tempfile.TemporaryDirectory() as directory:
                subprocess.run([STACKPIPE, what, "-q", "--", "ls", "/"], cwd=directory, check=True, stdout=subprocess.DEVNULL)
                cls.old[what] = (Path(directory) / FILES[what]).read_bytes()

    def setUp(self):
        self.directory = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)
        self.recordings = self.directory / "recordings"
        self.recordings.mkdir()
        self.known = self.directory / "known"

    def command(self, what, *options):
        return [STACKPIPE, what, "-q", *OPTIONS[what], *options, "--", "sh", "-c", WRITER, self.known]

    def put_old(self, what):
        (self.recordings / FILES[what]).write_bytes(self.old[what])

    def kept(self, what):
        return [path.read_bytes() for path in self.recordings.iterdir() if path.name.startswith(FILES[what])]

    def check(self, what, fault):
        """A command that was not started cannot have been harmed."""
        if (self.directory / "known.begun").exists():
            self.n_begun += 1
            pipeline.wait_for(self.known.exists, f"the program's end ({fault})")
            self.assertEqual(self.known.read_text(), KNOWN, fault)
        self.assertIn(self.old[what], self.kept(what), f"the older recording is gone ({fault})")
        for path in self.directory.glob("known*"):
            path.unlink()

    def fill_disk(self, what, chance):
        size = len(self.old[what]) // 1024 + chance.randrange(1, 400)
        fault = f"{what}: a disk of {size} KiB"
        script = ('mount -t tmpfs -o size="$0"k none "$1" && cp "$2" "$1" && cd "$1" && shift 2 && "$@"; status=$?; '
                  'cp -p * "$OUT"; exit $status')
        old = self.directory / FILES[what]
        old.write_bytes(self.old[what])
        mounted = self.directory / "mounted"
        mounted.mkdir(exist_ok=True)
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, str(size), mounted, old, *self.command(what)],
                              env=dict(os.environ, OUT=str(self.recordings)), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertEqual(done.returncode, STATUS, (fault, done))
        return fault

    def kill(self, what, chance):
        self.put_old(what)
        victim, delay = chance.choice(RECORDERS[what]), chance.random() * LONGEST_S
        fault = f"{what}: {victim} killed after {delay:.3f} s"
        with subprocess.Popen(self.command(what), cwd=self.recordings, stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as front:
            time.sleep(delay)
            kill_stage(front, victim)
            front.wait(pipeline.PATIENCE_S)
        return fault

    def leave(self, what, chance):
        """The reader of the output closes it."""
        self.put_old(what)
        size = chance.randrange(1, 200000)
        fault = f"{what}: a reader that leaves after {size} bytes"
        options = ["-o", "-", *(["-f", "syscap"] if what == "record" else ["-f", "html"])]
        with subprocess.Popen(self.command(what, *options), cwd=self.recordings, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as front:
            front.stdout.read(size)
            front.stdout.close()
            self.assertEqual(front.wait(pipeline.PATIENCE_S), STATUS, fault)
        return fault

    def test_the_recorded_program_goes_on(self):
        chance = random.Random(20261126)
        self.n_begun = 0
        faults = [(what, fault) for what in RECORDERS for fault in (self.fill_disk, self.kill, self.kill, self.leave)]
        for i in range(N):
            what, fault = faults[i % len(faults)]
            for path in self.recordings.iterdir():
                path.unlink()
            self.check(what, fault(what, chance))
        print(f"{N} recordings failed, {self.n_begun} of a program that had begun: none was hurt, and no older recording lost",
              flush=True)


if __name__ == "__main__":
    sys.argv = [each for each in sys.argv if each != "--all"]
    unittest.main(verbosity=2)
