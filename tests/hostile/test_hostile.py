# SPDX-License-Identifier: GPL-3.0-or-later
"""
Hostile programs run one after the other beside a good one: the good program's stacks stay complete, every
stage exits well and stays small, and displayed output is clean.
"""
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import elf_made  # noqa: E402
import pipeline  # noqa: E402
import streams  # noqa: E402

PROGRAMS = pipeline.BUILD / "tests" / "hostile"
JIT_SPIN = pipeline.BUILD / "tests" / "pipeline" / "jit-spin"
MANY_MAPS = 8
CHAIN_SOURCE = Path(__file__).resolve().parents[1] / "programs" / "chain.c"
EMBED_IMAGES = pipeline.BUILD / "tests" / "data" / "embed-images"
STAGES = "perf-source", "live-unwinder", "symbolizer", "capture-sink"
SECONDS = "2.5"  # of a recording
BRIEF = "0.3"  # CPU seconds of a hostile program; it is restarted while there is time
INTACT = 0.99  # share of the good program's stacks
GOOD_MIN = 100  # minimum number of them to judge by: it shares the CPUs with all others
GIGABYTES = 2 << 30
KNOWN = ["main", "outer", "middle", "inner"]
BELOW_MAIN = 3  # _start and two functions of libc, which have names if its symbols are installed
# For each program of bad frames: its function, the required end reason, and the maximum of frames.
BAD_FRAMES = {
    "own-return": ("own_return", "[frame-limit]", 512),
    "each-other": ("each_other", "[frame-limit]", 512),
    "endless": ("endless", "[bad-unwind-info]", 1),
    "long": ("long_expression", "[bad-unwind-info]", 1),
    "upwards": ("upwards", "[no-mapping]", 2),
}
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
HOSTILE_NAME = b"\x1b[31m;in\nner 7\x07<script>\xff\xfe\r\x9b2J\xe2\x80\xae</script>"


def is_intact(names):
    """Whether a stack of chain.c is possible, from its outermost frame to its innermost."""
    side = streams.user_side(names)
    inner = side[BELOW_MAIN + 2:]
    return (side[:1] == ["_start"] and side[BELOW_MAIN:BELOW_MAIN + 2] == KNOWN[:2]
            and (inner == KNOWN[2:2 + len(inner)] or inner[:1] == ["cpu_seconds"]))


