# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads OTLP profiles by OpenTelemetry's own schema.

    /usr/bin/python3 otlp.py [--resources|--samples|--places] DEB FILE.otlp

prints {function: [self, total]} as JSON, or [{attributes, samples: {pid: n}}, …], or
[{type, attributes, n, trace, span}, …], or [{path, ids, segment, address, names}, …]. DEB is Debian's libopentelemetry-proto-dev: the C++ code that protoc generated
from the official .proto files contains their descriptors, as the literals of an array.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import backends
import totals

FILES = ["common/v1/common", "resource/v1/resource", "profiles/v1development/profiles"]
NAME = "opentelemetry.proto.profiles.v1development.ProfilesData"
ARRAY = re.compile(r"char descriptor_table_protodef_\w+\[\] PROTOBUF_SECTION_VARIABLE\(protodesc_cold\) =")
LITERAL = re.compile(r'\s*"((?:[^"\\]|\\.)*)"', re.S)


def descriptor(source):
    text = source.read_text(encoding="latin1")
    at, data = ARRAY.search(text).end(), b""
    while found := LITERAL.match(text, at):
        literal = found[1].replace(r"\?", "?")
        data += literal.encode("latin1").decode("unicode_escape").encode("latin1")
        at = found.end()
    return descriptor_pb2.FileDescriptorProto.FromString(data)


def message_class(deb):
    pool = descriptor_pool.DescriptorPool()
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["dpkg-deb", "-x", deb, directory], check=True)
        for name in FILES:
            source = Path(directory) / "usr/include/opentelemetry/proto" / f"{name}.pb.cc"
            pool.Add(descriptor(source))
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName(NAME))


def samples_of(data):
    reader = backends.Reader(data)
    for _, profile in reader.profiles():
        for sample in profile.samples:
            link = data.dictionary.link_table[sample.link_index]
            yield {"type": reader.text(profile.sample_type.type_strindex),
                   "attributes": reader.attributes(sample.attribute_indices), "n": sample.values[0],
                   "trace": link.trace_id.hex().rjust(32, "0"), "span": link.span_id.hex().rjust(16, "0")}


def resources_of(data):
    reader = backends.Reader(data)
    for resource in data.resource_profiles:
        samples = {}
        for profile in (profile for scope in resource.scope_profiles for profile in scope.profiles):
            for sample in profile.samples:
                pid = reader.attributes(sample.attribute_indices).get("process.pid")
                samples[pid] = samples.get(pid, 0) + sample.values[0]
        yield {"attributes": {each.key: each.value.string_value for each in resource.resource.attributes}, "samples": samples}


def places_of(data):
    """Of all locations in files: addresses as linked; the innermost name comes first."""
    reader = backends.Reader(data)
    for location in data.dictionary.location_table[1:]:
        mapping = data.dictionary.mapping_table[location.mapping_index]
        if mapping.memory_limit:
            yield {"path": reader.text(mapping.filename_strindex), "ids": reader.attributes(mapping.attribute_indices),
                   "segment": [mapping.memory_start, mapping.memory_limit, mapping.file_offset],
                   "address": location.address, "names": reader.names(location)}


def main():
    arguments = [each for each in sys.argv[1:] if not each.startswith("--")]
    data = message_class(arguments[0]).FromString(Path(arguments[1]).read_bytes())
    assert not data.UnknownFields(), "fields that the schema does not have"
    what = {"--resources": lambda: list(resources_of(data)), "--samples": lambda: list(samples_of(data)),
            "--places": lambda: list(places_of(data))}
    json.dump(what.get(sys.argv[1], lambda: totals.of_otlp(data))(), sys.stdout)


main()
