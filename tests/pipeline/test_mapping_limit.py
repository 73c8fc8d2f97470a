# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks of a process with more mappings than the limit end after the first frame, with this end reason."""
import pipeline
import streams

LIMIT = 2  # a mapping's flag
EVERYTHING = 0, (1 << 64) - 1  # start and length
SMALL = 1  # the recorded process
FILE_IMAGE = 3


def mapping(number, flags, start, length, image):
    """A mapping of a process, or, without an image, the end of one."""
    return streams.make_record(streams.MAPPING, streams.numbers(number, flags, SMALL, 0, start, length, 0, image))


def limited(stream, after, *behind):
    """The stream in which the process reaches the mapping limit after that many of its samples."""
    n = 0
    changed = []
    hello, *middle, end = streams.records(stream)
    for record in middle:
        if streams.record_type(record) == streams.SAMPLE:
            if n == after:
                changed += [mapping(0, LIMIT, *EVERYTHING, 0), *behind]
            n += 1
        changed.append(record)
    return streams.between(hello, changed, end)


class MappingLimit(pipeline.PipelineTest):
    def ends(self, stream, *options):
        path = self.directory / "limited.stream"
        path.write_bytes(stream)
        unwound = self.run_on(path, self.stage("live-unwinder", "-q", *options))
        path.write_bytes(unwound)
        folded = self.run_on(path, self.stage("symbolizer", "-q"), self.stage("capture-sink", "-q", "-f", "folded", "-"))
        return self.stats("live-unwinder")["stacks"], streams.folded_stacks(folded.decode())

    def setUp(self):
        super().setUp()
        self.small = pipeline.SMALL_STREAM.read_bytes()
        self.before, _ = self.ends(self.small)

    def test_all_user_stacks_have_this_end_reason(self):
        for engine in "table", "dwfl":
            with self.subTest(engine):
                after, stacks = self.ends(limited(self.small, 0), f"--engine={engine}")
                self.assertEqual(after["complete"], 0)
                self.assertEqual(after["no-mapping"], self.before["no-mapping"])
                self.assertGreater(self.before["complete"], 20)
                self.assertGreaterEqual(after["mapping-limit"], self.before["complete"])
                self.assertEqual(sum(n for names, n in stacks if names[1] == "[mapping-limit]"), after["mapping-limit"])

    def test_earlier_stacks_do_not_change(self):
        after, _ = self.ends(limited(self.small, 20))
        self.assertGreater(after["complete"], 0)
        self.assertGreater(after["mapping-limit"], 0)
        self.assertEqual(sum(after.values()), sum(self.before.values()))

    def test_later_mappings_are_ignored(self):
        later = mapping(99, 0, 0x401000, 0x1000, FILE_IMAGE)
        after, _ = self.ends(limited(self.small, 0, later))
        self.assertEqual(after["complete"], 0)
        self.assertGreater(after["mapping-limit"], 20)
        self.assertEqual(self.stats("live-unwinder")["refused"]["identity"], 1)


if __name__ == "__main__":
    pipeline.main()
