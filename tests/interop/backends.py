# SPDX-License-Identifier: GPL-3.0-or-later
"""What backends demand of OTLP profiles, restated as checks: a file that breaks one is refused, or misleads.

Sources: parca pkg/normalizer/otel.go and pkg/profile/encode.go (2026-07), pyroscope pkg/ingester/otlp/convert.go and
pkg/symbolizer (2026-08), OpenTelemetry's semantic conventions and profiles.proto.
"""
import re
import subprocess
from pathlib import Path

TABLES = "mapping_table", "location_table", "function_table", "link_table", "string_table", "attribute_table", "stack_table"
MADE_UP = re.compile(r"^\[(unknown|.*\+0x[0-9a-f]+)\]$")
LOAD = re.compile(r"^ +LOAD +(\w+) (\w+) \w+ \w+ (\w+) [R ][W ]E", re.MULTILINE)
IDENTIFYING = {"process.pid", "thread.id", "stackpipe.waker.id"}


class Reader:
    """The tables of a message."""

    def __init__(self, data):
        self.data, self.dictionary = data, data.dictionary

    def text(self, index):
        return self.dictionary.string_table[index]

    def attributes(self, indices):
        found = {}
        for index in indices:
            attribute = self.dictionary.attribute_table[index]
            key = self.text(attribute.key_strindex)
            assert key not in found, f"{key} is there twice"
            found[key] = getattr(attribute.value, attribute.value.WhichOneof("value"))
        return found

    def profiles(self):
        for resource in self.data.resource_profiles:
            for scope in resource.scope_profiles:
                for profile in scope.profiles:
                    yield resource, profile

    def names(self, location):
        """From the innermost call on; without a name, where the place is."""
        names = [self.text(self.dictionary.function_table[line.function_index].name_strindex) for line in location.lines]
        if names:
            return names
        mapping = self.dictionary.mapping_table[location.mapping_index]
        path = self.text(mapping.filename_strindex)
        if not path:
            return ["[unknown]"]
        return [f"[{Path(path).name.strip('[]')}+{location.address - mapping.memory_start + mapping.file_offset:#x}]"]

    def stack(self, sample):
        """Names, the outermost first."""
        stack = self.dictionary.stack_table[sample.stack_index]
        return [name for index in stack.location_indices
                for name in self.names(self.dictionary.location_table[index])][::-1]


def check(data, ids=False):
    reader = Reader(data)
    check_first_entries(reader)
    check_functions(reader)
    check_places(reader)
    for resource, profile in reader.profiles():
        check_resource(resource)
        check_profile(reader, profile)
        for sample in profile.samples:
            check_sample(reader, sample, ids)


def check_first_entries(reader):
    for name in TABLES:
        table = getattr(reader.dictionary, name)
        assert len(table), f"{name} has no first entry"
        assert not (table[0] if isinstance(table[0], str) else table[0].ByteSize()), f"{name}[0] says something"
        entries = [entry if isinstance(entry, str) else entry.SerializeToString() for entry in table]
        # A place may be there twice: with a frame that is proved, and with one that is not.
        assert len(set(entries)) == len(entries) or name == "location_table", f"{name} has entries twice"
    for attribute in reader.dictionary.attribute_table[1:]:
        assert attribute.value.WhichOneof("value"), f"{reader.text(attribute.key_strindex)} has no value, not even 0"


def check_functions(reader):
    """A backend looks up no place that has a line, so a made-up name would stay for ever."""
    for function in reader.dictionary.function_table[1:]:
        name = reader.text(function.name_strindex)
        assert name and not MADE_UP.match(name), name


def check_places(reader):
    """Addresses are those of the ELF file, in the segment that their mapping is."""
    for location in reader.dictionary.location_table[1:]:
        mapping = reader.dictionary.mapping_table[location.mapping_index]
        if mapping.memory_limit:
            assert mapping.memory_start <= location.address < mapping.memory_limit, location
    for mapping in reader.dictionary.mapping_table[1:]:
        path, ids = Path(reader.text(mapping.filename_strindex)), reader.attributes(mapping.attribute_indices)
        if not mapping.memory_limit:
            assert str(path).startswith("[") or not ids, f"{path} has ids, but its addresses are offsets"
        elif path.is_file():
            check_segment(mapping, path)


def check_segment(mapping, path):
    text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
    segments = [tuple(int(number, 16) for number in load) for load in LOAD.findall(text)]
    found = mapping.file_offset, mapping.memory_start, mapping.memory_limit - mapping.memory_start
    assert not segments or found in segments, f"{path}: {found} not in {segments}"


def check_resource(resource):
    attributes = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert len(attributes) == len(resource.resource.attributes), "keys of a resource are there twice"
    assert attributes.get("service.name"), "Pyroscope sums it up as unknown_service"
    assert resource.schema_url


def check_profile(reader, profile):
    assert profile.samples, "Parca refuses the whole request"
    assert profile.time_unix_nano
    kind, unit = reader.text(profile.sample_type.type_strindex), reader.text(profile.sample_type.unit_strindex)
    assert kind and unit
    assert profile.HasField("period_type"), "Parca refuses the whole request"
    if kind == "off_cpu":
        assert (unit, profile.period) == ("nanoseconds", 0), "Pyroscope knows off_cpu in nanoseconds, without a period"
    else:
        assert profile.period and reader.text(profile.period_type.type_strindex), "Pyroscope gives it no name"
    if kind == "samples" and profile.period > 1:
        period = profile.period_type
        assert [unit, reader.text(period.type_strindex), reader.text(period.unit_strindex)] == ["count", "cpu", "nanoseconds"]
    seen = set()
    for sample in profile.samples:
        key = sample.stack_index, tuple(sample.attribute_indices), sample.link_index
        assert key not in seen, "samples that differ in time alone are to be merged"
        seen.add(key)


def check_sample(reader, sample, ids):
    assert len(sample.values) == 1 and sample.values[0] > 0, "Pyroscope refuses several values"
    assert not sample.timestamps_unix_nano, "Parca makes a row of each"
    attributes = reader.attributes(sample.attribute_indices)
    assert attributes["stackpipe.stack.end"]
    assert ids or not IDENTIFYING & set(attributes), "each sample would be its own"
    if sample.link_index:
        link = reader.dictionary.link_table[sample.link_index]
        assert (len(link.trace_id), len(link.span_id)) == (16, 8)
