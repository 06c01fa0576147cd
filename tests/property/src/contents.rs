// SPDX-License-Identifier: Apache-2.0
//! What the bytes are: each 64-bit word of a channel's stream is a mix of the channel's key and the word's number, so that a byte at a
//! wrong place,
//! of a wrong channel, left out or repeated is a wrong byte.

use crate::random::mix;

fn word(key: u64, number: u64) -> [u8; 8] {
    mix(key ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93)).to_le_bytes()
}

/// Writes the stream's bytes from `position` on.
pub fn fill(key: u64, position: u64, bytes: &mut [u8]) {
    let head = ((8 - position % 8) % 8).min(bytes.len() as u64) as usize;
    let (first, rest) = bytes.split_at_mut(head);
    let from = (position % 8) as usize;
    first.copy_from_slice(&word(key, position / 8)[from..from + head]);
    for (number, chunk) in (position.div_ceil(8)..).zip(rest.chunks_mut(8)) {
        chunk.copy_from_slice(&word(key, number)[..chunk.len()]);
    }
}

/// The first byte that is not the stream's: its index, what it should be.
pub fn difference(key: u64, position: u64, bytes: &[u8]) -> Option<(usize, u8)> {
    let mut expected = [0; 4096];
    let mut at = 0;
    for chunk in bytes.chunks(expected.len()) {
        let expected = &mut expected[..chunk.len()];
        fill(key, position + at as u64, expected);
        if chunk != expected {
            return chunk
                .iter()
                .zip(expected)
                .position(|(is, should)| is != should)
                .map(|index| (at + index, byte(key, position + (at + index) as u64)));
        }
        at += chunk.len();
    }
    None
}

/// One byte of the stream.
pub fn byte(key: u64, position: u64) -> u8 {
    word(key, position / 8)[(position % 8) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_is_the_same_bytes() {
        let mut whole = [0; 100];
        fill(7, 0, &mut whole);
        for from in 0..30 {
            for to in from..60 {
                let mut part = vec![0; to - from];
                fill(7, from as u64, &mut part);
                assert_eq!(part, whole[from..to]);
                assert_eq!(difference(7, from as u64, &part), None);
            }
        }
        assert_eq!(byte(7, 99), whole[99]);
        whole[41] ^= 1;
        assert_eq!(difference(7, 0, &whole), Some((41, whole[41] ^ 1)));
        assert!(difference(8, 0, &whole).is_some() && difference(7, 1, &whole[..99]).is_some());
    }
}
