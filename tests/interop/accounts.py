#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The samples of a recorded stream, accounted for by a reader that knows only docs/protocol.md, which gives the
layout of each record:

    accounts.py docs/protocol.md < stream

Prints as JSON: how many samples are present, lost and left out, and whether each stage's account is consistent
with the one before it.
"""
import json
import re
import struct
import sys

HEADER = struct.Struct("<IHH")
RECORD = re.compile(r"^### (\w+) \((\d+)\)$(.*?)(?=^##)", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\| (\w+) \| ([\w ]+) \| (.*?) \| (.*) \|$", re.MULTILINE)
ITEM_SIZE = {"addresses": 8, "frames": 16, "totals": 16, "values": 16}
LOST = "kernel-lost"  # of "dropped": what the kernel had no room for; everything else is left out


def read_layout(protocol):
    """{type: (name, [(field, kind, limit)])}"""
    records = protocol[protocol.index("## Records"):protocol.index("## Items")] + "## "
    return {int(number): (name, [match[:3] for match in FIELD.findall(body) if match[0] != "field"])
            for name, number, body in RECORD.findall(records)}


def decode(fields, body):
    """A record may end before a field that was added later."""
    found, at = {}, 0
    for name, kind, limit in fields:
        if at == len(body):
            break
        if kind == "text":
            found[name] = body[at:at + int(limit)].rstrip(b"\0").decode(errors="replace")
            at += int(limit)
            continue
        found[name], = struct.unpack_from("<Q", body, at)
        at += 8
        if kind == "string":
            size = found[name]
            found[name] = body[at:at + size].decode(errors="replace")
            at += size + 8 - size % 8
        elif kind == "blob":
            at += found[name] + 8 + -found[name] % 8
        elif kind in ITEM_SIZE:
            at += found[name] * ITEM_SIZE[kind]
    return found


def read_records(layout, stream):
    at = 0
    while at + HEADER.size <= len(stream):
        size, number, _ = HEADER.unpack_from(stream, at)
        if size < HEADER.size or at + size > len(stream):
            break
        if number in layout:
            name, fields = layout[number]
            yield name, decode(fields, stream[at + HEADER.size:at + size])
        at += size


def account(layout, stream):
    stages, present, is_whole = [], 0, False
    for name, record in read_records(layout, stream):
        if name == "sample":
            present += 1
        elif name == "stack":
            present += record.get("n_samples") or 1
        elif name == "heap_events":
            present += record["n"]
        elif name == "stats":
            stages.append({"stage": record["stage"], "in": record["samples_in"], "out": record["samples_out"], "dropped": {}})
        elif name == "count" and record["group"] == "dropped":
            stage = next(each for each in reversed(stages) if each["stage"] == record["stage"])
            stage["dropped"][record["name"]] = stage["dropped"].get(record["name"], 0) + record["value"]
        elif name == "end":
            is_whole = not record["flags"]
    dropped = [item for stage in stages for item in stage["dropped"].items()]
    outs = [stage["out"] for stage in stages]
    return {
        "present": present,
        "lost": sum(n for reason, n in dropped if reason == LOST),
        "left_out": sum(n for reason, n in dropped if reason != LOST),
        "is_whole": is_whole,
        "adds_up": bool(stages) and outs[-1] == present
        and all(each["in"] == each["out"] + sum(each["dropped"].values()) for each in stages)
        and all(out == after["in"] for out, after in zip(outs, stages[1:])),
        "stages": stages,
    }


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as protocol:
        print(json.dumps(account(read_layout(protocol.read()), sys.stdin.buffer.read()), indent=1))
