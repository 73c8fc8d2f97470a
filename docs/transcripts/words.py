# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts words, slowly or fast: what the guide's first chapter asks about."""
import random
import sys

chance = random.Random(1)
words = ["".join(chance.choices("abcdefgh", k=4)) for _ in range(3000)]
text = chance.choices(words, k=60000 if sys.argv[1:] == ["slow"] else 2000000)


def slow():
    counts = []
    for word in text:
        for pair in counts:
            if pair[0] == word:
                pair[1] += 1
                break
        else:
            counts.append([word, 1])
    return counts


def fast():
    counts = {}
    for word in text:
        counts[word] = counts.get(word, 0) + 1
    return counts


print(len((slow if sys.argv[1:] == ["slow"] else fast)()))
