// SPDX-License-Identifier: Apache-2.0
//! The demo in Rust: a picture goes through the core `sobel` and comes back as its edges, both directions at once, over tokio's `AsyncWrite` and
//! `AsyncRead`; the result is compared with the same filter computed here.
//!
//!     cargo run --example edges --features sim,tokio -- picture.pgm edges.pgm
//!
//! Pictures are 8-bit PGM (P5). Without arguments it draws one of its own. `TOWPATH_DEVICE` names a card, or else the core is simulated.
#![allow(clippy::print_stdout)]

use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use towpath::{AsyncReceiver, AsyncSender, Device};

/// 8-bit grey, row after row.
pub struct Picture {
    /// Pixels in a row.
    pub width: usize,
    /// The pixels of all rows.
    pub pixels: Vec<u8>,
}

impl Picture {
    fn drawn() -> Picture {
        let pixel = |x: i32, y: i32| if (x - 100).pow(2) + (y - 75).pow(2) < 2500 { 200 } else { (x + y / 2) as u8 };
        Picture { width: 200, pixels: (0..150).flat_map(|y| (0..200).map(move |x| pixel(x, y))).collect() }
    }

    fn load(name: &str) -> io::Result<Picture> {
        let bytes = std::fs::read(name)?;
        let head: Vec<&str> = bytes.splitn(4, u8::is_ascii_whitespace).take(3).filter_map(|word| std::str::from_utf8(word).ok()).collect();
        let unusable = || io::Error::other(format!("{name}: not an 8-bit PGM (P5) of 3 to 4096 pixels in a row"));
        let [magic, width, height] = head[..] else { return Err(unusable()) };
        let (width, height): (usize, usize) = width.parse().ok().zip(height.parse().ok()).ok_or_else(unusable)?;
        let count = width.checked_mul(height).filter(|count| *count > 0 && *count < bytes.len()).ok_or_else(unusable)?;
        if magic != "P5" || !(3..=4096).contains(&width) {
            return Err(unusable());
        }
        Ok(Picture { width, pixels: bytes[bytes.len() - count..].to_vec() })
    }

    fn store(&self, name: &str) -> io::Result<()> {
        let head = format!("P5\n{} {}\n255\n", self.width, self.pixels.len() / self.width);
        std::fs::write(name, [head.as_bytes(), &self.pixels].concat())
    }

    /// What the core computes: |gx| + |gy|, at most 255, and 0 on the border.
    pub fn filtered(&self) -> Vec<u8> {
        let height = self.pixels.len() / self.width;
        let at = |x: usize, y: usize| i32::from(self.pixels[y * self.width + x]);
        let mut edges = vec![0; self.pixels.len()];
        for y in 1..height.saturating_sub(1) {
            for x in 1..self.width - 1 {
                let (mut gx, mut gy) = (0, 0);
                for (d, weight) in [(0, 1), (1, 2), (2, 1)] {
                    gx += weight * (at(x + 1, y + d - 1) - at(x - 1, y + d - 1));
                    gy += weight * (at(x + d - 1, y + 1) - at(x + d - 1, y - 1));
                }
                edges[y * self.width + x] = (gx.abs() + gy.abs()).min(255) as u8;
            }
        }
        edges
    }
}

/// The picture's edges, by the card.
pub async fn filter_on_card(card: &Device, picture: &Picture) -> io::Result<Vec<u8>> {
    card.registers().write_name("width", picture.width as u32)?;
    card.registers().write_name("height", (picture.pixels.len() / picture.width) as u32)?;
    let mut pixels = AsyncSender::new(card.sender("pixels")?, 16 << 10)?;
    let mut edges = AsyncReceiver::new(card.receiver("edges")?, 16 << 10)?;
    let mut result = vec![0; picture.pixels.len()];
    let sending = async {
        pixels.write_all(&picture.pixels).await?;
        pixels.shutdown().await // ends the message
    };
    tokio::try_join!(sending, edges.read_exact(&mut result))?;
    Ok(result)
}

#[tokio::main]
#[allow(dead_code, reason = "a test includes the rest")]
async fn main() -> io::Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let picture = names.first().map_or_else(|| Ok(Picture::drawn()), |name| Picture::load(name))?;
    let name = std::env::var("TOWPATH_DEVICE").ok().filter(|name| !name.is_empty());
    let card = Device::open(name.as_deref().unwrap_or("sim:sobel"))?;
    let pixels = filter_on_card(&card, &picture).await?;
    if pixels != picture.filtered() {
        return Err(io::Error::other("the card's edges are not those of the host's filter"));
    }
    println!("{} x {} pixels: identical to the host's filter", picture.width, pixels.len() / picture.width);
    match names.get(1) {
        Some(name) => Picture { width: picture.width, pixels }.store(name),
        None => Ok(()),
    }
}