class Hostile(pipeline.MachineTest):
    def setUp(self):
        super().setUp()
        self.start_busy()
        self.stream = self.directory / "all.stream"

    def pipe(self):
        """Starts all stages, and keeps their output as a stream, too."""
        source = self.source("-a", "-d", SECONDS)
        return self.start(source, self.stage("live-unwinder"), self.stage("symbolizer"),
                          ["tee", self.stream],
                          self.stage("capture-sink", "-q", "--force",
                                     self.directory / "all.syscap"))

    def beside(self, *command, **options):
        """Records all processes while a hostile program is restarted again and again."""
        started = self.pipe()
        n = 0
        while started.processes[0].poll() is None:
            subprocess.run(command, check=True, **options)
            n += 1
        self.assertGreater(n, 0)
        return self.judge(started)

    def judge(self, started):
        """Checks what must hold beside any hostile program; returns all stacks."""
        for ended in started.end():
            self.assertEqual(ended.status, 0, ended)
        self.assert_stats_add_up(*STAGES)
        self.assert_memory_is_bounded(*STAGES)
        folded = self.run_on(self.stream, self.stage("capture-sink", "-q", "-f", "folded", "-"))
        self.assertIsNone(CONTROL.search(folded))
        stacks = streams.folded_stacks(folded.decode())  # valid UTF-8
        good = [(names, n) for names, n in stacks if names[0] == "chain"]
        total = sum(n for _, n in good)
        intact = sum(n for names, n in good if is_intact(names))
        self.assertGreater(total, GOOD_MIN)
        self.assertGreaterEqual(intact, INTACT * total,
                                [names for names, _ in good if not is_intact(names)])
        print(f"{intact} of {total} good stacks intact; "
              f"{max(self.stats(name)['max_rss_kib'] for name in STAGES) >> 10} MiB", flush=True)
        return stacks

    def of(self, stacks, name):
        """Stacks of threads with that name."""
        found = [(names, n) for names, n in stacks if names[0] == name]
        self.assertTrue(found, f"{name} was never sampled")
        return found

    def made(self, name, data):
        """A program file with these bytes."""
        path = self.directory / name
        path.write_bytes(data)
        path.chmod(0o755)
        return path

    def test_frames_that_lead_nowhere(self):
        for which, (function, end, n_frames_max) in BAD_FRAMES.items():
            with self.subTest(which):
                stacks = self.of(self.beside(PROGRAMS / "bad-frames", which, BRIEF), "bad-frames")
                inside = [(names, n) for names, n in stacks if streams.user_side(names)[-1:] == [function]]
                there = sum(n for names, n in inside if names[1] == end)
                self.assertGreater(there, 0.95 * sum(n for _, n in inside))
                for names, _ in inside:
                    # Outside its loop no address is a possible return address.
                    self.assertIn(names[1], (end, "[bad-unwind-info]"), names[:9])
                    self.assertLessEqual(len(streams.user_side(names)) - 1, n_frames_max, names[:9])

    def test_a_library_that_is_constantly_rewritten(self):
        for how in ("truncate", "garbage"):
            with self.subTest(how):
                library = self.made("library.so", (PROGRAMS / "libspin-library.so").read_bytes())
                content = library.read_bytes()

                def restore():
                    library.unlink()
                    library.write_bytes(content)
                started = self.pipe()
                while started.processes[0].poll() is None:
                    restore()
                    subprocess.run([PROGRAMS / "rewritten", library, how, BRIEF], check=True)
                self.of(self.judge(started), "rewritten")

    def test_a_gzip_bomb_as_a_mapped_file(self):
        data = elf_made.gzip_bomb(2 << 30)
        bomb = self.made("bomb", data + bytes(4096))
        stacks = self.beside(PROGRAMS / "mapped-code", bomb, str(len(data)), "1", BRIEF)
        self.of(stacks, "mapped-code")

    def test_sections_that_inflate_to_gigabytes(self):
        chain = pipeline.CHAIN.read_bytes()
        compressed = elf_made.SHF_COMPRESSED
        bomb = elf_made.zlib_bomb(1 << 30)
        for name, data in {
                "bomb-info": elf_made.with_section(chain, b".debug_info", bomb, compressed),
                "bomb-frame": elf_made.with_section(chain, b".debug_frame", bomb, compressed),
                "bomb-lie": elf_made.with_section(chain, b".debug_info", elf_made.zlib_lie(1 << 40), compressed),
                "bomb-xz": elf_made.with_section(chain, b".gnu_debugdata", elf_made.xz_bomb(1 << 30)),
        }.items():
            with self.subTest(name):
                program = self.made(name, data)
                stacks = self.beside(program, "once", BRIEF)
                self.of(stacks, name)

    def alone(self, program, *ways, engine="auto"):
        """Records it without a sandbox, which would limit the memory; returns the stages' statistics."""
        self.run_well(self.source("--", program, "once", BRIEF), *ways,
                      self.stage("live-unwinder", "-q", "--no-cache", f"--engine={engine}", "--sandbox=off"),
                      self.stage("symbolizer", "-q", "--sandbox=off"),
                      self.stage("capture-sink", "-q", "-f", "folded", "-"))
        self.assert_memory_is_bounded(*STAGES)
        return {name: self.stats(name) for name in STAGES}

    def test_call_frames_that_inflate_to_gigabytes(self):
        """elfutils looks for unwind information of code that has none, in a file and in a stream."""
        data = (PROGRAMS / "no-frames").read_bytes()
        bombs = elf_made.zlib_bomb(GIGABYTES), elf_made.zstd_bomb(GIGABYTES)
        for section, bomb, way in itertools.product((b".debug_frame", b".debug_line"), bombs, ([], [[EMBED_IMAGES]])):
            with self.subTest(section=section, size=len(bomb), way=way):
                stats = self.alone(self.made("no-frames", elf_made.with_section(
                    data, section, bomb, elf_made.SHF_COMPRESSED)), *way, engine="dwfl")
                stacks = stats["live-unwinder"]["stacks"]
                self.assertGreater(stacks["no-unwind-info"] + stacks["image-unavailable"], 0)

    def test_tables_and_code_that_inflate_to_gigabytes(self):
        for section in (b".strtab", b".shstrtab", b".symtab", b".dynstr", b".eh_frame", b".plt", b".note.gnu.build-id"):
            with self.subTest(section):
                data = elf_made.with_compressed(pipeline.CHAIN.read_bytes(), section, elf_made.zstd_bomb(GIGABYTES))
                stats = self.alone(self.made("compressed", data))
                self.assertGreater(stats["symbolizer"]["images"]["too-large-sections"], 0)
                hole = self.made("hole", pipeline.CHAIN.read_bytes())
                stats = self.alone(elf_made.with_sparse_section(hole, section, GIGABYTES))
                self.assertGreater(stats["symbolizer"]["images"]["too-large-sections"], 0)

    def test_debug_information_that_inflates_to_gigabytes(self):
        data = pipeline.CHAIN.read_bytes()
        for section, content in {
                b".debug_info": elf_made.zstd_bomb(GIGABYTES // 2 - (4 << 20)),
                b".debug_str": elf_made.zstd_bomb(446 << 20),  # of the limit of 448 MiB per section
                b".debug_line": elf_made.lines_bomb(data, 255 << 20),
        }.items():
            with self.subTest(section):
                self.alone(self.made("debug", elf_made.with_compressed(data, section, content)))

    def test_compressed_sections_that_are_holes(self):
        """Their decompressed size is not even looked up."""
        data = (PROGRAMS / "no-frames").read_bytes()
        for section, flags in ((b".debug_info", elf_made.SHF_COMPRESSED),
                               (b".debug_frame", elf_made.SHF_COMPRESSED), (b".zdebug_info", 0)):
            with self.subTest(section):
                program = self.made("hole", elf_made.with_section(data, section, bytes(32), flags))
                self.alone(elf_made.with_sparse_section(program, section, GIGABYTES), engine="dwfl")

    def test_split_dwarf_that_inflates_to_gigabytes(self):
        program, dwo = self.directory / "split", self.directory / "split-chain.dwo"
        subprocess.run(["cc", "-g", "-gsplit-dwarf", "-O1", "-w", "-D_GNU_SOURCE", "-pthread", CHAIN_SOURCE, "-o",
                        program], check=True, cwd=self.directory)
        good = dwo.read_bytes()
        self.assertNotIn("refused", self.alone(program)["symbolizer"])
        for section in (b".debug_str.dwo", b".shstrtab"):
            with self.subTest(section):
                dwo.write_bytes(elf_made.with_compressed(good, section, elf_made.zstd_bomb(GIGABYTES)))
                self.assertEqual(self.alone(program)["symbolizer"]["refused"], {"symbols": 1})
                dwo.write_bytes(good)
                elf_made.with_sparse_section(dwo, section, GIGABYTES)
                self.assertEqual(self.alone(program)["symbolizer"]["refused"], {"symbols": 1})

    def test_perf_maps_of_gigabytes(self):
        """Maps of a few processes, each of the maximum size; a small one keeps its names."""
        large = self.directory / "map"
        large.write_text("".join(f"{i % 999:x} {1 + i % 77:x} {'n' * 50}\n" for i in range(1000000)))
        spin = f'{JIT_SPIN} map prompt apart /tmp 36 memory'
        script = (f"for i in {' '.join(['large'] * MANY_MAPS)}; do "
                  f'{spin} {large} & maps="$maps /tmp/perf-$!.map"; done; '
                  f'{spin} & maps="$maps /tmp/perf-$!.map"; wait; rm $maps')
        self.run_well(self.source("--", "sh", "-c", script),
                      self.stage("live-unwinder", "-q", "--sandbox=off"),
                      self.stage("symbolizer", "-q", "--sandbox=off"),
                      self.stage("capture-sink", "-q", "-f", "folded", self.directory / "out.folded"))
        stats = self.stats("symbolizer")
        self.assertEqual(stats["jit"]["perf-maps"], MANY_MAPS + 1)
        # The limits of size and time do not allow all of them.
        self.assertGreater(stats["jit"].get("too-large", 0) + stats.get("refused", {}).get("perf-map-bytes", 0), 0)
        self.assert_memory_is_bounded("symbolizer")
        self.assertRegex((self.directory / "out.folded").read_text(), r";made-[0-9]+_\[f\]_\[j\]")

    def test_a_hundred_thousand_sections(self):
        program = self.made("sections", elf_made.with_many_sections(pipeline.CHAIN.read_bytes(), 100000))
        self.of(self.beside(program, "once", BRIEF), "sections")

    def test_a_build_id_that_is_a_path(self):
        data = elf_made.with_build_id(pipeline.CHAIN.read_bytes(), b"/../../../etc/passwd")
        self.of(self.beside(self.made("build-id", data), "once", BRIEF), "build-id")

    def test_symbol_names_with_escape_sequences(self):
        renamed = {b"inner": HOSTILE_NAME, b"middle": b"m" * (1 << 20)}
        data = elf_made.with_symbol_names(pipeline.CHAIN.read_bytes(), renamed)
        stacks = self.of(self.beside(self.made("symbols", data), "once", BRIEF), "symbols")
        self.assertTrue(any("script" in names[-1] for names, _ in stacks), stacks)
        self.assert_clean_everywhere()

    def test_thread_and_file_names_with_escape_sequences(self):
        directory = os.fsencode(self.directory) + b"/\x1b]0;title\x07;\n\xff"
        os.mkdir(directory)
        program = directory + b"/\x1b[2J na\nmes"
        Path(os.fsdecode(program)).write_bytes((PROGRAMS / "names").read_bytes())
        os.chmod(program, 0o755)
        self.beside(program, BRIEF)
        self.assert_clean_everywhere()

    def assert_clean_everywhere(self):
        """The recording is clean in everything that is displayed or read by other programs."""
        for format_ in ("html", "syscap", "speedscope.json", "firefox.json"):
            out = self.directory / f"out.{format_}"
            self.run_on(self.stream, self.stage("capture-sink", "-q", "--force", out))
            data = out.read_bytes()
            for sequence in (b"\x1b[31m", b"\x1b[2J", b"\x1b]0;"):
                self.assertNotIn(sequence, data, format_)
            if format_ != "syscap":
                self.assertIsNone(CONTROL.search(data), format_)
                data.decode()
            if format_ == "html":
                self.assertNotIn(b"<script>x", data)
        report = subprocess.run(
            [pipeline.program("stackpipe"), "report", "--tree", self.directory / "out.syscap"],
            check=True, capture_output=True).stdout
        self.assertIsNone(CONTROL.search(report))
        report.decode()

    def test_forged_names(self):
        stacks = self.beside(PROGRAMS / "forged-names", self.directory, BRIEF)
        for names, _ in stacks:
            self.assertFalse(any("forged" in name for name in names[1:]
                                 if "forged-names" not in name and name != "Hostile.test_forged_names"), names)

    def test_a_perf_map_that_is_a_fifo_or_of_another_user(self):
        started = self.pipe()
        kind = 0
        while started.processes[0].poll() is None:
            process = subprocess.Popen([PROGRAMS / "mapped-code", "/dev/zero", "0", "1", BRIEF])
            path = Path(f"/tmp/perf-{process.pid}.map")
            if kind % 2:
                path.write_text("0 ffffffffffff of_another_user\n")
                os.chown(path, 65534, 65534)
            else:
                os.mkfifo(path)
            process.wait()
            path.unlink()
            kind += 1
        stacks = self.of(self.judge(started), "mapped-code")
        self.assertFalse(any("of_another_user" in name for names, _ in stacks for name in names))

    def test_very_many_mappings(self):
        stacks = self.beside(PROGRAMS / "mapped-code", pipeline.CHAIN, "0", "60000", BRIEF)
        self.of(stacks, "mapped-code")

    def test_very_deep_stacks(self):
        stacks = self.of(self.beside(PROGRAMS / "deep", BRIEF), "deep")
        deep = [(names, n) for names, n in stacks if "spin" in names]
        self.assertGreater(sum(n for _, n in deep), 0.5 * sum(n for _, n in stacks), stacks[:3])
        self.assertGreater(min(names.count("descend") for names, _ in deep), 100)
        self.assertLessEqual({names[1] for names, _ in deep}, {"[stack-truncated]", "[frame-limit]"})

    def test_very_many_files(self):
        """Thousands of files that are mapped, sampled, and deleted."""
        code = PROGRAMS / "mapped-code"
        script = (f'for i in $(seq 300); do cp "{pipeline.CHAIN}" "$0/f$i"; '
                  f'"{code}" "$0/f$i" 0 1 0.002; rm "$0/f$i"; done')
        self.beside("sh", "-c", script, self.directory)

    def test_another_file_at_its_path(self):
        """In a separate mount namespace: the file at that path outside must not give the names."""
        outside = self.made("program", pipeline.CHAIN.read_bytes())
        inside = self.made("inside", elf_made.with_symbol_names(
            pipeline.CHAIN.read_bytes(), {b"inner": b"inside"}))
        script = f'mount --bind "{inside}" "{outside}" && exec "{outside}" once {BRIEF}'
        stacks = self.of(self.beside("unshare", "-m", "sh", "-c", script), "program")
        leaves = {streams.user_side(names)[-1] for names, _ in stacks if streams.user_side(names)}
        self.assertIn("inside", leaves)
        self.assertNotIn("inner", leaves)

    def test_a_namespace_of_pids(self):
        stacks = self.beside("unshare", "-p", "-f", "--mount-proc",
                             self.made("first", pipeline.CHAIN.read_bytes()), "once", BRIEF)
        found = self.of(stacks, "first")
        intact = sum(n for names, n in found if streams.user_side(names)[-len(KNOWN):] == KNOWN)
        self.assertGreater(intact, 0.9 * sum(n for _, n in found), found)


if __name__ == "__main__":
    pipeline.main()
