# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks for growth: runs the live pipeline for a long time over a mixed load of short programs.

    STACKPIPE_BUILD=build python3 soak.py [-d SECONDS] [-F HZ] [--directory DIR]

Runs compilers, python, node and other available workloads of workloads.py, each for a few seconds, two at a time
in rotation, and short processes (programs/churn.c) at a modest rate. Every 5 s it records time, RSS and
descriptors of each stage. What a stage holds varies with the running programs, so the median of each rotation
is used. At the end it prints least-squares slopes per 10 minutes, from 5 minutes (or a sixth of a shorter run)
on, and the values before the load and a minute after it. Nothing is asserted.

The sink writes a Sysprof capture to DIR. It would keep every distinct folded stack in memory until the end, and
so grow; for a capture it keeps only what it needs to write each name once. That grows with the number of names,
so the sink is reported apart: all other stages are "flow".
"""
import argparse
import itertools
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import stages
import workloads

CHURN = stages.BUILD / "tests" / "pipeline" / "churn"
INTERVAL_S = 5
WARM_UP_S = 300
PIECE_S = 5  # duration of each program of the load
N_AT_A_TIME = 2
SETTLE_S = 5  # without the load, before and
SETTLE_BEHIND_S = 50  # after it: images without mappings are dropped after 30 to 40 s
PROCESSES_A_SECOND = 10
BYTES_A_SAMPLE = 400  # of a capture: 24 and 8 per frame; twice a usual stack's size
RESERVE = 1 << 30


def check_space(directory, arguments):
    needed = int(arguments.seconds * int(arguments.rate) * os.cpu_count() * BYTES_A_SAMPLE)
    free = shutil.disk_usage(directory).free
    print(f"capture_mb_at_most={needed / 1e6:.0f} free_mb={free / 1e6:.0f}", flush=True)
    if free < needed + RESERVE:
        sys.exit(f"'{directory}' has too little space: name another --directory")


class Load:
    """Runs programs in turn, in threads; each in its own process group, so that none outlives the load."""

    def __init__(self, directory):
        self._commands = list(workloads.commands(PIECE_S, directory).values())
        churn = [CHURN, "exec", PROCESSES_A_SECOND * 3600, 3600, CHURN]
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._run_in_turn, args=(i,))
                         for i in range(N_AT_A_TIME)]
        self._threads.append(threading.Thread(target=self._run_again_and_again, args=(churn,)))
        for thread in self._threads:
            thread.start()

    def _run(self, command):
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        while process.poll() is None and not self._is_over.wait(0.1):
            pass
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _run_in_turn(self, first):
        for command in itertools.islice(itertools.cycle(self._commands), first, None):
            if self._is_over.is_set():
                return
            self._run(command)

    def rotation_s(self):
        return len(self._commands) * PIECE_S

    def _run_again_and_again(self, command):
        while not self._is_over.is_set():
            self._run(command)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._is_over.set()
        for thread in self._threads:
            thread.join()


def slope(points):
    """Slope of the least-squares line through the points."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    square = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / square if square else 0


def tell(name, look):
    print(f"t={look[0]:.0f},stage={name},rss_kib={look[1]},fds={look[2]}", flush=True)


def medians(looks, rotation_s):
    """[(seconds, RSS, descriptors)], one for each complete rotation."""
    rotations = {}
    for look in looks:
        rotations.setdefault(int(look[0] // rotation_s), []).append(look)
    return [tuple(statistics.median(values) for values in zip(*rotations[i]))
            for i in sorted(rotations)[:-1]]


def report(seen, before, after, warm_up, rotation_s):
    for name, looks in seen.items():
        looks = [look for look in looks[:-1] if look[0] >= warm_up]  # the last one is `after`
        middle = medians(looks, rotation_s)
        if len(middle) < 2:
            continue
        growth = slope([(seconds, rss) for seconds, rss, _ in middle]) * 600
        print(f"stage={name} kind={'sink' if name == 'capture-sink' else 'flow'} "
              f"rss_kib_slope_in_10_min={growth:.0f} rss_kib_first={looks[0][1]} "
              f"rss_kib_last={looks[-1][1]} rss_kib_most={max(look[1] for look in looks)} "
              f"rss_kib_before={before[name][1]} rss_kib_after={after[name][1]} "
              f"fds_slope_in_10_min={slope([(look[0], look[2]) for look in middle]) * 600:.1f} "
              f"fds_before={before[name][2]} fds_after={after[name][2]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", type=float, default=1800, dest="seconds")
    parser.add_argument("-F", default="999", dest="rate")
    parser.add_argument("--directory", default="/var/tmp")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        directory = Path(directory)
        check_space(directory, arguments)
        out = directory / "out.syscap"
        with stages.Pipeline(directory, ["-F", arguments.rate], [out]) as pipeline:
            time.sleep(SETTLE_S)
            watch = stages.Watch(pipeline, INTERVAL_S, tell)
            before = watch.look()
            with Load(directory) as load:
                time.sleep(arguments.seconds)
            watch.end()
            time.sleep(SETTLE_BEHIND_S)
            after = watch.look()
            pipeline.stop()
        cost = pipeline.cost()
        print(f"samples={cost['samples']} lost={cost['lost']} cpu_us_per_sample={cost['cpu_us']:.2f} "
              f"complete={cost['complete']:.4f} adds_up={cost['adds_up']} "
              f"capture_mb={out.stat().st_size / 1e6:.0f}")
        report(watch.seen, before, after, min(WARM_UP_S, arguments.seconds / 6), load.rotation_s())


main()
