# SPDX-License-Identifier: GPL-3.0-or-later
"""Names in recordings: inlined calls, lines, names of JIT code."""
import os
import re
import shutil
import socket
import subprocess
import unittest
import unittest.mock
from collections import Counter
from pathlib import Path

import made
import pipeline
import streams

INLINED_SPIN = pipeline.BUILD / "tests" / "pipeline" / "inlined-spin"
JIT_OTHERS = pipeline.BUILD / "tests" / "pipeline" / "jit-others"
JIT_SPIN = pipeline.BUILD / "tests" / "pipeline" / "jit-spin"
SPIN_JS = pipeline.TOP / "tests" / "programs" / "spin.js"
SOURCE = pipeline.TOP / "tests" / "programs" / "inlined-spin.c"
SPIN_LINE = SOURCE.read_text().splitlines().index(next(
    line for line in SOURCE.read_text().splitlines() if "samples are in" in line)) + 1
CHAIN = ["main", "outer", "middle_[i]", "innermost_[i]"]
NAMED_MIN = 0.99
LOAD = re.compile(r"^ +LOAD +(\w+) (\w+) \w+ (\w+)", re.MULTILINE)


def build_id_of(path):
    notes = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True)
    return re.search(r"Build ID: (\w+)", notes.stdout)[1]


class Recording(pipeline.RecordingTest):
    def folded(self, command, *symbolizer_options, source_options=("-F", "4999"), beside=()):
        """The folded stacks of a command. `beside` is a wrapper command of the source."""
        ended = self.run_well(
            [*beside, *self.source(*source_options, "--", *command)], self.stage("live-unwinder", "-q"),
            self.stage("symbolizer", "-q", *symbolizer_options),
            self.stage("capture-sink", "-q", "-f", "folded", "-"))
        self.assert_stats_add_up("perf-source", "live-unwinder", "symbolizer", "capture-sink")
        return streams.folded_stacks(ended[-1].output.decode())


class PlacesTest(pipeline.PipelineTest):
    """A test that looks up the names of single addresses of a file."""

    def compile(self, name, *arguments):
        path = self.directory / name
        subprocess.run(["cc", "-o", path, *arguments], check=True)
        return path

    def addresses(self, path):
        """{symbol: address as linked}"""
        lines = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout.splitlines()
        return {line.split()[2]: int(line.split()[0], 16) for line in lines if len(line.split()) == 3}

    def names_at(self, path, addresses, *options):
        """The name of each address; "" of those without one."""
        loads = [[int(number, 16) for number in load] for load in LOAD.findall(subprocess.run(
            ["readelf", "-lW", path], check=True, capture_output=True, text=True).stdout)]
        offsets = [next(address - start + offset for offset, start, size in loads if start <= address < start + size)
                   for address in addresses]
        hello, *_, end = streams.records(pipeline.SMALL_STREAM.read_bytes())
        stream = self.directory / "stream"
        stream.write_bytes(streams.between(hello, [
            made.process(), *made.file_image(path), made.mapping(),
            *(made.stack([(made.CODE + offset, 1)]) for offset in offsets)], end))
        text = self.run_on(stream, self.stage("symbolizer", *options), self.stage("frame-dump")).decode()
        names = {int(offset, 16): name for offset, name in re.findall(
            r'^symbol image=1 offset=(\w+) .* name="([^"]*)" module', text, re.M)}
        return [names[offset] for offset in offsets]


class Sizeless(Recording):
    def test_a_sizeless_symbol_ends_at_the_next_function(self):
        library, program = self.directory / "sizeless.so", self.directory / "sizeless"
        programs = pipeline.TOP / "tests" / "programs"
        subprocess.run(["cc", "-O1", "-fno-toplevel-reorder", "-fPIC", "-shared", "-o", library,
                        programs / "sizeless.c"], check=True)
        subprocess.run(["strip", library], check=True)
        subprocess.run(["cc", "-O1", "-o", program, programs / "sizeless-main.c", library], check=True)
        leaves = Counter()
        for names, n in self.folded([program]):
            user = [name for name in names if not name.endswith("_[k]")]
            leaves[user[-1]] += n
            if user[-1].startswith("[sizeless.so+") and user[1] == "_start":
                self.assertEqual(user[-2], "enter_described")
        self.assertEqual({name for name in leaves if name in ("sizeless", "first_bare")}, set())
        nameless = sum(n for name, n in leaves.items() if name.startswith("[sizeless.so+"))
        self.assertGreater(nameless, 0.9 * sum(leaves.values()))


