# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares stacks of a single-stepped program with its true chains, sample by sample."""
import bisect
import re
import subprocess
from collections import Counter
from pathlib import Path

STACK = re.compile(r" end=(\S+) frames=\[([^]]*)\]")
MAPPING_OF_FRAME = re.compile(r"@\d+")
IMAGE = re.compile(r'image image=(\d+) kind=(\S+) .* path="([^"]*)"')
SYMBOL = re.compile(r'symbol image=(\d+) offset=(\w+) .* name="([^"]*)"')
LOAD = re.compile(r"^ +LOAD +(\w+) (\w+) \w+ (\w+)", re.MULTILINE)
DESCRIBED = re.compile(r" FDE .* pc=(\w+)\.\.(\w+)")
PLT = re.compile(r"^ +\[ *\d+\] \.i?plt[.\w]* +PROGBITS +(\w+) \w+ (\w+)", re.MULTILINE)
CFA_ROW = re.compile(r"^([0-9a-f]{16}) ([a-z]\w*)", re.MULTILINE)

# Outcomes of a sample.
EXACT = "exact"  # the true chain, complete
WHOLE = "whole"  # the true chain, but its outermost code has no unwind information
NO_INFO = "no-info"  # a true beginning: what follows has no unwind information
CUT = "cut"  # a true beginning: what follows was not captured
LOST = "lost"  # a true beginning: what follows was captured, but not found
BY_RBX = "by-rbx"  # like lost: the caller's CFA depends on rbx, which is not followed
MISNAMED = "misnamed"  # like lost or cut, but correct unwind information is reported as bad
INSTALLING = "installing"  # a true beginning, cut where an exception installs its handler
LEAVING = "leaving"  # functions are being left by longjmp() or an exception
WRONG = "wrong"

# Their callees overwrite their own saved registers with the handler's, the return address among them, which
# unwind information cannot express. The tables recognize the instruction sequence, and elfutils' stacks are cut
# there, too.
INSTALL_HANDLERS = {"_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_ForcedUnwind",
                    "_Unwind_Resume_or_Rethrow"}
JUMPS_WITHIN = 20  # instructions of longjmp(), from reading its target to the jump


class Truth:
    """The true chains that single-step wrote beside the stream."""

    def __init__(self, path):
        self.chains, self.n_captured, self.is_leaving = [], [], []
        for line in path.read_text().splitlines():
            chain = line.removesuffix(" leaving")
            self.is_leaving.append(chain != line)
            self.n_captured.append(chain.split(" |")[0].count(" ") + 1)
            self.chains.append(chain.replace(" |", ""))


class UnwindInfo:
    """A file's unwind information per address, and its PLT's addresses, according to binutils."""

    def __init__(self, path):
        headers = subprocess.run(["readelf", "-lSW", path], capture_output=True, text=True).stdout
        frames = subprocess.run(["readelf", "-wF", path], capture_output=True, text=True).stdout
        self.loads = [[int(number, 16) for number in load] for load in LOAD.findall(headers)]
        self.ranges = sorted((int(start, 16), int(end, 16))
                             for start, end in DESCRIBED.findall(frames))
        self.rows = sorted((int(start, 16), register) for start, register in CFA_ROW.findall(frames))
        self.plts = [(int(start, 16), int(start, 16) + int(size, 16))
                     for start, size in PLT.findall(headers)]
        assert self.loads and self.ranges and self.rows, f"readelf says nothing of {path}"

    def _address(self, offset):
        for start, address, size in self.loads:
            if start <= offset < start + size:
                return offset + address - start
        return offset

    def covers(self, offset, knows_plts):
        address = self._address(offset)
        if knows_plts and any(start <= address < end for start, end in self.plts):
            return True
        i = bisect.bisect(self.ranges, (address, 1 << 64)) - 1
        return i >= 0 and address < self.ranges[i][1]

    def cfa_register(self, offset):
        """The register of the CFA at an address with unwind information; "exp" for an expression."""
        i = bisect.bisect(self.rows, (self._address(offset), "~")) - 1
        return self.rows[i][1]


