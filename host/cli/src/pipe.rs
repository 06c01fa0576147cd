// SPDX-License-Identifier: Apache-2.0
//! `pipe`: standard input through the core to standard output.
//!
//! Each direction has a thread; this one waits for what ends the whole: both are done, one has failed, or a signal. Memory is a few blocks,
//! whatever goes through. A direction that finds the card standing still while the other waits for its stream (a reader that is slow, an
//! input that pauses) waits on: `--timeout` ends the wait only if no stream holds the card up.

mod drain;
mod feed;
mod watch;

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use towpath::{ChannelInfo, Device, Direction, Message, Receiver, Sender};

use crate::args::{Cli, Pipe};
use crate::exit::{Failure, Result, NOT_FOUND, TRANSFER, USAGE};
use crate::streams::{progress, rest_of_input, Sink};
use crate::transfer::{block, microseconds, options, patience};
use crate::{output, registers, signals};
use drain::Drain;
use feed::{Feed, Input};
use watch::Watch;

/// How often a direction that waits in vain for the card is cancelled.
const NUDGE: Duration = Duration::from_millis(10);
/// How long a direction may take to end: it may be stuck in a write that is not read.
const GRACE: Duration = Duration::from_secs(1);

enum Event {
    Fed(Result),
    Drained(Result),
    Signal(i32),
}

/// How much will go through, where that is known, and in which direction it is counted.
#[derive(Clone, Copy)]
enum Total {
    Input(u64),
    Output(u64),
}

impl Total {
    fn bytes(self) -> u64 {
        match self {
            Total::Input(bytes) | Total::Output(bytes) => bytes,
        }
    }
}

/// Both ends of the card.
struct Ends {
    sender: Arc<Sender>,
    receiver: Arc<Receiver>,
    watch: Arc<Watch>,
    /// The output has as many messages as the input.
    even: bool,
}

pub fn pipe(cli: &Cli, what: &Pipe) -> Result {
    let card = crate::device::open(cli, &what.transfer.core)?;
    let device = &card.device;
    let open = options(&what.transfer);
    let sender = Arc::new(device.sender_with(&the_channel(device, what.to.as_ref(), Direction::H2c)?, open)?);
    let receiver = Arc::new(device.receiver_with(&the_channel(device, what.from.as_ref(), Direction::C2h)?, open)?);
    sender.set_timeout(patience(what.transfer.timeout));
    receiver.set_timeout(patience(what.transfer.timeout));
    registers::write_all(&card, &what.transfer.writes)?;
    let start = device.now_ns();

    let ends = Ends { sender, receiver, watch: Arc::default(), even: what.messages.is_none() };
    let total = what.bytes.map(Total::Output).or_else(|| rest_of_input().map(Total::Input));
    let bar = progress(total.map(Total::bytes), what.transfer.quiet || cli.json);
    let mut buffer = block(&what.transfer)?;
    let message = Message { offset: what.attributes.offset.unwrap_or(0), user: what.attributes.user.unwrap_or(0), ..Message::default() };
    let feed = Feed { sender: ends.sender.clone(), watch: ends.watch.clone(), end: what.end, message };
    let drain = Drain { receiver: ends.receiver.clone(), watch: ends.watch.clone(), messages: what.messages, bytes: what.bytes };
    let (tell, events) = mpsc::channel();
    let signalled = tell.clone();
    signals::at_first(move |signal| drop(signalled.send(Event::Signal(signal))))?;
    let input = Input::start(buffer.len())?;
    let sink = Sink::create(None)?;
    let fed = tell.clone();
    start_thread("towpath-feed", move || drop(fed.send(Event::Fed(feed.run(&input)))))?;
    start_thread("towpath-drain", move || drop(tell.send(Event::Drained(drain.run(sink, &mut buffer)))))?;

    let outcome = ends.outcome(&events, || {
        let done = if let Some(Total::Input(_)) = total { &ends.watch.sent_bytes } else { &ends.watch.received_bytes };
        bar.set_position(done.load(Ordering::SeqCst));
    });
    bar.finish_and_clear();
    let signal = outcome?;
    let (value, text) = ends.figures(device.now_ns() - start, signal);
    if cli.json || !what.transfer.quiet {
        output::aside(cli, &value, &text);
    }
    signal.into_iter().for_each(signals::die_of);
    Ok(())
}