# Assembler with nops as code: how it is stripped, and the expected names of locations.
BOUNDS = {
    "a label within a function is no function":
        ("""function whole; nop; nop; label: nop; nop; size whole; hidden: ret
            function plain; nop; described: .cfi_startproc; nop; .cfi_endproc; size plain""", [],
         {"whole+1": "whole", "label": "whole", "label+1": "whole", "hidden": "hidden",
          "plain": "plain", "described": "described"}),
    "a label names no code behind its function":
        ("function whole; nop; label: nop; size whole; bare: ret; ret", ["objcopy", "-N", "bare"],
         {"label": "whole", "bare": "", "bare+1": ""}),
    "a size that is too large hides no neighbour":
        ("""function large; nop; nop; function inner; nop; size inner; function sizeless; nop; nop
            size large; nop; function behind; ret; size behind""", [],
         {"large": "large", "inner": "inner", "sizeless": "sizeless", "sizeless+1": "sizeless",
          "sizeless+2": "", "behind": "behind"}),
    "of two names of an address the one with a size counts":
        (".globl a; .type a, @function; a: function sized; nop; size sized; nop; function behind; ret; size behind", [],
         {"sized": "sized", "sized+1": "", "behind": "behind"}),
    "a function of several parts with unwind information is one":
        ("function parts; .cfi_startproc; nop; .cfi_endproc; nop; .cfi_startproc; nop; .cfi_endproc; size parts",
         ["strip"], {"parts": "parts", "parts+1": "parts", "parts+2": "parts"}),
    "absolute symbols and end marks are no functions":
        (""".globl absolute; .type absolute, @function; .set absolute, 0x1000000
            .section first, "ax"; nop; stop: .section second, "ax"; .type local, @function; local: nop; nop""",
         ["-Wl,--section-start=first=0xffffff,--section-start=second=0x1000000", "objcopy", "--globalize-symbol=stop"],
         {"local": "local", "local+1": "local"}),
    "marks of compilers are no functions":
        ("""function work; nop; .annobin_work.end: nop; size work; .hidden .annobin_next
            .globl .annobin_next; .annobin_next: .type next, @function; next: nop; nop""", [],
         {"work": "work", ".annobin_work.end": "work", "next": "next", "next+1": "next"}),
    "data between functions belongs to neither":
        ("function reader; ret; .type table, @object; table: .quad 0; size table; hidden: nop; ret",
         ["objcopy", "-N", "hidden"], {"reader": "reader", "table": "", "hidden": "", "hidden+1": ""}),
    "a function ends with its unwind information":
        ("function sizeless; .cfi_startproc; jmp other@PLT; .cfi_endproc; bare: nop; nop; function other; ret",
         ["strip"], {"sizeless": "sizeless", "sizeless+4": "sizeless", "bare": "", "other": "other"}),
    "it also ends where unwind information of another function begins":
        ("function sizeless; nop; ret; work.cold: .cfi_startproc; nop; nop; .cfi_endproc", ["strip"],
         {"sizeless+1": "sizeless", "work.cold": "", "work.cold+1": ""}),
    "after an exported function with a size there is no function":
        ("function exported; nop; size exported; bare: nop; nop; .p2align 4; function other; ret; size other",
         ["strip"], {"exported": "exported", "bare": "", "bare+1": "", "other": "other"}),
    "a tail call or a trap may be the end":
        ("""function calls; jmp other@PLT; .p2align 4; bare: nop; ret; .p2align 4
            function traps; nop; ud2; .p2align 4; second: nop; ret; .p2align 4
            function jumps; jmp *%rax; .p2align 4; third: nop; ret; .p2align 4
            function loops; dec %rdi; jz 2f; jmp 1f; .p2align 4; 1: jnz 1b; 2: dec %rdi; inside: ret; .p2align 4
            function other; ret""", ["strip"],
         {"calls": "calls", "bare": "", "traps+1": "traps", "second": "", "jumps+1": "jumps", "third": "",
          "loops": "loops", "inside": "loops", "other": "other"}),
    "a return before an aligned function needs no padding":
        (""".p2align 4; function fits; .skip 15, 0x90; ret; bare: dec %rdi; ret; .p2align 4
            function returns; nop; ret; goes_on: dec %rdi; ret""", ["strip"],
         {"fits": "fits", "bare": "", "returns+1": "returns", "goes_on": "returns"}),
    "where only local symbols are missing an end is looked for":
        ("function sizeless; nop; ret; .p2align 4; bare: nop; ret", ["strip", "-x"], {"sizeless": "sizeless", "bare": ""}),
    "where they are not, the symbols tell":
        ("function sizeless; jz 1f; ret; .p2align 4; 1: nop; inside: ret; .p2align 4; bare: nop; ret", ["objcopy", "-N", "inside"],
         {"sizeless": "sizeless", "inside": "sizeless", "bare": "bare"}),
    "code in another section is another's":
        ("""function sizeless; nop; ret; .section behind, "ax"; bare: nop; ret""",
         ["-Wl,-z,noseparate-code", "strip"], {"sizeless": "sizeless", "bare": ""}),
}


