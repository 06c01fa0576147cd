# SPDX-License-Identifier: Apache-2.0
"""The cards as the guest's kernel finds them on its bus, before any driver of ours."""

from pathlib import Path

import pytest
from inside import DEVICES, IN_QEMU, Card, cards_come_and_go, contract

COMMAND, BAR0, MSIX = 0x04, 0x10, 0x11


def test_each_card_is_found_and_nothing_else(cards: list[Card]) -> None:
    """A whole machine has other devices, too, but none that could be taken for a card."""
    vendor = contract("PCI_VENDOR")
    found = [path.name for path in DEVICES.iterdir() if not IN_QEMU or int((path / "vendor").read_text(), 0) == vendor]
    assert sorted(found) == [card.pci.name for card in cards]


def test_cards_are_what_the_contract_says(cards: list[Card]) -> None:
    for card in cards:
        found = {name: card.counter(name) for name in ("vendor", "device", "subsystem_vendor", "subsystem_device", "class")}
        assert found == {
            "vendor": contract("PCI_VENDOR"),
            "device": contract("PCI_DEVICE"),
            "subsystem_vendor": contract("PCI_SUBSYSTEM_VENDOR"),
            "subsystem_device": contract("PCI_SUBSYSTEM"),
            "class": contract("PCI_CLASS"),
        }


def test_bars_have_sizes_and_addresses_of_their_own(cards: list[Card]) -> None:
    spans = []
    # QEMU gives a BAR the size that its card tells; PCI Express wants no more than this.
    least = 128 if IN_QEMU else 4096
    for card in cards:
        sizes = card.bars()
        assert 0 in sizes, sizes
        for line in (card.pci / "resource").read_text().splitlines()[:6]:
            start, end, flags = (int(word, 16) for word in line.split())
            if flags:
                size = end - start + 1
                assert size >= least and size & (size - 1) == 0 and start % size == 0, line
                spans.append((start, end))
    spans.sort()
    assert all(before[1] < after[0] for before, after in zip(spans, spans[1:], strict=False)), spans


def test_msix_table_lies_in_bar_0(cards: list[Card]) -> None:
    for card in cards:
        at = card.capability(MSIX)
        assert at, "there is no MSI-X capability"
        vectors = (card.config(at + 2, 2) & 0x7FF) + 1
        table = card.config(at + 4, 4)
        assert table & 7 == 0 and (table & ~7) + 16 * vectors <= card.bars()[0], (vectors, hex(table))


def test_config_space_keeps_what_can_be_written_and_nothing_else(card: Card) -> None:
    command = card.config(COMMAND, 2)
    try:
        card.write_config(COMMAND, 2, 0x0006)
        assert card.config(COMMAND, 2) == 0x0006, "memory and bus mastering on"
        card.write_config(COMMAND, 2, 0)
        assert card.config(COMMAND, 2) == 0
        card.write_config(0, 4, 0xFFFFFFFF)
        assert card.config(0, 4) == contract("PCI_DEVICE") << 16 | contract("PCI_VENDOR")
        assert [card.config(at, 1) for at in range(4)] == list(card.config(0, 4).to_bytes(4, "little")), "by bytes as by words"
    finally:
        card.write_config(COMMAND, 2, command)


def test_bar_tells_its_size(card: Card) -> None:
    low, high = card.config(BAR0, 4), card.config(BAR0 + 4, 4)
    assert low & 0x7 == 4, "64 bits, memory"
    try:
        card.write_config(BAR0, 4, 0xFFFFFFFF)
        card.write_config(BAR0 + 4, 4, 0xFFFFFFFF)
        mask = (card.config(BAR0 + 4, 4) << 32 | card.config(BAR0, 4)) & ~0xF
        assert (1 << 64) - mask == card.bars()[0]
    finally:
        card.write_config(BAR0, 4, low)
        card.write_config(BAR0 + 4, 4, high)


@cards_come_and_go
@pytest.mark.parametrize("number", [0, 1])
def test_card_is_pulled_out_and_comes_back(cards: list[Card], number: int) -> None:
    card, other = cards[number], cards[1 - number]
    kept = other.config(0, 4)
    for _ in range(3):
        card.kill()
        assert other.config(0, 4) == kept, "the other card is as it was"
        card.start()
        assert card.config(0, 4) == kept and 0 in card.bars()


def test_card_that_is_taken_off_the_bus_is_found_again(card: Card) -> None:
    (card.pci / "remove").write_text("1")
    assert not card.pci.exists()
    Path("/sys/bus/pci/rescan").write_text("1")
    assert card.pci.exists() and 0 in card.bars()


def test_outside_refuses_what_it_does_not_know(card: Card) -> None:
    for wrong in ("kill 99", "explode 0", "kill", "signal 0 NOTHING"):
        with pytest.raises(AssertionError, match="not understood"):
            card.outside.ask(wrong)


def test_card_whose_link_is_down_reads_as_all_ones(card: Card) -> None:
    kept = card.config(0, 4)
    card.fault("down")
    try:
        assert card.config(0, 4) == 0xFFFFFFFF
    finally:
        card.fault("up")
    assert card.config(0, 4) == kept
