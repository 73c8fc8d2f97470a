# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents for contributors: named files and links exist, and no document is too long."""
import os
import re
import sys
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
DOCS = TOP / "docs"
DOCUMENTS = [TOP / "README.md", TOP / "CONTRIBUTING.md", TOP / "NEWS.md",
             *(DOCS / name for name in ("architecture.md", "glossary.md", "guide.md", "measurements.md", "trust.md")),
             *sorted((DOCS / "design").glob("*.md"))]
LINES_MAX = {DOCS / "architecture.md": 150}
CHAPTER_LINES_MAX, COLUMNS_MAX, TERMS_MAX = 120, 110, 60
LINK = re.compile(r"\]\(([^):]+)\)")
FILE = re.compile(r"`([\w./-]+\.(?:c|h|def|js|py|scd|build))`")
FUNCTION = re.compile(r"`(\w+)\(\)`")
MADE_UP = re.compile(r"CPU|(^|[/-])x\.|^util\.c$")  # placeholder names: format-x.c, arch-CPU.c


def files_of_tree():
    found = set()
    for directory, below, names in os.walk(TOP):
        below[:] = [name for name in below if not name.startswith((".", "build"))]
        found |= {str((Path(directory) / name).relative_to(TOP)) for name in names}
    return found


def anchors_of(path):
    """Anchors that GitHub generates for headings."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Documents(unittest.TestCase):
    def test_links_have_targets(self):
        broken = []
        for document in DOCUMENTS:
            for link in LINK.findall(document.read_text()):
                path, _, anchor = link.partition("#")
                target = document.parent / path if path else document
                if not target.exists() or (anchor and anchor not in anchors_of(target)):
                    broken.append(f"{document.name}: {link}")
        self.assertEqual(broken, [])

    def test_named_files_exist(self):
        tree = files_of_tree()
        ends = {"/".join(path.split("/")[i:]) for path in tree for i in range(path.count("/") + 1)}
        missing = [f"{document.name}: {name}" for document in DOCUMENTS for name in FILE.findall(document.read_text())
                   if not MADE_UP.search(name) and name not in ends]
        self.assertEqual(missing, [])

    def test_named_functions_exist(self):
        source = "\n".join((TOP / path).read_text() for path in files_of_tree() if path.endswith((".c", ".h")))
        known = set(re.findall(r"\b(\w+)\(", source))
        missing = [f"{document.name}: {name}" for document in DOCUMENTS for name in FUNCTION.findall(document.read_text())
                   if name not in known]
        self.assertEqual(missing, [])

    def test_documents_are_short(self):
        chapters = {path: CHAPTER_LINES_MAX for path in (DOCS / "design").glob("*.md")}
        for path, lines_max in (chapters | LINES_MAX).items():
            lines = path.read_text().splitlines()
            self.assertLessEqual(len(lines), lines_max, path.name)
            self.assertEqual([line for line in lines if len(line) > COLUMNS_MAX], [], path.name)

    def test_the_glossary_is_short_and_has_each_term_once(self):
        terms = re.findall(r"^\| ([^|]+) \|", (DOCS / "glossary.md").read_text(), re.M)[1:]
        self.assertLessEqual(len(terms), TERMS_MAX)
        self.assertEqual(len(terms), len(set(terms)))


if __name__ == "__main__":
    sys.exit(unittest.main())