class Bounds(PlacesTest):
    """Where a function ends whose symbol has no size, or which has no symbol."""

    def make(self, text, *linker_options):
        """A library; `function x` and `size x` stand for several lines of assembler."""
        source = self.directory / "bounds.S"
        text = re.sub(r"\bfunction (\w+)", r".globl \1; .type \1, @function; \1:", text)
        source.write_text(".text\n" + re.sub(r"\bsize (\w+)", r".size \1, . - \1", text) + "\n")
        return self.compile("bounds", "-shared", "-nostdlib", *linker_options, source)

    def assert_names(self, path, addresses, expected, *options):
        where = [addresses[place.partition("+")[0]] + int(place.partition("+")[2] or 0) for place in expected]
        self.assertEqual(dict(zip(expected, self.names_at(path, where, *options))), expected)

    def test_no_name_goes_beyond_its_function(self):
        for title, (text, commands, expected) in BOUNDS.items():
            with self.subTest(title):
                linker_options = [each for each in commands if each.startswith("-Wl,")]
                path = self.make(text, *linker_options)
                addresses = self.addresses(path)
                if len(commands) > len(linker_options):
                    subprocess.run([*commands[len(linker_options):], path], check=True)
                self.assert_names(path, addresses, expected)

    def test_a_debug_file_supplies_missing_sizes(self):
        text = "function exported; dec %rdi; END gap: dec %rdi; .type local, @function; local: dec %rdi; nop; size local"
        build_id = "-Wl,--build-id=0x12345678"
        debug = self.directory / ".build-id" / "12" / "345678.debug"
        debug.parent.mkdir(parents=True)
        full = self.make(text.replace("END", "size exported;"), build_id)
        subprocess.run(["objcopy", "--only-keep-debug", "-N", "gap", full, debug], check=True)
        path = self.make(text.replace("END", ""), build_id)
        addresses = self.addresses(path)
        subprocess.run(["strip", path], check=True)
        self.assert_names(path, addresses, {"exported": "exported", "gap": "", "local": "local", "local+3": "local"},
                          f"--debug-dir={self.directory}")

    def test_compressed_symbols_end_sizeless_functions(self):
        """As in Fedora: symbols of functions only, and only of those that are not exported."""
        path = self.make("function exported; dec %rdi; .type local, @function; local: dec %rdi; size local; ret; bare: ret")
        addresses, small = self.addresses(path), self.directory / "small"
        subprocess.run(["objcopy", "-S", "-K", "local", path, small], check=True)
        subprocess.run(["xz", small], check=True)
        subprocess.run(["strip", path], check=True)
        subprocess.run(["objcopy", f"--add-section=.gnu_debugdata={small}.xz", path], check=True)
        self.assert_names(path, addresses, {"exported": "exported", "local": "local", "local+2": "local", "bare": ""})


class Captured(Recording):
    def fold_capture(self, capture, *filters):
        ended = self.run_well([pipeline.program("capture-source"), "-q", capture], *filters,
                              [pipeline.program("capture-sink"), "-q", "-f", "folded", "-"])
        return Counter(dict((tuple(names), n) for names, n in
                            streams.folded_stacks(ended[-1].output.decode())))

    def test_nameless_code_of_a_capture_is_one_function(self):
        program, capture = self.directory / "stripped", self.directory / "out.syscap"
        shutil.copy(INLINED_SPIN, program)
        subprocess.run(["strip", program], check=True)
        self.run_well(self.source("-F", "4999", "--", program, "500"),
                      self.stage("live-unwinder", "-q"), self.stage("symbolizer", "-q"),
                      self.stage("capture-sink", "-q", capture))
        program.unlink()  # as if on another machine
        stacks = self.fold_capture(capture)
        self.assertTrue(any(names[-1].startswith("[stripped+0x") for names in stacks), stacks)
        self.assertEqual(self.fold_capture(capture, [pipeline.program("symbolizer"), "-q"]), stacks)


