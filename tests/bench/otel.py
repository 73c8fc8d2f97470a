# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenTelemetry's eBPF profiler, running beside a benchmark, and a receiver of what it exports.

PROFILER is its program (github.com/open-telemetry/opentelemetry-ebpf-profiler: `go build .`; it needs root and tracefs).
Needs grpcio and opentelemetry-proto from PyPI.
"""
import contextlib
import subprocess
import threading
from concurrent import futures

import grpc
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2


class Receiver(grpc.GenericRpcHandler):
    """Takes exported profiles: each sample with the tables of its request, and the process IDs of its resource."""

    def __init__(self):
        self.any_came = threading.Event()

    def service(self, call):
        return grpc.unary_unary_rpc_method_handler(self._take) if call.method.endswith("ProfilesService/Export") else None

    def _take(self, request, _):
        request = profiles_service_pb2.ExportProfilesServiceRequest.FromString(request)
        self.any_came.set()
        for resource in request.resource_profiles:
            pids = {each.value.int_value for each in resource.resource.attributes if each.key == "process.pid"}
            for scope in resource.scope_profiles:
                for profile in scope.profiles:
                    for sample in profile.samples:
                        self.take_sample(request.dictionary, pids, sample)
        return b""

    def take_sample(self, table, pids, sample):
        raise NotImplementedError


def weight(sample):
    return max(sum(sample.values), len(sample.timestamps_unix_nano))


@contextlib.contextmanager
def running(profiler, rate, receiver):
    """The profiler's process, which exports to the receiver until the end; it has exported once."""
    server = grpc.server(futures.ThreadPoolExecutor(1), options=[("grpc.max_receive_message_length", -1)])
    server.add_generic_rpc_handlers((receiver,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    agent = subprocess.Popen([profiler, f"-collection-agent=127.0.0.1:{port}", "-disable-tls", f"-samples-per-second={rate}"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        receiver.any_came.wait(60)
        yield agent
    finally:
        agent.terminate()
        agent.wait()
        server.stop(1).wait()
