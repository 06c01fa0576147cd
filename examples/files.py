#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A message as a file: what the standard library reads and writes goes through the card as it is."""

import csv
import os
import pickle

import towpath

with towpath.open(os.environ.get("TOWPATH_DEVICE") or "sim:loopback") as card:
    with card["in"].open("wb") as file:
        pickle.dump({"squares": [n * n for n in range(5)]}, file)
    with card["out"].open("rb") as file:
        print(pickle.load(file))
    with card["in"].open("w", newline="") as file:
        csv.writer(file).writerows([["name", "bytes"], ["in", 16]])
    with card["out"].open("r", newline="") as file:
        print(list(csv.reader(file)))