class Inlined(Recording):
    def assert_spins_in(self, chain, stacks):
        """The kernel may interrupt the function, for example on a busy machine."""
        users = [([name for name in names if not name.endswith("_[k]")], n) for names, n in stacks]
        found = sum(n for names, n in users if names[-len(chain):] == chain)
        n_all = sum(n for names, n in stacks if "main" in names)
        self.assertGreater(n_all, 100, stacks)
        self.assertGreater(found, 0.9 * n_all, stacks)

    def test_inlined_calls_are_frames(self):
        self.assert_spins_in(CHAIN, self.folded([INLINED_SPIN, "1000"]))

    def test_functions_only_without_inlined_calls(self):
        self.assert_spins_in(CHAIN[:2], self.folded([INLINED_SPIN, "1000"], "--no-inlines"))

    def test_debug_information_comes_from_a_separate_file(self):
        program, debug = self.directory / "inlined-spin", self.directory / "debug"
        self.make_separate(program, debug)
        stacks = self.folded([program, "1000"], f"--debug-dir={debug}")
        self.assert_spins_in(CHAIN, stacks)
        self.assertFalse([names for names, _ in self.folded([program, "1000"]) if "outer" in names])

    def make_split(self, version):
        """A program with its .dwo beside it, both moved from where they were built."""
        built, moved = self.directory / f"built-{version}", self.directory / f"moved-{version}"
        built.mkdir()
        subprocess.run(["cc", "-O2", "-g", f"-gdwarf-{version}", "-gsplit-dwarf", "-o", "split-spin", SOURCE], cwd=built, check=True)
        built.rename(moved)
        return moved / "split-spin"

    def assert_found_in_each_sandbox(self, program):
        # Programs with a sanitizer stay dumpable, and lack a part of the sandbox.
        for sandbox in ("off", "on") if pipeline.has_sanitizer() else ("off", "on", "required"):
            with self.subTest(program=program.name, sandbox=sandbox):
                options = [] if sandbox == "on" else [f"--sandbox={sandbox}"]
                self.assert_spins_in(CHAIN, self.folded([program, "1000"], *options))

    def test_split_dwarf_beside_the_program(self):
        for version in 4, 5:
            program = self.make_split(version)
            self.assertEqual(len(list(program.parent.glob("*.dwo"))), 1)
            self.assert_found_in_each_sandbox(program)

    def test_split_debug_information_lies_in_a_package(self):
        """Of DWARF 4, as today's dwp of binutils crashes on 5."""
        if not shutil.which("dwp"):
            self.skipTest(f"dwp {pipeline.NOT_INSTALLED}")
        program = self.make_split(4)
        subprocess.run(["dwp", "-e", program.name], cwd=program.parent, check=True)
        for dwo in program.parent.glob("*.dwo"):
            dwo.unlink()
        self.assert_found_in_each_sandbox(program)

    def test_split_dwarf_named_by_a_symlink(self):
        """The program is run by a link elsewhere: the .dwo is looked for beside its file."""
        program, link = self.make_split(5), self.directory / "link"
        link.symlink_to(program)
        self.assert_found_in_each_sandbox(link)

    def make_separate(self, program, debug):
        """A stripped copy, and a directory with its debug file; returns the build-id."""
        identifier = build_id_of(INLINED_SPIN)
        debug_file = debug / ".build-id" / identifier[:2] / f"{identifier[2:]}.debug"
        debug_file.parent.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", INLINED_SPIN, debug_file], check=True)
        subprocess.run(["objcopy", "--strip-all", INLINED_SPIN, program], check=True)
        return identifier

    def serve(self, directory):
        """A real server of the debug files in a directory; returns its URL."""
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        server = subprocess.Popen(["debuginfod", "-F", "-d", ":memory:", "-p", str(port), directory],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return f"http://127.0.0.1:{port}/"

    def test_debug_files_are_downloaded_on_request(self):
        if not shutil.which("debuginfod"):
            self.skipTest(f"debuginfod {pipeline.NOT_INSTALLED}")
        program, debug = self.directory / "program", self.directory / "debug"
        cache = self.directory / "cache"
        cached = cache / self.make_separate(program, debug) / "debuginfo"
        # A file that the server has not indexed yet is requested again at once.
        cache.mkdir()
        (cache / "cache_miss_s").write_text("0")
        environment = {"DEBUGINFOD_CACHE_PATH": str(cache), "DEBUGINFOD_URLS": self.serve(debug)}
        with unittest.mock.patch.dict(os.environ, environment):
            self.assert_not_inlined(self.folded([program, "500"]))  # without the option no network is used
            self.assertFalse(cached.exists())
            pipeline.wait_for(lambda: self.download(program, cached), "a download")
            self.assert_spins_in(CHAIN, self.folded([program, "1000"]))
            self.assert_not_inlined(self.folded([program, "500"], "--debuginfod=off"))

    def download(self, program, cached):
        """Records until the file was downloaded: the server has to index its directory first.

        An empty file in the cache means that it was not found.
        """
        seen = self.directory / "seen"
        loop = 'for i in $(seq 100); do "$0" 20; [ -s "$1" ] && touch "$2" && exec "$0" 3000; done; :'
        stacks = self.folded(["sh", "-c", loop, program, cached, seen], "--debuginfod=on")
        if seen.exists():
            self.assertTrue([names for names, _ in stacks if names[-3:] == CHAIN[1:]])
        return seen.exists()

    def assert_not_inlined(self, stacks):
        self.assertFalse([names for names, _ in stacks if "innermost_[i]" in names])

    def test_names_can_be_had_later_and_elsewhere(self):
        """The names of a recorded stream whose program is deleted, but is in a directory by its build-id."""
        program, elsewhere = self.directory / "program", self.directory / "elsewhere"
        shutil.copy(INLINED_SPIN, program)
        stream = self.directory / "stream"
        stream.write_bytes(self.run_well(self.source("-F", "4999", "--", program, "1000"),
                                         self.stage("live-unwinder"))[-1].output)
        program.unlink()
        folded = [self.stage("capture-sink", "-q", "-f", "folded", "-")]
        nowhere = self.run_on(stream, self.stage("symbolizer"), *folded)
        self.assertNotIn(b";outer;", nowhere)
        identifier = build_id_of(INLINED_SPIN)
        copy = elsewhere / ".build-id" / identifier[:2] / identifier[2:]
        copy.parent.mkdir(parents=True)
        shutil.copy(INLINED_SPIN, copy)
        named = self.run_on(stream, self.stage("symbolizer", f"--debug-dir={elsewhere}"), *folded)
        self.assert_spins_in(CHAIN, streams.folded_stacks(named.decode()))

    def test_names_can_be_had_from_debug_files_alone(self):
        """A debug file has no code, and so other offsets: the stream tells where the code was. lld leaves no holes."""
        for linker in "bfd", "lld":
            program, elsewhere = self.directory / f"linked-by-{linker}", self.directory / f"debug-{linker}"
            if subprocess.run(["cc", "-O2", "-g", "-Wl,--build-id", f"-fuse-ld={linker}", SOURCE, "-o", program],
                              capture_output=True).returncode:
                continue
            stream = self.directory / "stream"
            stream.write_bytes(self.run_well(self.source("-F", "4999", "--", program, "1000"),
                                             self.stage("live-unwinder"))[-1].output)
            named = [self.stage("symbolizer", "--no-cache", f"--debug-dir={elsewhere}"),
                     self.stage("capture-sink", "-q", "-f", "folded", "-")]
            with_program = self.run_on(stream, *named)
            self.assert_spins_in(CHAIN, streams.folded_stacks(with_program.decode()))
            identifier = build_id_of(program)
            debug = elsewhere / ".build-id" / identifier[:2] / f"{identifier[2:]}.debug"
            debug.parent.mkdir(parents=True)
            for make in ["objcopy", "--only-keep-debug"], ["eu-strip", "-f"]:
                with self.subTest(linker, make=make[0]):
                    stripped = self.directory / "stripped"
                    command = [*make, program, debug] if make[0] == "objcopy" else [*make, debug, "-o", stripped, program]
                    if not shutil.which(make[0]):
                        continue
                    debug.unlink(missing_ok=True)
                    subprocess.run(command, check=True)
                    program.rename(self.directory / "away")
                    self.assertEqual(self.run_on(stream, *named), with_program)
                    (self.directory / "away").rename(program)

    def test_files_without_debug_information_are_listed(self):
        program = self.directory / "program"
        identifier = self.make_separate(program, self.directory / "debug")
        *_, sink = self.start(
            self.source("-F", "4999", "--", program, "1000"), self.stage("live-unwinder", "-q"),
            self.stage("symbolizer", "-q"),
            self.stage("capture-sink", self.directory / "out.folded")).end()
        name = f"program (build-id {identifier})"
        self.assertRegex("\n".join(sink.errors),
                         r"No debug information .*:\n +9\d\.\d\d %  " + re.escape(name))
        self.assertGreater(self.stats("symbolizer")["no-debug-info"][name],
                           0.9 * self.stats("symbolizer")["samples_in"])

    def test_places_have_lines(self):
        text = self.run_well(
            self.source("-F", "4999", "--", INLINED_SPIN, "1000"), self.stage("live-unwinder"),
            self.stage("symbolizer"), [pipeline.program("frame-dump")])[-1].output.decode()
        lines = Counter(re.findall(
            r'^inlined .* name="innermost" file=".*/inlined-spin\.c" line=(\d+)', text, re.M))
        self.assertIn(str(SPIN_LINE), lines)
        self.assertRegex(text, r'(?m)^symbol .* name="outer" .* file=".*/inlined-spin\.c" line=\d+')


FOLDED = "parse", "draw", "another", "first"


LOCAL_CLASSES = """
#include <cstdio>
#include <cstdlib>
namespace app {
namespace {
struct Local { unsigned v; Local(unsigned x) : v(x) { for (int i = 0; i < 50; i++) v = v * 17 + i; } };
}
template<class T> struct Widget { T v; Widget(T x) : v(x) { for (int i = 0; i < 50; i++) v = v * 33 + i; } };
}
int main(int argc, char **argv)
{
	unsigned sum = 0;
	for (long i = 0; i < atol(argv[1]); i++) {
		auto mix = [&](int n) { for (int k = 0; k < 50; k++) sum = sum * 7 + n; };
		sum += app::Local(i).v + app::Widget<unsigned>(i).v;
		mix(i);
	}
	printf("%u\\n", sum);
}
"""


class Qualified(Recording):
    def test_inlined_names_have_their_scopes(self):
        """Also names without linkage names: classes of unnamed namespaces, lambdas."""
        source, program = self.directory / "scopes.cc", self.directory / "scopes"
        source.write_text(LOCAL_CLASSES, encoding="ascii")
        subprocess.run(["g++", "-O2", "-fno-tree-vectorize", "-g", "-o", program, source], check=True)
        found = {name for names, _ in self.folded([program, "1500000"]) for name in names if name.endswith("_[i]")}
        for name in "app::(anonymous namespace)::Local::Local", "main::{lambda}::operator()", \
                    "app::Widget<unsigned int>::Widget(unsigned int)":
            self.assertTrue(f"{name}_[i]" in found or any(each.startswith(name) for each in found), found)
        for name in "Local_[i]", "operator()_[i]":
            self.assertNotIn(name, found)


class Folded(Recording, PlacesTest):
    SOURCE = pipeline.TOP / "tests" / "programs" / "folded.c"

    def callees(self, linker, *arguments):
        """The callees of functions of the compiled program, {name: names}."""
        program, callees = self.directory / "folded", {}
        subprocess.run(["cc", "-O1", f"-fuse-ld={linker}", "-ffunction-sections", "-fno-toplevel-reorder",
                        "-Wl,--icf=all", "-o", program, *arguments], check=True)
        for names, _ in self.folded([program]):
            for caller in "reader", "painter", "main":
                if caller in names[:-1]:
                    callees.setdefault(caller, set()).add(names[names.index(caller) + 1])
        return callees

    def test_folded_functions_are_marked(self):
        for linker in filter(lambda name: shutil.which(f"ld.{name}"), ("gold", "lld")):
            callees = self.callees(linker, self.SOURCE)
            self.assertEqual(callees["reader"], {"another (+2)"}, linker)
            self.assertEqual(callees["painter"], {"another (+2)"}, linker)
            self.assertEqual(callees["main"], {"reader", "painter", "alone"}, linker)

    def check_folded(self, linker, described, *arguments):
        """The name of one of them, and the number of others whose symbols the linker kept."""
        program = self.compile("folded", "-O1", f"-fuse-ld={linker}", "-ffunction-sections", "-fno-toplevel-reorder",
                               "-fno-asynchronous-unwind-tables", "-Wl,--icf=all", *arguments)
        addresses = self.addresses(program)
        kept = next(name for name in FOLDED if name in addresses)
        names = sorted(name for name in FOLDED if addresses.get(name) == addresses[kept])
        others = f" (+{len(names) - 1})" if names[1:] else ""
        shown = described if described in names else names[0]
        self.assertEqual(self.names_at(program, [addresses[kept]]), [shown + others], (linker, arguments))
        return len(names)

    def test_folded_functions_are_named_by_dwarf(self):
        """gold leaves all descriptions at one address, other linkers only that of the function that is kept."""
        first = self.directory / "first.c"
        first.write_text("""__attribute__((noipa)) void first(long n)
            { for (; n > 0; n--) __asm__ volatile(""); }
            void (*volatile first_used)(long) = first;""")
        for linker, of_one_unit, of_two in (("gold", None, None), ("lld", "parse", "first"), ("mold", "parse", "first")):
            if shutil.which(f"ld.{linker}"):
                counts = (self.check_folded(linker, None, self.SOURCE),
                          self.check_folded(linker, of_one_unit, "-g", self.SOURCE),
                          self.check_folded(linker, of_two, "-g", first, self.SOURCE))
                # Newer versions of mold leave one symbol.
                self.assertIn(counts, [(3, 3, 4)] + [(1, 1, 1)] * (linker == "mold"), linker)


TWIN = r"""
volatile long n;
__attribute__((noinline)) void NAME(long k) { for (long i = 0; i < k; i++) n++; }
int main(void) { NAME(400000000); return 0; }
"""


class Twins(Recording):
    """Each container has its own file systems, with the same inode numbers."""

    def make(self, name):
        program = self.directory / name
        (self.directory / "twin.c").write_text(TWIN)
        subprocess.run(["cc", "-O1", "-Wl,--build-id=none", f"-DNAME={name}", "-o", program,
                        self.directory / "twin.c"], check=True)
        os.utime(program, (0, 0))
        return program

    def mount(self, at, program):
        return f"mount -t tmpfs none {at} && cp -p {program} {at}/prog"

    @pipeline.needs_root
    def test_one_inode_on_two_file_systems_is_two_files(self):
        ours, theirs = self.make("ours_inner"), self.make("theirs_inner")
        at, stream = self.directory / "mnt", self.directory / "stream"
        at.mkdir()
        self.record(stream, self.stage("live-unwinder"), self.stage("symbolizer"), command=[
            "unshare", "-m", "sh", "-c", f"{self.mount(at, theirs)} && exec {at}/prog"])
        names = self.names(stream, [pipeline.program("frame-dump")])
        self.assertIn("theirs_inner", names)
        self.assertNotIn("ours_inner", names)
        subprocess.run(["sh", "-c", self.mount(at, ours)], check=True)
        self.addCleanup(subprocess.run, ["umount", at], check=True)
        raw = self.record(self.directory / "raw", command=[
            "unshare", "-m", "sh", "-c", f"{self.mount(at, theirs)} && exec {at}/prog"])
        replay = (self.stage("live-unwinder"), self.stage("symbolizer"),
                  [pipeline.program("frame-dump")])
        while "theirs_inner" in (names := self.names(raw, *replay)):
            pass  # the image server has not exited yet
        self.assertNotIn("ours_inner", names)

    def names(self, stream, *commands):
        text = self.run_on(stream, *commands).decode()
        return set(re.findall(r'^symbol .* name="([^"]*)"', text, re.M))


@unittest.skipUnless(os.geteuid() == 0, "only root may change its root")
class Container(Recording):
    """A program in its own root directory, which also contains its debug file."""

    def setUp(self):
        super().setUp()
        source, full = self.directory / "spin.c", self.directory / "full"
        source.write_text("""static __attribute__((noinline)) void only_in_debug_file(long n) {
            while (n--) __asm__ volatile("" : "+r"(n)); __asm__ volatile(""); }
            int main(int argc, char **argv) { only_in_debug_file(argc * 1500000000L); return 0; }""")
        subprocess.run(["cc", "-O1", "-static", "-Wl,--build-id", "-o", full, source], check=True)
        self.root = self.directory / "root"
        build_id = build_id_of(full)
        self.debug = self.root / f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
        self.debug.parent.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", full, self.debug], check=True)
        subprocess.run(["strip", "-o", self.root / "spin", full], check=True)

    def n_named(self, *arguments, beside=()):
        stacks = self.folded(["chroot", self.root, "/spin", *arguments], source_options=("-F", "999"), beside=beside)
        self.assertGreater(sum(n for names, n in stacks if names[0] == "spin"), 100)
        # /proc shows another path for files in the root directory than the kernel's events.
        self.assertEqual(self.stats("perf-source")["processes"]["mappings-moved"], 0)
        return sum(n for names, n in stacks if "only_in_debug_file" in names)

    def test_the_debug_file_is_the_containers_own(self):
        self.assertGreater(self.n_named(), 100)

    @unittest.skipUnless(shutil.which("strace"), f"strace {pipeline.NOT_INSTALLED}")
    def test_a_slow_debug_file_is_used_later(self):
        """Its file system answers after the image server's timeout (OPENERS_PATIENCE_MS)."""
        # With seccomp, strace stops the program at no other call: a busy machine would take seconds.
        # LeakSanitizer refuses to run under ptrace(2).
        slow = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-E", "ASAN_OPTIONS=detect_leaks=0",
                "-P", f"/{self.debug.relative_to(self.root)}",
                "-e", "trace=openat2", "-e", "inject=openat2:delay_enter=700000"]
        self.assertGreater(self.n_named(*"123456789abcdef", beside=slow), 100)

    def test_a_debug_file_of_another_program_is_refused(self):
        other = self.directory / "other"
        subprocess.run(["cc", "-O2", "-static", "-Wl,--build-id", "-o", other,
                        self.directory / "spin.c"], check=True)
        self.assertNotEqual(build_id_of(other), build_id_of(self.directory / "full"))
        shutil.copy(other, self.debug)
        self.assertEqual(self.n_named(), 0)

    def test_a_link_out_of_the_container_is_not_followed(self):
        outside = self.directory / "outside"
        self.debug.rename(outside)
        self.debug.symlink_to(outside)
        self.assertEqual(self.n_named(), 0)


