#!/usr/bin/env python3
"""Appends records to a file and makes each batch of them durable. Prints how long that took, as JSON."""

import json
import os
import sys
import tempfile
import time

RECORDS = 2000
RECORD = b"x" * 4096
BATCH = 100


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    syncs = 0
    with tempfile.TemporaryFile(dir=folder, buffering=0) as log:
        started = time.perf_counter()
        for number in range(1, RECORDS + 1):
            log.write(RECORD)
            if number % BATCH == 0:
                os.fdatasync(log.fileno())
                syncs += 1
        seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "syncs": syncs}))


main()
