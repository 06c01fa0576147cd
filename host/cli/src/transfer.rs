// SPDX-License-Identifier: Apache-2.0
//! `send` and `recv`: bytes between files or standard streams and channels.

use std::sync::OnceLock;
use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::{json, Value};
use towpath::{ChannelOptions, Device, Direction, Message, Notify, Receiver, Sender};

use crate::args::{Cli, Recv, Send, Transfer, Wait};
use crate::exit::{Failure, Result, TRANSFER, USAGE};
use crate::output;
use crate::registers::write_all;
use crate::streams::{progress, Sink, Source};

/// One message, or its part, as it came.
#[derive(Default)]
struct Part {
    bytes: u64,
    offset: u32,
    user: u32,
    end_of_message: bool,
}

pub fn patience(timeout: Duration) -> Option<Duration> {
    Some(timeout).filter(|t| *t != Duration::ZERO)
}

/// How the verb's channels are to wait.
pub fn options(transfer: &Transfer) -> ChannelOptions {
    let notify = match transfer.wait {
        Wait::Adaptive => Notify::default(),
        Wait::Early => Notify::Early,
        Wait::Poll => Notify::Poll,
        Wait::Interrupt => Notify::Interrupt,
    };
    ChannelOptions { notify, ..ChannelOptions::default() }
}

pub fn block(transfer: &Transfer) -> Result<Vec<u8>> {
    let bytes = usize::try_from(transfer.block).unwrap_or(usize::MAX);
    let mut block = Vec::new();
    block
        .try_reserve_exact(bytes)
        .map_err(|_| Failure::new(USAGE, format!("no memory for blocks of {bytes} bytes; give a smaller --block")))?;
    block.resize(bytes, 0);
    Ok(block)
}

/// A verb's output at its end; on standard error where people look for it, and where bytes go to standard output.
fn summary(cli: &Cli, quiet: bool, to_stderr: bool, value: &Value, text: &str) -> Result {
    if cli.json && !to_stderr {
        return output::answer(cli, value, "");
    }
    if cli.json || !quiet {
        output::aside(cli, value, text);
    }
    Ok(())
}

pub fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03} us", nanoseconds / 1000, nanoseconds % 1000)
}

pub fn send(cli: &Cli, what: &Send) -> Result {
    let source = Source::open(if what.input.is_empty() { &what.files } else { &what.input })?;
    if what.length && source.total.is_none() {
        return Err(Failure::new(USAGE, "--length needs regular files, whose length is known beforehand"));
    }
    let card = crate::device::open(cli, &what.transfer.core)?;
    let device = &card.device;
    let sender = device.sender_with(&what.channel, options(&what.transfer))?;
    sender.set_timeout(patience(what.transfer.timeout));
    let (mut receiver, mut sink) = (None, None);
    if let Some((channel, file)) = &what.reply {
        receiver = Some(device.receiver_with(channel, options(&what.transfer))?);
        sink = Some(Sink::create(Some(file))?);
    }
    if let Some(receiver) = &receiver {
        receiver.set_timeout(patience(what.transfer.timeout));
    }
    write_all(&card, &what.transfer.writes)?;
    let start = device.now_ns();
    let bar = progress(source.total, what.transfer.quiet || cli.json);
    // The direction that fails first ends the other, which would only wait for it, and is the one to be reported.
    let failed = OnceLock::new();
    let (sent, received) = std::thread::scope(|scope| {
        let receiving = receiver.as_ref().zip(sink.as_mut()).map(|(receiver, sink)| {
            let (sender, failed) = (&sender, &failed);
            scope.spawn(move || {
                let received = receive(receiver, sink, &what.transfer, Some(1), None, &ProgressBar::hidden());
                if received.is_err() && failed.set(Direction::C2h).is_ok() {
                    let _ = sender.cancel_all();
                }
                received
            })
        });
        let sent = send_all(&sender, source, what, &bar);
        if let (true, Some(receiver)) = (sent.is_err() && failed.set(Direction::H2c).is_ok(), &receiver) {
            let _ = receiver.cancel_all();
        }
        let joined = receiving.map(|thread| thread.join().unwrap_or_else(|_| Err(Failure::new(TRANSFER, "receiving failed"))));
        (sent, joined.transpose())
    });
    bar.finish_and_clear();
    let nanoseconds = device.now_ns() - start;
    let (sent, received) = match failed.get() {
        Some(Direction::C2h) => {
            let received = received?;
            (sent?, received)
        }
        _ => (sent?, received?),
    };
    let mut text = format!("{}: {sent} bytes sent in {}", sender.name(), microseconds(nanoseconds));
    let mut value = json!({"channel": sender.name(), "bytes": sent, "nanoseconds": nanoseconds});
    let mut to_stderr = false;
    if let (Some(parts), Some(receiver), Some(sink)) = (received, &receiver, &sink) {
        let bytes: u64 = parts.iter().map(|part| part.bytes).sum();
        text += &format!("; {}: {bytes} bytes received", receiver.name());
        value["reply"] = json!({"channel": receiver.name(), "bytes": bytes, "messages": messages(&parts)});
        to_stderr = sink.is_standard_output;
    }
    summary(cli, what.transfer.quiet, to_stderr, &value, &text)
}

