# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs very many processes under the live pipeline; checks stack attribution and what memory remains.

    STACKPIPE_BUILD=build python3 churn.py [-n N] [-d SECONDS] [--live N] [-F HZ] [VARIANT…]

VARIANT is one of programs/churn.c, all of them if none is given:

    fork    N short processes in so many seconds, forked only
    exec    each executes one of a few programs with the same addresses and different names
    reuse   likewise, with a few PIDs reused again and again (needs root)
    live    --live N processes at the same time, which spin briefly and wait

Each is named after the function it spins in, so its stacks can be judged. `misattributed` are stacks with
another process's function, `false` are stacks marked complete without the whole chain, `early` are stacks
that spin before the process has its name. Of samples of processes with their name, it then prints which are
not complete and where, and memory and descriptors of each stage: before, at the peak, and some seconds
after the processes have ended, while the pipeline still runs. Nothing is asserted.
"""
import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import stages

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pipeline"))
import churned

PROGRAM = stages.BUILD / "tests" / "pipeline" / "churn"
VARIANTS = ["fork", "exec", "reuse", "live"]
N_COPIES = 8
WAKEUPS = 200  # a second, of live processes
SETTLE_S = 5  # the pipeline runs this long without the load before it, and
SETTLE_BEHIND_S = 50  # this long after it: images without mappings are dropped after 30 to 40 s
LOOK_INTERVAL_S = 0.2
SHOWN = 12


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", default="20000", dest="n")
    parser.add_argument("-d", default="60", dest="seconds")
    parser.add_argument("--live", default="5000", dest="n_live")
    parser.add_argument("-F", default="999", dest="rate")
    parser.add_argument("variants", nargs="*", metavar="VARIANT")
    arguments = parser.parse_args()
    for variant in arguments.variants:
        if variant not in VARIANTS:
            parser.error(f"no variant is called {variant}: {', '.join(VARIANTS)}")
    return arguments


def load(variant, arguments, directory):
    if variant == "fork":
        return [PROGRAM, variant, arguments.n, arguments.seconds]
    copies = [churned.copy_of(PROGRAM, k, directory / f"churn-{k}") for k in range(N_COPIES)]
    if variant == "live":
        return [PROGRAM, variant, arguments.n_live, arguments.seconds, str(WAKEUPS), *copies]
    return [PROGRAM, variant, arguments.n, arguments.seconds, *copies]


def judge(variant, text, cost):
    judgement = churned.Judgement(text)
    n = max(1, judgement.n)
    print(f"variant={variant} samples={cost['samples']} lost={cost['lost']} adds_up={cost['adds_up']} "
          f"cpu_us_per_sample={cost['cpu_us']:.2f} of_unnamed={judgement.n_unnamed} "
          f"of_named={judgement.n} misattributed={judgement.n_misattributed} false={judgement.n_false} "
          f"early={judgement.n_early} complete={judgement.n_complete / n:.4f} "
          f"functions={len(judgement.by_function)}")
    for (why, where), count in judgement.incomplete.most_common(SHOWN):
        print(f"variant={variant} incomplete={why} where={where} samples={count} share={count / n:.5f}")
    for names in judgement.wrong[:SHOWN]:
        print(f"variant={variant} wrong={';'.join(names)}")


def tell_of_memory(variant, before, seen, after):
    for name, looks in seen.items():
        most_rss, most_fds = (max(look[i] for look in looks) for i in (1, 2))
        print(f"variant={variant} stage={name} rss_kib_before={before[name][1]} rss_kib_most={most_rss} "
              f"rss_kib_after={after[name][1]} fds_before={before[name][2]} fds_most={most_fds} "
              f"fds_after={after[name][2]}", flush=True)


def measure(variant, arguments, directory):
    out = directory / "out.folded"
    command = load(variant, arguments, directory)
    with stages.Pipeline(directory, ["-F", arguments.rate], [out]) as pipeline:
        time.sleep(SETTLE_S)
        watch = stages.Watch(pipeline, LOOK_INTERVAL_S)
        before = watch.look()
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        time.sleep(SETTLE_BEHIND_S)
        watch.end()
        after = watch.look()
        pipeline.stop()
        print(f"variant={variant} {told}")
        judge(variant, out.read_text(), pipeline.cost())
    tell_of_memory(variant, before, watch.seen, after)


def main():
    arguments = parse_arguments()
    for variant in arguments.variants or VARIANTS:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
            measure(variant, arguments, Path(directory))


main()
