# SPDX-License-Identifier: GPL-3.0-or-later
"""
Measures how long one sample may take: records programs with hostile unwind information, and feeds their
samples to live-unwinder one by one, the next after the previous stack has been written. The first sample of
an image, which loads it, is reported separately.

	slowest_sample.py [RUNS]
"""
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import stages
import streams

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 5  # per program; the minimum for the same sample is used
ENGINES = "table", "dwfl"
HOSTILE = stages.BUILD / "tests" / "hostile"
BAD_FRAMES = "own-return", "each-other", "endless", "long", "upwards"
PROGRAMS = {
    "chain (means no harm)": [stages.BUILD / "tests" / "pipeline" / "chain", "once", "0.3"],
    **{which: [HOSTILE / "bad-frames", which, "0.3"] for which in BAD_FRAMES},
    "deep": [HOSTILE / "deep", "0.3"],
}
STACK = 16


def program(name):
    return str(stages.BUILD / name / name)


def tell_stacks(out, stacks):
    """Passes on each stack as it is written: the stage flushes before it waits for input."""
    buffer = bytearray()
    while data := out.read1(1 << 20):
        now = time.perf_counter()
        buffer += data
        while len(buffer) >= 8 and len(buffer) >= (size := int.from_bytes(buffer[:4], "little")):
            if int.from_bytes(buffer[4:6], "little") == STACK:
                stacks.put(now)
            del buffer[:size]


def times(stream, engine):
    """Seconds that each sample took."""
    taken, stacks = [], queue.SimpleQueue()
    stage = subprocess.Popen([program("live-unwinder"), "-q", f"--engine={engine}"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    thread = threading.Thread(target=tell_stacks, args=(stage.stdout, stacks))
    thread.start()
    for record in streams.records(stream):
        begun = time.perf_counter()
        stage.stdin.write(record)
        if streams.record_type(record) == streams.SAMPLE:
            stage.stdin.flush()
            taken.append(stacks.get() - begun)
    stage.stdin.close()
    thread.join()
    stage.wait()
    return taken


def main():
    with tempfile.TemporaryDirectory() as directory:
        for name, command in PROGRAMS.items():
            path = Path(directory) / "stream"
            with path.open("wb") as out:
                subprocess.run([program("perf-source"), "-q", "-F", "999", "--", *map(str, command)],
                               stdout=out, stderr=subprocess.DEVNULL, check=True)
            stream = path.read_bytes()
            for engine in ENGINES:
                least = [min(each) for each in zip(*(times(stream, engine) for _ in range(RUNS)))]
                slow = sorted(least, reverse=True)
                print(f"{name}, {engine}: {len(least)} samples; the slowest {slow[0] * 1e3:.2f} ms, the fifth "
                      f"{slow[min(4, len(slow) - 1)] * 1e3:.2f} ms, the median {slow[len(slow) // 2] * 1e3:.3f} ms",
                      flush=True)


if __name__ == "__main__":
    main()
