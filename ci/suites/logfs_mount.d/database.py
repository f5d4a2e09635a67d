"""Transactions of SQLite whose file system's server is killed, and the check afterwards.

Each transaction moves money between accounts and counts itself; the count is noted elsewhere after COMMIT has returned. Afterwards the
database is whole, no money was made or lost, and no acknowledged transaction is missing.
"""

import os
import random
import sqlite3
import sys

ACCOUNTS = 200
EACH = 1000


def connect(mode):
    database = sqlite3.connect(f"{mode}.db", isolation_level=None)
    database.execute(f"pragma journal_mode={mode}")
    # EXTRA also syncs the directory that a rollback journal was deleted from: only then is a transaction durable in that mode.
    database.execute("pragma synchronous=extra")
    return database


def write(mode, said_path):
    open(said_path, "wb").close()
    try:
        database = connect(mode)
        database.execute("create table account(id integer primary key, money integer, note blob)")
        database.execute("create table count(n integer)")
        database.execute("begin")
        database.execute("insert into count values(0)")
        rows = [(number, EACH, b"") for number in range(ACCOUNTS)]
        database.executemany("insert into account values(?, ?, ?)", rows)
        database.execute("commit")
        number = random.Random(1)
        with open(said_path, "ab", buffering=0) as said:
            said.write(b"0\n")
            for transaction in range(1, 1 << 30):
                database.execute("begin")
                for change in (-5, 5):
                    values = (change, number.randbytes(number.randrange(3000)), number.randrange(ACCOUNTS))
                    database.execute("update account set money = money + ?, note = ? where id = ?", values)
                database.execute("update count set n = ?", (transaction,))
                database.execute("commit")
                # SQLite takes a directory that it cannot open for one that is synced (unixDelete in its os_unix.c), so that a commit may
                # return although the server died before the sync. An answer of the server shows that it lived through that.
                os.statvfs(".")
                said.write(f"{transaction}\n".encode())
    except (sqlite3.Error, OSError):
        return 0


def check(mode, said_path):
    lines = open(said_path).read().split()
    if not lines:
        print("killed before the first transaction")
        return 0
    database = connect(mode)
    whole = database.execute("pragma integrity_check").fetchone()[0]
    money = database.execute("select sum(money) from account").fetchone()[0]
    count = database.execute("select n from count").fetchone()[0]
    print(f"{mode}: {lines[-1]} transactions acknowledged, {count} found, {whole}")
    return 0 if (whole, money) == ("ok", ACCOUNTS * EACH) and count >= int(lines[-1]) else 1


if __name__ == "__main__":
    sys.exit({"write": write, "check": check}[sys.argv[1]](*sys.argv[2:]))
