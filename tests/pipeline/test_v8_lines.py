# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of JavaScript have the line where they begin, if their script has a text that was in memory."""
import re

import pipeline
from v8 import PACKAGES, SHORT_LIVED, V8Test

SHAPES = {
    "plain.js": {"end": "\n"},
    "other-ends.js": {"end": "\r\n", "comment": "// \u03c0"},
    "large.mjs": {"end": "\n", "comment": "// " + "x" * 90 + "\n" * 3, "n_comments": 300},
    "main.js": {"end": "\n", "last": "const end = performance.now() + 1000 * process.argv[2];\n"
                "const all = [run, require('./plain.js'), require('./other-ends.js')];\n"
                "import('./large.mjs').then((large) => {\n"
                "all.push(large.default); while (performance.now() < end) for (const each of all) each(); });\n"},
}
BY_LINE = re.compile(r"by_line_\d+$")
MANY = ", ".join(f"v{i}" for i in range(90))  # variables: V8 has their names elsewhere


def text_of(end, comment="//", n_comments=1, last=None):
    """A script whose functions have the line for their name where they begin."""
    lines = ["function spin() { const end = performance.now() + 1; while (performance.now() < end); }"]
    names = []
    for i in range(12):
        lines += (comment * n_comments).split("\n") if "\n" in comment else [comment] * n_comments
        name = f"by_line_{len(lines) + 1}"
        names.append(name)
        lines += [[f"function {name}() {{ spin(); }}"], [f"const {name} = () => {{", "  spin();", "};"],
                  [f"class C{i} {{ static {name}() {{ spin(); }} }}; const {name} = C{i}.{name};"],
                  [f"function {name}() {{ let {MANY}; const all = () => [{MANY}]; spin(); }}"]][i % 4]
    lines.append(f"function run() {{ {' '.join(f'{name}();' for name in names)} }}")
    lines.append(last or ("export default run;" if n_comments > 1 else "module.exports = run;"))
    return end.join(lines).encode()


@pipeline.needs_root
class V8Lines(V8Test):
    def test_functions_have_files_and_lines(self):
        """Of texts with both ends of lines, of wide characters, and of one that is more than one sample may emit."""
        for name, options in SHAPES.items():
            (self.directory / name).write_bytes(text_of(**options))
        for package in PACKAGES + SHORT_LIVED:
            self.record(package, self.directory / "main.js", "-e", "cpu-clock", "-F", "999")
            found = self.functions()
            self.assertTrue(any(file and file.startswith("node:internal/") for _, file, _ in found), found)
            for name in SHAPES:
                of_file = {(function, line) for function, file, line in found if file and file.endswith("/" + name)}
                by_line = {(function, line) for function, line in of_file if BY_LINE.match(function)}
                self.assertFalse({each for each in by_line if each[0] != f"by_line_{each[1]}"}, name)
                self.assertGreater(len(by_line), 9, (name, found))

    def test_lines_are_true_while_scripts_come_and_go(self):
        for package in PACKAGES:
            self.record(package, "churn.js", "-e", "cpu-clock", "-F", "4999", "-m", "8M", seconds=1)
            by_line = {(name, line) for name, file, line in self.functions() if BY_LINE.match(name) and line}
            self.assertFalse({each for each in by_line if each[0] != f"by_line_{each[1]}"})
            self.assertGreater(len(by_line), 100)


if __name__ == "__main__":
    pipeline.main()