class Jit(Recording):
    def jit_leaves(self, command, make=":"):
        """{(thread, name of its JIT code): samples} of stacks that end in such code.

        First runs the shell code `make`, which may write $map; the map is removed afterwards. Functions of scripts are left
        out: they are within such code.
        """
        process = self.directory / "process"
        try:
            stacks = self.folded(["sh", "-c", f'echo $$ >{process}; map=/tmp/perf-$$.map; {make}; '
                                  'exec "$@"', "sh", *command], source_options=("-F", "4999", "--no-interpreters"))
        finally:
            Path(f"/tmp/perf-{int(process.read_text())}.map").unlink(missing_ok=True)
        return self.leaves_of(stacks)

    def leaves_of(self, stacks):
        leaves = Counter()
        for names, n in stacks:
            user = [name for name in names[1:] if not name.endswith("_[k]")]
            if user and user[-1].endswith("_[j]"):
                self.check_marks(user)
                leaves[names[0], user[-1].removesuffix("_[j]").removesuffix("_[f]")] += n
        return leaves

    def check_marks(self, user):
        """Stacks continue past JIT code by a frame pointer, or by the code in a jitdump; otherwise they end there."""
        if any("_[f]" in name for name in user):
            self.assertRegex(user[0], r"^\[")  # the stack is not complete
        elif "made-code" not in self.stats("live-unwinder"):
            self.assertEqual(user, ["[no-unwind-info]", user[-1]])

    def assert_named(self, leaves, names):
        """The code of each thread has the given name, except for samples taken before the name was known."""
        self.assertEqual({thread for thread, _ in leaves}, set(names))
        for (thread, name), n in leaves.items():
            self.assertIn(name, (names[thread], "[unknown]"), leaves)
        for thread, name in names.items():
            n_all = sum(n for (other, _), n in leaves.items() if other == thread)
            self.assertGreater(leaves[thread, name], NAMED_MIN * n_all, leaves)

    def spin(self, *arguments, where="memory"):
        directory = "/tmp" if arguments[0] == "map" else self.directory
        leaves = self.jit_leaves([JIT_SPIN, *arguments, directory, "20", where])
        self.assertGreater(sum(leaves.values()), 500)
        for thread, name in leaves:
            if name != "[unknown]":
                self.assertEqual(name, thread)
        return leaves

    def assert_nearly_all_named(self, leaves):
        n_all = sum(leaves.values())
        named = sum(n for (_, name), n in leaves.items() if name != "[unknown]")
        self.assertGreaterEqual(named, NAMED_MIN * n_all, leaves)

    def test_reused_addresses_have_the_name_of_their_time(self):
        self.assert_nearly_all_named(self.spin("dump", "prompt", "same"))

    def test_a_late_jitdump_names_earlier_samples(self):
        self.assert_nearly_all_named(self.spin("dump", "late", "apart"))

    def test_ambiguous_late_names_are_not_used(self):
        self.spin("dump", "late", "same")
        self.spin("dump", "late", "turns")

    def test_a_perf_map_names_code(self):
        self.assert_nearly_all_named(self.spin("map", "prompt", "apart"))
        self.assert_nearly_all_named(self.spin("map", "late", "apart"))

    def test_code_in_a_memfd_has_names_like_any(self):
        self.assert_nearly_all_named(self.spin("dump", "prompt", "same", where="memfd"))
        self.assert_nearly_all_named(self.spin("map", "prompt", "apart", where="memfd"))
        self.spin("map", "late", "turns", where="memfd")

    def test_code_in_a_file_of_dev_shm_has_names_like_any(self):
        self.assert_nearly_all_named(self.spin("map", "prompt", "apart", where="shm"))

    def test_a_perf_map_without_times_names_nothing_wrong(self):
        self.spin("map", "prompt", "same")
        self.spin("map", "prompt", "turns")
        self.spin("map", "late", "turns")

    def test_a_map_of_an_earlier_program_names_nothing(self):
        """The shell executes the program with the same PID; its map must be older by clock ticks."""
        make = ('echo "0 ffffffffffff everything" >$map; now() { date +%s%N; }; made=$(now); '
                'while [ $(($(now) - made)) -lt 100000000 ]; do :; done')
        leaves = self.jit_leaves([JIT_SPIN, "none", "prompt", "apart", "/tmp", "20"], make)
        self.assertEqual({name for _, name in leaves}, {"[unknown]"})
        self.assertGreater(self.stats("symbolizer")["jit"]["perf-map-stale"], 0)

    def check_refused(self, make):
        """With something else at the path of the process's map, its code has no names."""
        leaves = self.jit_leaves([JIT_SPIN, "none", "prompt", "apart", "/tmp", "20"], make)
        self.assertEqual({name for _, name in leaves}, {"[unknown]"})
        self.assertGreater(self.stats("symbolizer")["jit"]["perf-map-refused"], 0)

    def test_a_fifo_is_no_perf_map(self):
        self.check_refused("mkfifo $map")

    def test_a_link_is_no_perf_map(self):
        (self.directory / "map").write_text("0 ffffffffffff everything\n")
        self.check_refused(f"ln -s {self.directory}/map $map")

    def test_a_file_of_two_gigabytes_is_no_perf_map(self):
        self.check_refused("truncate -s 2G $map")

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_another_users_file_is_no_perf_map(self):
        self.check_refused('echo "0 ffffffffffff everything" >$map; chown 12345 $map')

    def test_a_world_writable_perf_map_is_refused(self):
        self.check_refused('echo "0 ffffffffffff everything" >$map; chmod 666 $map')

    @pipeline.needs_root
    def test_a_jitdump_of_another_user_names_nothing(self):
        """The other user created it, and can write to it while the program does."""
        program = f'dump={self.directory}/jit-$$.dump; touch $dump; chown 12345 $dump; exec "$@"'
        leaves = self.leaves_of(self.folded(["sh", "-c", program, "sh", JIT_SPIN, "dump", "prompt", "apart",
                                             self.directory, "20"]))
        self.assertEqual({name for _, name in leaves}, {"[unknown]"})
        self.assertGreater(self.stats("symbolizer")["jit"]["jitdump-refused"], 0)

    def test_an_earlier_fork_keeps_its_own_names(self):
        os.mkfifo(self.directory / "go")
        os.mkfifo(self.directory / "done")
        program = subprocess.Popen([JIT_OTHERS, "fork", self.directory], stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        go_on = f"echo >{self.directory}/go; exec cat {self.directory}/done"
        leaves = self.leaves_of(self.folded(["sh", "-c", go_on], source_options=(
            "-F", "4999", "-p", program.stdout.readline().strip())))
        self.assert_named(leaves, {"parent": "parent", "child": "child", "nameless": "[unknown]"})
        self.assertEqual(program.wait(), 0)
        self.assertEqual(self.stats("symbolizer")["jit"]["jitdump-records-of-others"], 4)
        self.assertEqual(self.stats("live-unwinder")["made-code"]["records-of-others"], 4)

    def test_an_earlier_programs_jitdump_names_nothing(self):
        leaves = self.leaves_of(self.folded([JIT_OTHERS, "exec", self.directory]))
        self.assert_named(leaves, {"parent": "parent", "nameless": "[unknown]"})
        self.assertEqual(self.stats("symbolizer")["jit"]["jitdump-records-of-others"], 1)

    @pipeline.needs_root
    def test_a_jitdump_of_a_namespace_has_its_pids(self):
        leaves = self.leaves_of(self.folded(["unshare", "-pf", JIT_SPIN, "dump", "prompt", "same", self.directory, "20"]))
        self.assertGreater(sum(leaves.values()), 500)
        self.assert_named(leaves, {f"made-{i}": f"made-{i}" for i in range(16)})

    def check_node(self, option):
        if not shutil.which("node"):
            self.skipTest(f"node {pipeline.NOT_INSTALLED}")
        os.chdir(self.directory)
        leaves = self.jit_leaves(["node", option, SPIN_JS, "2"])
        self.assertGreater(sum(leaves.values()), 1000)
        self.assert_nearly_all_named(leaves)

    def test_node_with_a_perf_map(self):
        self.check_node("--perf-basic-prof")

    def test_node_with_a_jitdump(self):
        self.check_node("--perf-prof")


if __name__ == "__main__":
    pipeline.main()
