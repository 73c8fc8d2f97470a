# SPDX-License-Identifier: GPL-3.0-or-later
"""The Debian package in an otherwise bare root of the release that built it."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))
import pipeline

PROGRAMS = ("stackpipe", "perf-source", "perfdata-source", "preload-source", "capture-source",
            "live-unwinder", "symbolizer", "capture-sink", "frame-dump")
UNIT = "stackpipe-record.service"
# Packages that a service manager needs; and a command that runs forever.
MORE_PACKAGES = "systemd,systemd-sysv,dbus,libcap2-bin,python3-minimal"
BUSY = "while :; do :; done"
SCRIPT = """def spins_in_python():
    while True:
        pass
spins_in_python()
"""
PROFILER_CAPABILITIES = "cap_perfmon,cap_bpf,cap_ipc_lock,cap_sys_ptrace,cap_syslog,cap_checkpoint_restore=ep"
# In the root: starts the service, lets it record a busy process, stops it, and writes the result.
TRY_SERVICE = f"""#!/bin/sh
timeout 300 sh -c '{BUSY}' &
timeout 300 python3 /spins.py &
systemctl start {UNIT} || journalctl -u {UNIT}
until [ "$(find /var/lib/private/stackpipe -name "*.syscap" -size +64k)" ]; do
	systemctl -q is-active {UNIT} || break
	sleep 0.1
