# SPDX-License-Identifier: Apache-2.0
"""The register window's side of a plug-in in a bench: one access at a time on `s_axil_*`, as tp_window makes them."""

from cocotb.triggers import RisingEdge

OKAY, SLVERR, DECERR = 0, 2, 3


class Window:
    """`pace` is a random generator: valids and readies come after a clock or more now and then. A port that a bench does not wait for
    within `patience` clocks fails the test."""

    def __init__(self, dut, pace, patience: int = 2000):
        self.dut, self.pace, self.patience = dut, pace, patience
        for name in ("awvalid", "wvalid", "arvalid", "bready", "rready"):
            self.port(name).value = 0

    def port(self, name: str):
        return getattr(self.dut, f"s_axil_{name}")

    async def _until(self, name: str) -> None:
        for _ in range(self.patience):
            await RisingEdge(self.dut.clk)
            if self.port(name).value:
                return
        raise AssertionError(f"s_axil_{name}: not 1 within {self.patience} clocks")

    async def _answer(self, channel: str) -> int:
        while self.pace.random() < 0.5:
            await RisingEdge(self.dut.clk)
        self.port(f"{channel}ready").value = 1
        await self._until(f"{channel}valid")
        self.port(f"{channel}ready").value = 0
        return int(self.port(f"{channel}resp").value)

    async def write(self, address: int, data: int, strobe: int = 15) -> int:
        """Returns the response."""
        self.port("awaddr").value, self.port("wdata").value, self.port("wstrb").value = address, data, strobe
        self.port("awvalid").value = self.port("wvalid").value = 1
        left = {"aw", "w"}
        for _ in range(self.patience):
            await RisingEdge(self.dut.clk)
            for name in sorted(left):
                if self.port(f"{name}ready").value:
                    self.port(f"{name}valid").value = 0
                    left.remove(name)
            if not left:
                return await self._answer("b")
        raise AssertionError(f"a write of {address:#x} was not taken")

    async def read(self, address: int) -> tuple[int, int]:
        """Returns the response and the data."""
        self.port("araddr").value, self.port("arvalid").value = address, 1
        await self._until("arready")
        self.port("arvalid").value = 0
        response = await self._answer("r")
        return response, int(self.port("rdata").value)

    async def get(self, address: int) -> int:
        response, data = await self.read(address)
        assert response == OKAY, f"read of {address:#x}: response {response}"
        return data

    async def set(self, address: int, data: int) -> None:
        response = await self.write(address, data)
        assert response == OKAY, f"write of {address:#x}: response {response}"
