# SPDX-License-Identifier: GPL-3.0-or-later
"""The true stacks of a program, from lines of its source's first comment:

    truth: chain FRAME…             a true chain of calls, outermost first; it must be seen
    truth: then FRAME…              continues the chain of the line before
    truth: aside FRAME…             a true chain that is not the topic; it need not be seen
    truth: ends REASON at FRAME     an allowed end reason other than `complete`, and the outermost
                                    frame that is shown then
    truth: comm NAME                what follows is about threads of this name (default: the program's)
    truth: builds NAME…             programs built from this source (default: the file's name);
                                    NAME-lld only where that linker is, and so on
    truth: compiler NAME            the program is not built without this compiler
    truth: needs root               for namespaces, chosen PIDs
    truth: runs copied              as a copy in a directory of its own
    truth: source OPTION…           further options of perf-source
    truth: unwinder OPTION…         further options of live-unwinder

`#` begins a comment that says why. A beginning of a true chain is true, too:
a sample may be taken at any time. A frame is

    name  "na me"                   the function of exactly this name, or its cold part
                                    (name.cold); … stands for any text
    [file]                          a location without a name in a file, "[file+0x…]"
    (a|b)                           either
    LIBC LIBM LD GCC_S STDCXX VDSO  any function or location of that library
    PLT ANON                        any PLT stub; any location in JIT code
    RUNTIME RUST                    runtime functions of C++, and of Rust
    HELPERS                         functions of use-sides.h, and their callees
    START THREAD                    the C library's callers of main(), and of a thread
    WORK                            spin() of truth.h

and may be followed by ? * + {N} or {N,M}, as in regular expressions.
"""
import functools
import re
import shlex
import subprocess
from pathlib import Path

MACROS = {
    "START": '_start (__libc_start_main|__libc_start_main_impl|[libc.so.6]) '
             '(__libc_start_call_main|[libc.so.6])',
    "THREAD": "(clone3|__clone3|clone|[libc.so.6]) (start_thread|[libc.so.6])",
    "WORK": "spin (tick|burn)",
}
LIBRARIES = {
    "LIBC": "libc.so.6",
    "LIBM": "libm.so.6",
    "LD": "ld-linux-x86-64.so.2",
    "GCC_S": "libgcc_s.so.1",
    "STDCXX": "libstdc++.so.6",
}
STATIC = {"libc.so.6": "libc.a", "libgcc_s.so.1": "libgcc_eh.a"}
PATTERNS = {
    "VDSO": ["[vdso]", "__vdso_…", "clock_gettime"],
    # The PLT's header has no name; it is the first code of a file.
    "PLT": ["…@plt", "[…+0x10…", "[…+0x20…"],
    "ANON": ["[unknown]", "[unknown]_[j]", "[unknown]_[f]_[j]", "[anon…", "[memfd:code+0x…"],
    "RUNTIME": ["LIBC", "LIBM", "LD", "GCC_S", "STDCXX", "PLT"],
    "HELPERS": ["LIBC", "LD", "PLT", "beside", "check", "copy_file", "copy_to", "find",
                "open_library", "wait_for"],
    "RUST": ["std::…", "core::…", "alloc::…", "__rustc::…", "<…"],
}
LINKERS = {"lld": "ld.lld", "mold": "mold", "gold": "ld.gold"}
NAME = r'"[^"]+"|[^\s()|"?*+{}#]+'
FRAME = re.compile(rf'\s*(?:\((?P<group>(?:{NAME})(?:\|(?:{NAME}))*)\)|(?P<name>{NAME}))'
                   r'(?P<times>[?*+]|\{(?P<least>\d+)(?:,(?P<most>\d+))?\})?(?=\s|$)')
LINE = re.compile(r"\btruth: (\w+) ([^#\n]*)")


