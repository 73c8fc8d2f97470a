# SPDX-License-Identifier: GPL-3.0-or-later
"""A realistic program to profile: an interpreter that parses, sorts, compresses and counts.

    python3 workload.py SECONDS
"""
import json
import re
import sys
import time
import zlib

WORDS = [f"word{i * 7919 % 10007}" for i in range(4000)]


def squares(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def parse():
    return json.loads(json.dumps({word: len(word) for word in WORDS}))


def match():
    return sum(1 for word in WORDS if re.match(r"word\d*7$", word))


def compress():
    return len(zlib.compress(" ".join(sorted(WORDS)).encode()))


def main(seconds):
    end = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < end:
        squares(20000)
        parse()
        match()
        compress()
        rounds += 1
    print(f"{rounds} rounds", file=sys.stderr)


main(float(sys.argv[1]) if len(sys.argv) > 1 else 5)
