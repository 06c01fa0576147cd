# SPDX-License-Identifier: Apache-2.0
"""Every proof holds, and every fault planted in what it proves breaks one of its promises. See docs/testing.md."""

import prove
import pytest

PROOFS = prove.read()
FAULTS = [(proof, fault) for proof in PROOFS for fault in proof.faults]


def settle(record_property, proof, fault=None):
    outcome = prove.prove(proof, fault)
    if outcome.cached:
        record_property("cached", True)
    return outcome


@pytest.mark.parametrize("proof", PROOFS, ids=lambda p: p.name)
def test_holds(proof, record_property):
    outcome = settle(record_property, proof)
    assert outcome.result == prove.PROVED, (
        f"{outcome.result}; for the trace: python tests/formal/prove.py {proof.name} --trace FILE\n{outcome.log}"
    )


@pytest.mark.parametrize(("proof", "fault"), FAULTS, ids=[f"{p.name}-{p.faults.index(f)}" for p, f in FAULTS])
def test_fault_is_caught(proof, fault, record_property):
    outcome = settle(record_property, proof, fault)
    assert outcome.result == prove.REFUTED, f"nothing promised breaks by {fault.name}\n{outcome.log}"


@pytest.mark.parametrize("source", sorted({s for p in PROOFS for s in p.sources if s.endswith("_formal.sv")}))
def test_has_a_planted_fault(source):
    """A property module which no fault breaks proves nothing that we know of."""
    assert any(p.faults for p in PROOFS if source in p.sources)
