# SPDX-License-Identifier: GPL-3.0-or-later
"""A ledger of 400 entries in SQLite: each in a transaction of its own, or all in one ("once")."""
import sqlite3
import sys

ledger = sqlite3.connect("ledger.db", isolation_level=None)
ledger.execute("CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY, amount REAL)")
if sys.argv[1:] == ["once"]:
    ledger.execute("BEGIN")
for number in range(400):
    ledger.execute("INSERT OR REPLACE INTO entries VALUES (?, ?)", (number, number * 0.25))
if sys.argv[1:] == ["once"]:
    ledger.execute("COMMIT")