/// The named channel, or the only one there is.
fn the_channel(device: &Device, wanted: Option<&String>, direction: Direction) -> Result<String> {
    if let Some(wanted) = wanted {
        return Ok(wanted.clone());
    }
    let streams = device.info().channels.iter().filter(|channel| channel.direction == direction && channel.is_stream());
    let names: Vec<&str> = streams.map(|channel: &ChannelInfo| channel.name.as_str()).collect();
    let option = if direction == Direction::H2c { "--to" } else { "--from" };
    match names[..] {
        [name] => Ok(name.into()),
        [] => Err(Failure::new(NOT_FOUND, format!("this card has no {direction} stream, and a pipe needs one of each direction"))),
        _ => {
            Err(Failure::new(USAGE, format!("this card has several {direction} channels: choose one with {option}: {}", names.join(", "))))
        }
    }
}

fn start_thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result {
    let started = std::thread::Builder::new().name(name.into()).spawn(body);
    started.map(drop).map_err(|e| Failure::new(TRANSFER, format!("no thread for the transfer: {e}")))
}

impl Ends {
    /// Wait until both directions have ended, or been given time to, and show meanwhile how far they are. A signal that ended them, or
    /// else the failure that came first.
    fn outcome(&self, events: &mpsc::Receiver<Event>, show: impl Fn()) -> Result<Option<i32>> {
        let (mut fed, mut drained, mut deadline) = (false, false, None);
        let mut outcome = Ok(None);
        while !(fed && drained) && deadline.is_none_or(|end| Instant::now() < end) {
            show();
            let (done, ending) = match events.recv_timeout(NUDGE) {
                Ok(Event::Fed(result)) => {
                    fed = true;
                    (result.map(|()| None), false)
                }
                // Whatever the input still has, the output has enough.
                Ok(Event::Drained(result)) => {
                    drained = true;
                    (result.map(|()| None), true)
                }
                Ok(Event::Signal(signal)) => (Ok(Some(signal)), true),
                Err(_) => (Ok(None), false),
            };
            if deadline.is_none() && (ending || done.is_err()) {
                outcome = done;
                self.watch.stopping.store(true, Ordering::SeqCst);
                deadline = Some(Instant::now() + GRACE);
            }
            // Again and again: one that was just about to wait for the card has not noticed the last one.
            if deadline.is_some() {
                let _ = self.sender.cancel_all();
            }
            if deadline.is_some() || self.even && self.watch.is_even() {
                let _ = self.receiver.cancel_all();
            }
        }
        outcome
    }

    fn figures(&self, nanoseconds: u64, signal: Option<i32>) -> (Value, String) {
        let [sent, sent_messages, received, received_messages] =
            [&self.watch.sent_bytes, &self.watch.sent_messages, &self.watch.received_bytes, &self.watch.received_messages]
                .map(|count| count.load(Ordering::SeqCst));
        let (to, from) = (self.sender.name(), self.receiver.name());
        let value = json!({
            "sent": {"channel": to, "bytes": sent, "messages": sent_messages},
            "received": {"channel": from, "bytes": received, "messages": received_messages},
            "nanoseconds": nanoseconds, "signal": signal,
        });
        let ended = signal.map(|signal| format!(", ended by signal {signal}")).unwrap_or_default();
        let text = format!(
            "{to}: {sent} bytes and {sent_messages} whole messages sent; {from}: {received} bytes and {received_messages} whole messages \
             received; in {}{ended}",
            microseconds(nanoseconds)
        );
        (value, text)
    }
}