class Stacks:
    """The stacks in a dump of an unwound and symbolized stream."""

    infos = {}  # by path, for all dumps

    def __init__(self, text, knows_plts):
        self.knows_plts = knows_plts  # whether the engine reads the code of PLTs
        self.ends, self.chains = [], []
        self.mappings, self.images, self.names = [], {}, {}
        for line in text.splitlines():
            if line.startswith("stack "):
                end, frames = STACK.search(line).groups()
                self.ends.append(end)
                self.chains.append(MAPPING_OF_FRAME.sub("", frames))
            elif line.startswith("mapping "):
                self._add_mapping(dict(field.split("=") for field in line.split()[1:]))
            elif found := IMAGE.match(line):
                self.images[int(found[1])] = found[3]
            elif found := SYMBOL.match(line):
                self.names[int(found[1]), int(found[2], 16)] = found[3]

    def _add_mapping(self, fields):
        start, length, offset = (int(fields[name], 16) for name in ("start", "length", "offset"))
        self.mappings.append((start, start + length, offset, int(fields["image"])))

    def place(self, frame):
        """(image, offset) of a frame's code; None: no mapping."""
        address, _, is_exact = frame.partition(":")
        address = int(address, 16) - (not is_exact)
        for start, end, offset, image in reversed(self.mappings):
            if start <= address < end:
                return image, address - start + offset
        return None

    def name(self, frame):
        return self.names.get(self.place(frame), "")

    def describe(self, frame):
        place = self.place(frame)
        if not place:
            return frame
        return f"{Path(self.images[place[0]]).name}+{place[1]:#x}({self.name(frame)})"

    def _info(self, path):
        if path not in self.infos:
            self.infos[path] = UnwindInfo(path)
        return self.infos[path]

    def has_info(self, frame):
        place = self.place(frame)
        path = place and self.images[place[0]]
        if not path or not path.startswith("/"):
            return bool(path)
        return self._info(path).covers(place[1], self.knows_plts)

    def cfa_register(self, frame):
        """The CFA's register of a frame that has unwind information in a file; else an empty string."""
        place = self.place(frame)
        path = place and self.images[place[0]]
        if not path or not path.startswith("/") or not self._info(path).covers(place[1], False):
            return ""
        return self._info(path).cfa_register(place[1])


class Comparison:
    """Judges the stacks of one engine."""

    def __init__(self, truth, stacks):
        self.truth, self.stacks = truth, stacks
        assert len(truth.chains) == len(stacks.chains)
        self.outcomes = [self._judge(i) for i in range(len(truth.chains))]
        self.counts = Counter(self.outcomes)

    def _judge(self, i):
        end, chain, true = self.stacks.ends[i], self.stacks.chains[i], self.truth.chains[i]
        if chain == true and end == "complete":
            return EXACT
        last = chain.rsplit(" ", 1)[-1]
        if chain == true and end == "no-unwind-info" and not self.stacks.has_info(last):
            return WHOLE
        if self.truth.is_leaving[i]:
            return INSTALLING if self._is_installing(end, last) else LEAVING
        if true.startswith(chain + " "):
            outcome = self._judge_end(i, end, chain.count(" ") + 1, last)
            if outcome != WRONG:
                return outcome
        return LEAVING if self._is_about_to_leave(i, chain) else WRONG

    def _judge_end(self, i, end, n_frames, last):
        if end == "no-unwind-info":
            return WRONG if self.stacks.has_info(last) else NO_INFO
        if self._is_installing(end, last):
            return INSTALLING
        if end == "bad-unwind-info":
            return MISNAMED
        if end != "stack-truncated":
            return WRONG
        if n_frames >= self.truth.n_captured[i]:
            return CUT
        is_by_rbx = n_frames > 1 and self.stacks.cfa_register(last) == "rbx"
        return BY_RBX if is_by_rbx else LOST

    def _is_installing(self, end, last):
        return end == "bad-unwind-info" and self.stacks.name(last) in INSTALL_HANDLERS

    def _is_about_to_leave(self, i, chain):
        frames = chain.split(" ")
        return len(frames) > 1 and self._jumps_to(i, [frames[1] + ":exact", *frames[2:]])

    def _jumps_to(self, i, frames):
        """Whether longjmp() is about to jump there: its unwind information already describes its target."""
        ahead = range(i, min(i + JUMPS_WITHIN, len(self.truth.chains)))
        left = next((k for k in ahead if self.truth.is_leaving[k]), ahead.stop)
        arrived = next((k for k in ahead if k > left and not self.truth.is_leaving[k]), None)
        return arrived is not None and self.truth.chains[arrived].startswith(" ".join(frames))

    def share(self, outcome):
        """Share of an outcome among the samples whose chains can be unwound."""
        had = len(self.outcomes) - sum(self.counts[each]
                                       for each in (NO_INFO, CUT, INSTALLING, LEAVING, BY_RBX))
        return self.counts[outcome] / had if had else 0

    def examples(self, outcome):
        """Examples for debugging, a line for each code address."""
        found = {}
        for i, each in enumerate(self.outcomes):
            if each == outcome:
                leaf = self.truth.chains[i].split(" ", 1)[0]
                found.setdefault(leaf, []).append(i)
        return "\n".join(self._example(indices) for indices in found.values())

    def _example(self, indices):
        i = indices[0]
        true, got = (" < ".join(self.stacks.describe(frame) for frame in chain.split(" ")[:6])
                     for chain in (self.truth.chains[i], self.stacks.chains[i]))
        return f"{len(indices)} times {self.stacks.ends[i]}:\n    true {true}\n    got  {got}"
