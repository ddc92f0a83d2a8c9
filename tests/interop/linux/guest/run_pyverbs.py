#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""
Runs tests of rdma-core's pyverbs on a device, and prints one line for each test: "ok NAME", "failed NAME", or "skipped NAME: WHY".

	run_pyverbs.py FOLDER DEVICE MODULE...	FOLDER has rdma-core's folder `tests`

The tests of a UD QP choose the attributes of the QP at random, and are skipped if the library does not support these
attributes. So each test has a fixed seed, and a test of a UD QP that is skipped runs again with the next seed, up to
eight times.

Objects of a test that refer to each other in a cycle are left to the kernel, which removes them when this process ends.
Python's cyclic garbage collector is not used, because it may close a device before its CQs, and pyverbs 56 with Python
3.13 then crashes in libibverbs.
"""
import gc
import importlib
import io
import os
import random
import sys
import types
import unittest


def run(test, seed):
    """Runs a test once. Returns "failed", "skipped" or "ok", and the reason if it was skipped."""
    random.seed(seed)
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(test)
    for bad, text in result.failures + result.errors:
        print(bad.id(), "with seed", seed, text, file=sys.stderr)
    if not result.wasSuccessful():
        return "failed", ""
    return ("skipped", ": " + result.skipped[0][1]) if result.skipped else ("ok", "")


def run_all(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            run_all(test)
            continue
        name = test.id().split(".")[-1]
        for seed in range(8 if "_ud_qp" in name else 1):
            what, why = run(type(test)(name), seed)
            if what != "skipped":
                break
        print(what, name + why, flush=True)


gc.disable()
folder, device, *modules = sys.argv[1:]
sys.path.insert(0, folder + "/tests")  # args_parser
package = types.ModuleType("tests")  # without __init__.py, which loads the modules for other devices, too
package.__path__ = [folder + "/tests"]
sys.modules["tests"] = package
sys.argv[1:] = ["--dev", device]
importlib.import_module("args_parser").parser.parse_args()
for module in modules:
    run_all(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module("tests." + module)))
sys.stderr.flush()
os._exit(0)  # without the garbage collection at the end of the interpreter