/// Everything in the source as one message; returns the bytes.
fn send_all(sender: &Sender, mut source: Source, what: &Send, bar: &ProgressBar) -> Result<u64> {
    let length = source.total.filter(|_| what.length);
    // One block is read ahead, to know the last one.
    let (mut now, mut next) = (block(&what.transfer)?, block(&what.transfer)?);
    let mut filled = source.fill(&mut now)?;
    let mut sent = 0;
    loop {
        let ahead = if filled < now.len() { 0 } else { source.fill(&mut next)? };
        let end = ahead == 0;
        let message = Message {
            end: end && !what.open_end,
            length,
            offset: what.attributes.offset.unwrap_or(0),
            user: what.attributes.user.unwrap_or(0),
        };
        sender.send_message(&now[..filled], message).map_err(|error| {
            let all = sent + error.bytes().unwrap_or(0);
            let failure = Failure::from(error);
            if sent > 0 {
                failure.context(format!("after {all} bytes in all"))
            } else {
                failure
            }
        })?;
        sent += filled as u64;
        bar.inc(filled as u64);
        if end {
            return Ok(sent);
        }
        std::mem::swap(&mut now, &mut next);
        filled = ahead;
    }
}

pub fn recv(cli: &Cli, what: &Recv) -> Result {
    let card = crate::device::open(cli, &what.transfer.core)?;
    let device = &card.device;
    let receiver = device.receiver_with(&what.channel, options(&what.transfer))?;
    receiver.set_timeout(patience(what.transfer.timeout));
    let mut sink = Sink::create(what.output.as_deref().or(what.file.as_deref()))?;
    write_all(&card, &what.transfer.writes)?;
    let start = device.now_ns();
    let bar = progress(what.bytes, what.transfer.quiet || cli.json);
    let messages_wanted = what.messages.or(if what.bytes.is_none() { Some(1) } else { None });
    let received = receive(&receiver, &mut sink, &what.transfer, messages_wanted, what.bytes, &bar);
    bar.finish_and_clear();
    let parts = received?;
    report(cli, device, &receiver, &what.transfer, &sink, &parts, start)
}

fn report(cli: &Cli, device: &Device, receiver: &Receiver, transfer: &Transfer, sink: &Sink, parts: &[Part], start: u64) -> Result {
    let bytes: u64 = parts.iter().map(|part| part.bytes).sum();
    let ended = parts.iter().filter(|part| part.end_of_message).count();
    let nanoseconds = device.now_ns() - start;
    let text = format!("{}: {bytes} bytes received, {ended} whole messages, in {}", receiver.name(), microseconds(nanoseconds));
    let value = json!({"channel": receiver.name(), "bytes": bytes, "nanoseconds": nanoseconds, "messages": messages(parts)});
    summary(cli, transfer.quiet, sink.is_standard_output, &value, &text)
}

fn messages(parts: &[Part]) -> Vec<Value> {
    parts.iter().map(|p| json!({"bytes": p.bytes, "offset": p.offset, "user": p.user, "end_of_message": p.end_of_message})).collect()
}

/// Receive until there are enough messages or bytes. Bytes that came before a failure are written, too.
fn receive(
    receiver: &Receiver,
    sink: &mut Sink,
    transfer: &Transfer,
    messages: Option<u64>,
    bytes: Option<u64>,
    bar: &ProgressBar,
) -> Result<Vec<Part>> {
    let mut block = block(transfer)?;
    let mut parts = vec![Part::default()];
    let (mut all, mut ended) = (0u64, 0u64);
    while bytes.is_none_or(|limit| all < limit) && messages.is_none_or(|limit| ended < limit) {
        let room = bytes.map_or(block.len(), |limit| block.len().min(usize::try_from(limit - all).unwrap_or(usize::MAX)));
        let got = match receiver.recv_into(&mut block[..room]) {
            Ok(got) => got,
            Err(error) => {
                let came = error.bytes().and_then(|n| usize::try_from(n).ok()).unwrap_or(0).min(room);
                sink.write(&block[..came])?;
                sink.finish()?;
                return Err(Failure::from(error).context(format!("after {} bytes and {ended} whole messages", all + came as u64)));
            }
        };
        sink.write(&block[..got.bytes])?;
        bar.inc(got.bytes as u64);
        all += got.bytes as u64;
        if let Some(part) = parts.last_mut() {
            *part = Part { bytes: part.bytes + got.bytes as u64, offset: got.offset, user: got.user, end_of_message: got.end_of_message };
        }
        if got.end_of_message {
            ended += 1;
            parts.push(Part::default());
        }
    }
    // The part after the last message's end, if nothing came for it.
    if parts.last().is_some_and(|part| part.bytes == 0 && !part.end_of_message) {
        parts.pop();
    }
    sink.finish()?;
    Ok(parts)
}
