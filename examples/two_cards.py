#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Let the core of one card send to the core of another, without the host: two cards that reach each other, here simulated ones."""

import towpath

with towpath.open("sim:peer?world=lab") as one, towpath.open("sim:peer?world=lab") as other:
    with towpath.connect(one["out"], other["in"]) as pair:
        for number in range(3):
            # The first core sends on what it gets: to the second one, as long as the two are paired.
            one["in"].send(f"message {number}".encode(), user=number)
            message, received = other["out"].recv_message()
            print(f"{message.decode()}, user word {received.user}")
        print(f"slots that have arrived: {pair.status.slots_arrived}")
        parted = pair.disconnect()
        print(f"all has arrived: {parted.arrived}; a message was cut: {parted.cut}")
    other["in"].send(b"from the host again")
    print(other["out"].recv().decode())
