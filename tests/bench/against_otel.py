# SPDX-License-Identifier: GPL-3.0-or-later
"""How many stacks of a script are right, cut or wrong: ours, and those of OpenTelemetry's eBPF profiler.

    STACKPIPE_BUILD=build python3 against_otel.py PROFILER SECONDS COMMAND...

PROFILER is its program (github.com/open-telemetry/opentelemetry-ebpf-profiler: `go build .`; it needs tracefs). COMMAND runs
tests/programs/chains.py, .php, .js or .rb, or the class Chains, and gets SECONDS. The columns are stacks that are right, cut, wrong, and that have
none of the functions, as when the interpreter starts. Needs root, and grpcio and opentelemetry-proto from PyPI.
"""
import collections
import os
import subprocess
import sys
import threading
from concurrent import futures
from pathlib import Path

import grpc
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2

TESTS = Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "pipeline"), str(TESTS / "bench")]
os.environ.setdefault("STACKPIPE_BUILD", "build")

from judge import judge  # noqa: E402

BUILD = Path(os.environ["STACKPIPE_BUILD"]).resolve()
RATE = "999"
FRAME_TYPES = "cpython", "php", "ruby", "v8js", "jvm"
LAST_REPORT_S = 12  # it reports every five seconds


class Receiver(grpc.GenericRpcHandler):
    """Takes exported profiles; `any_came` is set with the first one."""

    def __init__(self):
        self.verdicts, self.any_came, self.pid = collections.Counter(), threading.Event(), None

    def service(self, call):
        return grpc.unary_unary_rpc_method_handler(self.take) if call.method.endswith("ProfilesService/Export") else None

    def take(self, request, _):
        request = profiles_service_pb2.ExportProfilesServiceRequest.FromString(request)
        self.any_came.set()
        table = request.dictionary
        for resource in request.resource_profiles:
            pids = {each.value.int_value for each in resource.resource.attributes if each.key == "process.pid"}
            for scope in resource.scope_profiles if self.pid in pids else ():
                for profile in scope.profiles:
                    for sample in profile.samples:
                        self.count(table, sample)
        return b""

    def count(self, table, sample):
        names = [table.string_table[table.function_table[line.function_index].name_strindex]
                 for index in table.stack_table[sample.stack_index].location_indices
                 for line in table.location_table[index].lines if is_script(table, table.location_table[index])]
        self.verdicts[judge(names) or "without"] += max(sum(sample.values), len(sample.timestamps_unix_nano))


def is_script(table, location):
    return any(table.attribute_table[index].value.string_value in FRAME_TYPES for index in location.attribute_indices)


def theirs(profiler, command):
    receiver = Receiver()
    server = grpc.server(futures.ThreadPoolExecutor(1), options=[("grpc.max_receive_message_length", -1)])
    server.add_generic_rpc_handlers((receiver,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    agent = subprocess.Popen([profiler, f"-collection-agent=127.0.0.1:{port}", "-disable-tls", f"-samples-per-second={RATE}"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        receiver.any_came.wait(60)
        with subprocess.Popen(command) as program:
            receiver.pid = program.pid
        threading.Event().wait(LAST_REPORT_S)
    finally:
        agent.terminate()
        agent.wait()
        server.stop(1).wait()
    return receiver.verdicts


def ours(command):
    record = [BUILD / "stackpipe" / "stackpipe", "record", "-q", "-F", RATE, "-e", "cpu-clock", "--interpreter=hide", "-f", "folded",
              "-o", "-", "--", *command]
    verdicts = collections.Counter()
    for line in subprocess.run(record, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines():
        stack, _, n = line.rpartition(" ")
        verdicts[judge(stack.split(";")[:0:-1]) or "without"] += int(n)
    return verdicts


def main():
    profiler, seconds, *command = sys.argv[1:]
    for name, verdicts in (("stackpipe", ours([*command, seconds])), ("OpenTelemetry", theirs(profiler, [*command, seconds]))):
        print(f"| {name} | {verdicts['right']} | {verdicts['cut']} | {verdicts['wrong']} | {verdicts['without']} |", flush=True)


main()
