# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares all readers' accounts of losses with tests/interop/accounts.py, which knows only docs/protocol.md."""
import json
import re
import subprocess
import sys

import pages
import pipeline
import sums

READER = pipeline.TOP / "tests" / "interop" / "accounts.py"
PROTOCOL = pipeline.TOP / "docs" / "protocol.md"
REMARK = re.compile(r"lost: (\d+)(?:; left out: (\d+))?")
SUMMARY = re.compile(r"(\d+) samples(?:, (\d+) waits)?(?:, (\d+) wakeups)?.* (\d+) lost(?:, (\d+) left out)?")


def of_stream(path):
    with path.open("rb") as stream:
        ended = subprocess.run([sys.executable, READER, PROTOCOL], stdin=stream, capture_output=True, check=True)
    return json.loads(ended.stdout)


def of_remark(text):
    lost, left_out = REMARK.search(text).groups(default="0")
    return int(lost), int(left_out)


def of_report(path):
    ended = subprocess.run([pipeline.program("stackpipe"), "report", "--json", path], capture_output=True, check=True)
    summary = json.loads(ended.stdout)["summary"]
    return summary["samples"], summary["lost"], summary["left_out"]


def check(test, path):
    """Compares all readers of a recorded stream with the independent one; returns its account."""
    told = of_stream(path)
    test.assertTrue(told["adds_up"], told)
    losses, samples = (told["lost"], told["left_out"]), told["present"]
    test.run_on(path, test.stage("frame-dump", "--summary"))
    for ending in ("syscap", "html", "pb.gz", "speedscope.json", "firefox.json"):
        out = test.directory / f"account.{ending}"
        with path.open("rb") as stdin:
            ended, = test.run_well(test.stage("capture-sink", "--force", out), stdin=stdin)
        n, waits, wakeups, *counted = SUMMARY.search("\n".join(ended.errors)).groups(default="0")
        test.assertEqual((int(n) + int(waits) + int(wakeups), *map(int, counted)), (samples, *losses), ending)
        if ending == "syscap":
            test.assertEqual(of_report(out), (samples, *losses))
        elif ending == "html":
            page = pages.read(out)
            test.assertEqual((page.n_samples, page.header["lost"], page.header["left_out"]), (samples, *losses))
        elif ending == "pb.gz":
            test.assertEqual(of_remark("\n".join(sums.strings_of_pprof(out))), losses)
        else:
            test.assertEqual(of_remark(out.read_text()), losses, ending)
    return told
