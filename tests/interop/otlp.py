# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads OTLP profiles by OpenTelemetry's own schema.

    /usr/bin/python3 otlp.py [--resources|--samples] DEB FILE.otlp

prints {function: [self, total]} as JSON, or [{attributes, samples: {pid: n}}, …], or
[{type, attributes, values, n, trace, span}, …]. DEB is Debian's libopentelemetry-proto-dev: the C++ code that protoc generated
from the official .proto files contains their descriptors, as the literals of an array.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

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


def attributes_of(data, sample):
    dictionary, attributes = data.dictionary, {}
    for i in sample.attribute_indices:
        attribute = dictionary.attribute_table[i]
        value = getattr(attribute.value, attribute.value.WhichOneof("value"))
        attributes[dictionary.string_table[attribute.key_strindex]] = value
    return attributes


def samples_of(data):
    for resource in data.resource_profiles:
        for scope in resource.scope_profiles:
            for profile in scope.profiles:
                for sample in profile.samples:
                    link = data.dictionary.link_table[sample.link_index]
                    yield {"type": data.dictionary.string_table[profile.sample_type.type_strindex],
                           "attributes": attributes_of(data, sample), "values": list(sample.values),
                           "n": len(sample.timestamps_unix_nano),
                           "trace": link.trace_id.hex(), "span": link.span_id.hex()}


def resources_of(data):
    for resource in data.resource_profiles:
        samples = {}
        for scope in resource.scope_profiles:
            for profile in scope.profiles:
                for sample in profile.samples:
                    pid = attributes_of(data, sample).get("process.pid")
                    samples[pid] = samples.get(pid, 0) + len(sample.timestamps_unix_nano)
        yield {"attributes": {each.key: each.value.string_value for each in resource.resource.attributes},
               "samples": samples}


def main():
    arguments = [each for each in sys.argv[1:] if not each.startswith("--")]
    data = message_class(arguments[0]).FromString(Path(arguments[1]).read_bytes())
    assert not data.UnknownFields(), "fields that the schema does not have"
    what = {"--resources": lambda: list(resources_of(data)), "--samples": lambda: list(samples_of(data))}
    json.dump(what.get(sys.argv[1], lambda: totals.of_otlp(data))(), sys.stdout)


main()
