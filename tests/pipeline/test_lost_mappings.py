# SPDX-License-Identifier: GPL-3.0-or-later
"""After lost mapping records no stack is marked complete; its end reason shows why."""
import pipeline
import streams

SMALL_WITHOUT_FLAGS = pipeline.SMALL_STREAM  # from before 1.6
MAPPINGS_LOST = 8  # a sample's flag


def flagged(stream, every):
    """The stream with that flag on each `every`th sample."""
    n = 0
    changed = []
    for record in streams.records(stream):
        if streams.record_type(record) == streams.SAMPLE:
            payload = record[streams.RECORD_HEADER.size:]
            record = streams.make_record(streams.SAMPLE, payload + streams.numbers(0, MAPPINGS_LOST if n % every == 0
                                                                                   else 0))
            n += 1
        changed.append(record)
    return b"".join(changed)


class LostMappings(pipeline.PipelineTest):
    def ends(self, every, *options):
        """The counts of end reasons, and the folded stacks."""
        stream = self.directory / "flagged.stream"
        stream.write_bytes(flagged(SMALL_WITHOUT_FLAGS.read_bytes(), every))
        unwound = self.run_on(stream, self.stage("live-unwinder", "-q", *options))
        folded = self.run_on(self.kept(unwound), self.stage("symbolizer", "-q"),
                             self.stage("capture-sink", "-q", "-f", "folded", "-"))
        return self.stats("live-unwinder")["stacks"], streams.folded_stacks(folded.decode())

    def kept(self, data):
        path = self.directory / "unwound.stream"
        path.write_bytes(data)
        return path

    def test_no_flagged_stack_is_complete(self):
        for engine in "table", "dwfl":
            with self.subTest(engine):
                before, whole = self.ends(1000000, f"--engine={engine}")
                after, doubted = self.ends(1, f"--engine={engine}")
                self.assertGreater(before["complete"], 20)
                self.assertEqual(before["mappings-lost"], 1)  # the first sample
                self.assertEqual(after["complete"], 0)
                self.assertEqual(after["mappings-lost"], before["complete"] + 1)
                self.assertEqual({end: n for end, n in before.items() if end not in ("complete", "mappings-lost")},
                                 {end: n for end, n in after.items() if end not in ("complete", "mappings-lost")})
                self.assertEqual(sum(n for names, n in doubted if names[1] == "[mappings-lost]"),
                                 after["mappings-lost"])

    def test_other_stacks_stay_complete(self):
        before, _ = self.ends(1000000)
        after, _ = self.ends(2)
        self.assertGreater(after["complete"], 0)
        self.assertGreater(after["mappings-lost"], 0)
        self.assertEqual(after["complete"] + after["mappings-lost"], before["complete"] + 1)

    def test_the_summary_shows_it(self):
        stream = self.directory / "flagged.stream"
        stream.write_bytes(flagged(SMALL_WITHOUT_FLAGS.read_bytes(), 1))
        dumped = self.run_on(stream, self.stage("live-unwinder", "-q"), self.stage("frame-dump", "--summary"))
        self.assertIn(b"mappings-lost", dumped)
        self.assertEqual(self.stats("live-unwinder")["stacks"]["complete"], 0)


if __name__ == "__main__":
    pipeline.main()
