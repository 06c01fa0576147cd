// SPDX-License-Identifier: Apache-2.0
//! A credit on its way out when its card loses bus mastering: it leaves once, when the card may write again, and nothing but a reset of the card takes it back.

use crate::tools::{bytes, cards, LIMIT};
use towpath::{connect_with, Message, PairOptions};

/// Moments of a pair's first credits, with a reset of the channel before the card may write again; where one left late, with a reset of the card, too.
#[test]
fn a_credit_that_bus_mastering_has_stopped() {
    let cards = cards("tests/cores/peer3x2", 64, 2);
    let [one, two] = &cards[..] else { panic!() };
    let (from, x, b, y) = (one.device.sender("a"), one.device.receiver("x"), two.device.sender("b"), two.device.receiver("y"));
    let (from, x, b, y) = (from.unwrap(), x.unwrap(), b.unwrap(), y.unwrap());
    y.set_timeout(Some(LIMIT));
    let refused = || two.bus.statistics().unwrap().refused_writes;
    // Writes of the card whose pair has ended.
    let late = |moment: u64, whole: bool| {
        let mut pair = connect_with(&x, &b, PairOptions { slot_bytes: Some(128) }).unwrap();
        from.send_message(&bytes(1, 2000), Message { end: false, ..Message::default() }).unwrap();
        two.bus.pass(4 * moment).unwrap();
        two.bus.set_bus_master(false).unwrap();
        pair.disconnect(Some(LIMIT).into()).unwrap();
        let before = refused();
        if whole {
            two.device.reset().unwrap();
        } else {
            b.reset().unwrap();
        }
        two.bus.set_bus_master(true).unwrap();
        two.bus.pass(2000).unwrap();
        let late = refused() - before;
        // It has harmed nobody: both go on.
        y.reset().and(b.reset()).and(from.reset()).and(x.reset()).unwrap();
        b.send(b"again").unwrap();
        assert_eq!(y.recv().unwrap(), b"again", "moment {moment}");
        late
    };
    let mut found = 0;
    for moment in 0..160 {
        let writes = late(moment, false);
        assert!(writes <= 1, "moment {moment}: {writes} writes");
        if writes == 1 {
            assert_eq!(late(moment, true), 0, "moment {moment}: the card was reset");
            found += 1;
        }
        if found == 3 {
            return;
        }
    }
    panic!("{found} moments have stopped a credit on its way");
}
