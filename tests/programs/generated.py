# SPDX-License-Identifier: GPL-3.0-or-later
"""
Functions that are generated, run and dropped, so that their code takes the places of others':

    generated.py SECONDS PREFIX

Function g of file <PREFIX N> is called by outer_N alone. SECONDS are of CPU time.
"""
import sys
import time

SOURCE = "def {name}(callee):\n    total = 0\n    for i in range(4000):\n        total += i\n    return callee(None) if callee else total\n"


def generate(name, filename):
    found = {}
    exec(compile(SOURCE.format(name=name), filename, "exec"), found)
    return found[name]


def main():
    end, n = time.process_time() + float(sys.argv[1]), 0
    while time.process_time() < end:
        n += 1
        generate(f"outer_{n:06}", "<outer>")(generate("g", f"<{sys.argv[2]} {n:06}>"))


main()
