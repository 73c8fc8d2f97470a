#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Measures how much of another user's program is recorded while an ordinary user attacks a recording by root.

    neighbours.py [SECONDS [ATTACK…]]        # 60; all of them at once

Prints "ATTACKS cpu S expected N there PERCENT named PERCENT ended_after S rss_mib …": `there` are samples of the
other user's program, `named` adds lost samples of any process, `ended_after` is by how much the recording
exceeded its duration, start-up included.
"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "pipeline"))
os.environ.setdefault("STACKPIPE_BUILD", str(TOP / "build"))

import pipeline  # noqa: E402

HZ = 999
STAGES = "perf-source", "live-unwinder", "symbolizer", "capture-sink"
PROGRAMS = {
    "mappings": [["mappings", "60000", "500"]],
    "storm": [["storm"]] * 4,
    "map": [["map", "500"]],
    "deep": [["deep"]],
}
ATTACKS = [*PROGRAMS, "server", "marks"]
VICTIM = "65533"
BEGIN_S = 1.5


def flood(address, is_over):
    """Connects to a server and sends nothing useful."""
    while not is_over.is_set():
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
                door.settimeout(0.1)
                door.connect(address)
                door.send(os.urandom(64))
        except OSError:
            time.sleep(0.001)


def send_marks(path, is_over):
    """Sends marks with file descriptors attached."""
    ends = os.pipe()
    while not is_over.is_set():
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
                door.settimeout(0.1)
                socket.send_fds(door, [b"group name text"], [ends[0]] * 16, 0, path)
        except OSError:
            time.sleep(0.001)


def attack(attacks, directory, seconds):
    """Processes of user nobody; socket floods are threads of one of our processes, with that user's id."""
    program = directory / "neighbour"
    started = [subprocess.Popen([*pipeline.NOBODY, program, *arguments, str(seconds)], stderr=subprocess.DEVNULL,
                                start_new_session=True)
               for name in attacks for arguments in PROGRAMS.get(name, [])]
    address = next((line.rsplit(" ", 1)[-1] for line in Path("/proc/net/unix").read_text().splitlines()
                    if "@stackpipe" in line), None)
    if "server" in attacks or "marks" in attacks:
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            is_over = threading.Event()
            if "server" in attacks and address:
                threading.Thread(target=flood, args=("\0" + address[1:], is_over), daemon=True).start()
            if "marks" in attacks:
                threading.Thread(target=send_marks, args=(str(directory / "marks"), is_over), daemon=True).start()
            time.sleep(seconds)
            os._exit(0)
        started.append(pid)
    return started


def commands(directory, seconds):
    stats = [f"--stats={directory / name}.json" for name in STAGES]
    return [[pipeline.program("perf-source"), "-q", stats[0], f"--marks={directory / 'marks'}", "-a", "-F", str(HZ), "-d", str(seconds)],
            [pipeline.program("live-unwinder"), "-q", stats[1]],
            [pipeline.program("symbolizer"), "-q", stats[2]],
            [pipeline.program("capture-sink"), "-q", "--force", stats[3], directory / "out.folded"]]


def measure(attacks, seconds):
    with tempfile.TemporaryDirectory(prefix="stackpipe-neighbours-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        pipeline.readable_copy(pipeline.BUILD / "tests" / "hostile" / "neighbour", directory)
        chain = pipeline.readable_copy(pipeline.CHAIN, directory)
        running, before = [], None
        for command in commands(directory, seconds):
            running.append(subprocess.Popen(command, stdin=before and before.stdout, stdout=subprocess.PIPE))
            if before:
                before.stdout.close()
            before = running[-1]
        begun = time.monotonic()
        time.sleep(BEGIN_S)  # the attack targets a recording in progress, not its start
        attackers = attack(attacks, directory, seconds)
        # The program starts and ends within the recording, however little CPU it gets.
        victim = subprocess.Popen(["setpriv", f"--reuid={VICTIM}", f"--regid={VICTIM}", "--clear-groups", chain, "once",
                                   str(seconds)])
        time.sleep(seconds - 2 * BEGIN_S)
        victim.kill()
        _, _, usage = os.wait4(victim.pid, 0)
        for each in running:
            each.wait()
        ended = time.monotonic() - begun - seconds
        for each in attackers:
            if isinstance(each, int):
                os.kill(each, 9)
                os.waitpid(each, 0)
            else:
                os.killpg(each.pid, 9)  # including all its forked children
                each.wait()
        stats = [json.loads((directory / f"{each}.json").read_text()) for each in STAGES]
        found = sum(int(line.rsplit(" ", 1)[1]) for line in (directory / "out.folded").read_text().splitlines()
                    if line.startswith("chain;"))
    lost = sum(sum(each["dropped"].values()) for each in stats)
    cpu = usage.ru_utime + usage.ru_stime
    expected = cpu * HZ
    print(f"{'+'.join(attacks) or 'none'} cpu {cpu:.2f} expected {expected:.0f} there {100 * found / expected:.1f} "
          f"named {100 * (found + lost) / expected:.1f} ended_after {ended:.2f} "
          f"rss_mib {' '.join(str(each['max_rss_kib'] // 1024) for each in stats)} "
          f"status {' '.join(str(each.returncode) for each in running)}", flush=True)


def main():
    seconds = int((sys.argv + ["60"])[1])
    if sys.argv[2:]:
        measure([each for each in sys.argv[2:] if each != "none"], seconds)
    else:
        measure(ATTACKS, seconds)


if __name__ == "__main__":
    main()