def _output(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def _find_library(name):
    return _output("gcc", f"-print-file-name={name}").strip()


def _debug_file(path):
    found = re.search(r"Build ID: (\w\w)(\w+)", _output("readelf", "-n", path))
    return Path("/usr/lib/debug/.build-id", found[1], f"{found[2]}.debug") if found else path


@functools.cache
def library_functions(name):
    """All names of a library's functions, from its own symbols and those of its debug file."""
    path = _find_library(name)
    files = [["-D", path], [path], [_debug_file(path)]]
    if name in STATIC:
        files.append([_find_library(STATIC[name])])
    lines = "".join(_output("nm", "-C", *arguments) for arguments in files).splitlines()
    functions = (re.match(r"[0-9a-f]+ [tTwWiuV] (.*)", line) for line in lines)
    return frozenset(re.sub("@.*", "", found[1]) for found in functions if found)


def _is_place(file, name):
    return re.fullmatch(re.escape(f"[{file}") + r"[\d.]*\+0x[0-9a-f]+\]", name) is not None


def _matcher(text):
    """Returns a function that checks whether a frame matches the text."""
    text = text.strip('"')
    if text in LIBRARIES:
        file = LIBRARIES[text]
        functions = library_functions(file)  # some are named "name@version" or "name (+1)"
        return lambda name: re.sub(r"@.*| \(\+\d+\)", "", name) in functions or _is_place(file, name)
    if text in PATTERNS:
        matchers = [_matcher(pattern) for pattern in PATTERNS[text]]
        return lambda name: any(matches(name) for matches in matchers)
    if re.fullmatch(r"\[[^\]]+\]", text) and text != "[unknown]":  # nor "[unknown]_[j]"
        return lambda name: _is_place(text[1:-1], name)
    if "…" in text:
        pattern = re.compile(".*".join(map(re.escape, text.split("…"))))
        return lambda name: pattern.fullmatch(name) is not None
    return lambda name: name in (text, text + ".cold")


class Chain:
    """A sequence of frames as a bit-parallel automaton: bit i is set where frame i may come next."""

    def __init__(self, text):
        self.text = text.strip()
        self.matchers = []
        self.optional = self.repeated = 0
        self._masks = {}
        for word in MACROS:
            text = re.sub(rf"\b{word}\b", MACROS[word], text)
        at = 0
        while text[at:].strip():
            frame = FRAME.match(text, at)
            if not frame:
                raise ValueError(f"this is no chain: '{self.text}'")
            self._add(frame)
            at = frame.end()
        self.end = 1 << len(self.matchers)

    def _add(self, frame):
        names = re.findall(NAME, frame["group"]) if frame["group"] else [frame["name"]]
        matcher = [_matcher(name) for name in names]
        times = frame["times"]
        least = int(frame["least"] or (0 if times in ("?", "*") else 1))
        most = int(frame["most"] or frame["least"] or 1)
        for i in range(most):
            bit = 1 << len(self.matchers)
            self.optional |= bit if i >= least else 0
            self.repeated |= bit if times in ("*", "+") else 0
            self.matchers.append(matcher)

    def _mask(self, name):
        """The frames that may have that name."""
        if name not in self._masks:
            answers = {}  # a frame that occurs 5,000 times is matched once
            mask = 0
            for i, matcher in enumerate(self.matchers):
                if id(matcher) not in answers:
                    answers[id(matcher)] = any(matches(name) for matches in matcher)
                mask |= answers[id(matcher)] << i
            self._masks[name] = mask
        return self._masks[name]

    def _skip(self, reach):
        """Adds frames that may be left out."""
        while (more := reach | (reach & self.optional) << 1) != reach:
            reach = more
        return reach

    def _go(self, reach, names):
        for name in names:
            taken = reach & self._mask(name)
            reach = self._skip(taken << 1 | taken & self.repeated)
        return reach

    def match(self, names):
        """"whole", "part" (its first frames), or "" (it is another chain)."""
        reach = self._go(self._skip(1), names)
        return "whole" if reach & self.end else "part" if reach else ""

    def match_inner(self, names):
        """Like match(), where outer frames may be missing."""
        reach = self._go(self.end - 1, names)
        return "whole" if reach & self.end else "part" if reach else ""


class End:
    """A reason for which stacks may end, and the outermost frames."""

    def __init__(self, text):
        self.reason, at = re.fullmatch(r"([\w-]+) at (.*)", text.strip()).groups()
        self.at = Chain(at)

    def allows(self, reason, names):
        return reason == self.reason and self.at.match(names[:1]) == "whole"


class Thread:
    """The truth about the threads with that name."""

    def __init__(self):
        self.chains, self.asides, self.ends = [], [], []


class Program:
    """A program and the truth that its source states."""

    def __init__(self, name, source, lines):
        self.name = name
        self.source = source
        self.threads = {}  # by comm
        self.compiler = self.of("compiler", lines)
        self.linker = LINKERS.get(name.rpartition("-")[2])
        self.needs_root = self.of("needs", lines) == "root"
        self.runs_copied = self.of("runs", lines) == "copied"
        self.source_options = shlex.split(self.of("source", lines))
        self.unwinder_options = shlex.split(self.of("unwinder", lines))
        comm = name
        for word, text in lines:
            if word == "comm":
                comm = text.strip()
            thread = self.threads.setdefault(comm[:15], Thread())
            if word == "chain":
                thread.chains.append(Chain(text))
            elif word == "aside":
                thread.asides.append(Chain(text))
            elif word == "ends":
                thread.ends.append(End(text))

    @staticmethod
    def of(word, lines):
        return " ".join(text.strip() for each, text in lines if each == word)


def programs_of(source):
    """All programs built from a source; none: it states no truth."""
    lines = []
    for word, text in LINE.findall(source.read_text()):
        if word == "then":
            word, text = lines[-1][0], f"{lines.pop()[1]} {text}"
        lines.append((word, text))
    names = Program.of("builds", lines).split() or [source.stem]
    return [Program(name, source, lines) for name in names] if lines else []
