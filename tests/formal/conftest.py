# SPDX-License-Identifier: Apache-2.0
"""A result that came from the cache is shown as such."""


def pytest_report_teststatus(report):
    if report.when == "call" and report.passed and ("cached", True) in map(tuple, report.user_properties):
        return "cached", "c", "CACHED"
    return None