done
systemctl stop {UNIT}
systemctl show -p Result,ExecMainStatus {UNIT} > /result
cp /var/lib/private/stackpipe/*.syscap /capture.syscap
systemd-analyze security --no-pager {UNIT} | tail -n 1 >> /result
journalctl -u {UNIT} >> /result
systemctl poweroff
"""
ENTER = """root=$1; shift
for where in proc sys dev; do mount --rbind "/$where" "$root/$where"; done
exec chroot "$root" "$@"
"""
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
               "DEBIAN_FRONTEND": "noninteractive"}
TRY_UNIT = """[Unit]
After=basic.target
[Service]
Type=exec
ExecStart=/try-service
[Install]
WantedBy=multi-user.target
"""


def run(*command, **how):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **how)
    if done.returncode:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-4000:]}\n"
                             f"{done.stderr[-4000:]}")
    return done.stdout


def release():
    lines = Path("/etc/os-release").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


@pipeline.needs_root
class Package(pipeline.PipelineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for program in ("mmdebstrap", "dpkg-buildpackage", "dh", "systemd-nspawn"):
            if not shutil.which(program):
                raise unittest.SkipTest(f"{program} {pipeline.NOT_INSTALLED}")
        if release().get("ID") != "debian":
            raise unittest.SkipTest(f"Debian {pipeline.NOT_INSTALLED}")
        cls.made = tempfile.TemporaryDirectory(prefix="stackpipe-test-", dir="/var/tmp")
        out = Path(cls.made.name)
        cls.root = out / "root"
        run(pipeline.TOP / "tools" / "build-deb", out,
            env={**os.environ, "DEB_BUILD_OPTIONS": "nocheck"})
        cls.package, = out.glob("stackpipe_*.deb")
        run("mmdebstrap", "--variant=minbase", f"--include={MORE_PACKAGES}",
            release()["VERSION_CODENAME"], cls.root)
        shutil.copy(cls.package, cls.root)
        cls.inside("apt-get", "-q", "update")
        cls.install()

    @classmethod
    def tearDownClass(cls):
        cls.made.cleanup()

    @classmethod
    def command_inside(cls, *command):
        """File systems of the host are mounted only while the command runs, in its own namespace."""
        return ["unshare", "--mount", "sh", "-c", ENTER, "enter", cls.root, *command]

    @classmethod
    def inside(cls, *command):
        return run(*cls.command_inside(*command), env=ENVIRONMENT)

    @classmethod
    def install(cls):
        cls.inside("apt-get", "-q", "install", "-y", "--no-install-recommends",
                   f"/{cls.package.name}")

    def test_the_package_installs_its_files(self):
        for name in PROGRAMS:
            self.assertIn("0.1.0", self.inside(name, "--version"))
            self.assertTrue((self.root / f"usr/share/man/man1/{name}.1.gz").exists(), name)
        for path in ("lib/systemd/system/" + UNIT, "usr/share/bash-completion/completions/stackpipe",
                     "usr/share/zsh/site-functions/_stackpipe",
                     "usr/share/fish/vendor_completions.d/stackpipe.fish",
                     "usr/share/doc/stackpipe/guide.md.gz"):
            self.assertTrue((self.root / path).exists(), path)
        self.assertEqual(self.inside("dpkg", "--verify", "stackpipe"), "")
        linked = self.inside("ldd", "/usr/bin/live-unwinder")
        self.assertNotIn("libdw", linked)
        self.assertNotIn("not found", linked)

    def test_records(self):
        self.inside("stackpipe", "record", "-q", "-o", "/tmp/a.syscap", "--", "sh", "-c",
                    f"timeout 1 sh -c '{BUSY}'; true")
        report = self.inside("stackpipe", "report", "/tmp/a.syscap")
        self.assertIn("dash", report)
        self.inside("stackpipe", "convert", "/tmp/a.syscap", "/tmp/a.html")

    def test_heap(self):
        self.inside("stackpipe", "heap", "-o", "/tmp/a.heap", "--", "sh", "-c", "echo one | cat")
        self.assertIn("main", self.inside("stackpipe", "heap", "/tmp/a.heap", "--allocated", "-t"))

    def test_a_group_records_without_root(self):
        """The recipe of stackpipe-doctor(1)."""
        self.inside("groupadd", "--force", "profilers")
        self.inside("useradd", "--groups", "profilers", "somebody")
        self.inside("chgrp", "profilers", "/usr/bin/perf-source")
        self.inside("chmod", "750", "/usr/bin/perf-source")
        self.inside("setcap", PROFILER_CAPABILITIES, "/usr/bin/perf-source")
        self.addCleanup(self.inside, "chmod", "755", "/usr/bin/perf-source")
        self.addCleanup(self.inside, "setcap", "-r", "/usr/bin/perf-source")
        busy = self.start(["sh", "-c", BUSY])
        pid = busy.processes[0].pid
        as_somebody = ("runuser", "-u", "somebody", "--")
        self.inside(*as_somebody, "stackpipe", "record", "-q", "--force", "-a", "-d", "1", "-o",
                    "/tmp/group.syscap")
        stacks = self.inside("stackpipe", "report", "--tree", f"--pid={pid}", "/tmp/group.syscap")
        self.assertRegex(stacks, "__libc_start_main")  # of a file that another user has mapped
        functions = self.inside("stackpipe", "report", "-n", "0", "/tmp/group.syscap")
        self.assertRegex(functions, r"\w+ \[kernel\]")
        self.assertNotIn("[kernel+", functions)
        nobody = subprocess.run(
            self.command_inside("runuser", "-u", "nobody", "--", "perf-source", "-d", "1"),
            env=ENVIRONMENT, capture_output=True)
        self.assertNotEqual(nobody.returncode, 0)
        nobody = subprocess.run(
            self.command_inside("runuser", "-u", "nobody", "--", "stackpipe", "record", "-o",
                                "/tmp/no.syscap", "-d", "1"),
            env=ENVIRONMENT, capture_output=True, text=True)
        self.assertEqual((nobody.returncode, nobody.stderr.count("\n")), (1, 1), nobody)
        self.assertIn("no permission to run '/usr/bin/perf-source'", nobody.stderr)

    def test_service(self):
        """In a booted root, with the hardening of the unit."""
        script = self.root / "try-service"
        script.write_text(TRY_SERVICE)
        script.chmod(0o755)
        (self.root / "spins.py").write_text(SCRIPT)
        (self.root / "etc/systemd/system/try.service").write_text(TRY_UNIT)
        self.inside("systemctl", "enable", "try.service")
        run("systemd-nspawn", "-q", "-D", self.root, "--boot", "--register=no", "--keep-unit",
            "--capability=CAP_PERFMON,CAP_BPF,CAP_SYS_PTRACE,CAP_SYSLOG,CAP_CHECKPOINT_RESTORE",
            "--system-call-filter=perf_event_open bpf", "--console=pipe", timeout=120)
        result = (self.root / "result").read_text()
        self.assertIn("Result=success", result)
        self.assertRegex(result, r"ExecMainStatus=0\b")
        report = self.inside("stackpipe", "report", "/capture.syscap")
        self.assertIn("dash", report)
        self.assertIn("complete", report)
        # The unit has the rights to read what interpreters execute, but in a container nothing does.
        self.assertIn("functions of scripts (as of process", report)
        self.assertIn("are not recorded: this is not the initial PID namespace", report)
        print(result, flush=True)

    def test_purge_removes_all_files(self):
        installed = self.inside("dpkg", "--listfiles", "stackpipe").splitlines()
        files = [path for path in installed if not (self.root / path[1:]).is_dir()]
        self.assertGreater(len(files), 30)
        self.inside("apt-get", "-q", "purge", "-y", "stackpipe")
        self.assertEqual([path for path in files if (self.root / path[1:]).exists()], [])
        self.assertNotIn("stackpipe", self.inside("dpkg-query", "--show"))
        self.install()


if __name__ == "__main__":
    pipeline.main()
