// SPDX-License-Identifier: Apache-2.0
//! Transfers in the order of a stream's work.

use crate::channel::Core;
use crate::{Buffer, Error, Result, WaitOptions};
use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{mpsc, Arc, OnceLock};
use std::time::{Duration, Instant};
use towpath_bus::BusError;
use towpath_driver::signal_watch::SignalWatch;
use towpath_driver::Direction;
use towpath_gpu::Stream;

/// How long the thread sleeps before it looks again: a part of the time that it has waited already, within limits.
const SOONEST: Duration = Duration::from_micros(10);
const LATEST: Duration = Duration::from_millis(1);
/// One wait for a result, at most; then limit and signals are looked at.
const SLICE: Duration = Duration::from_millis(20);

/// A copy from or to a GPU's memory failed.
pub(crate) fn failed(doing: &str) -> impl FnOnce(std::io::Error) -> Error + '_ {
    move |why| Error::Bus { doing: doing.into(), source: BusError::System("the GPU's memory".into(), why), bytes: None }
}

type Work = Box<dyn FnOnce() + Send>;

/// The thread of a channel that makes its transfers on streams, one after the other, in the order of the calls. It starts with the first.
#[derive(Default)]
pub(crate) struct Queue {
    jobs: OnceLock<Mutex<mpsc::Sender<Work>>>,
    /// How often everything on the channel was cancelled.
    cancels: Arc<AtomicU64>,
}

impl Queue {
    /// Everything that waits or runs here ends.
    pub fn cancel_all(&self) {
        self.cancels.fetch_add(1, Ordering::AcqRel);
    }

    fn push(&self, work: Work) -> Result<()> {
        if self.jobs.get().is_none() {
            let (jobs, queue) = mpsc::channel::<Work>();
            // Signals belong to the program's own threads.
            let _hold = towpath_system::signals::Hold::new();
            let run = move || queue.into_iter().for_each(|work| work());
            let started = std::thread::Builder::new().name("towpath-streams".into()).spawn(run);
            started.map_err(|why| Error::Invalid(format!("starting the thread that makes transfers on streams: {why}")))?;
            let _ = self.jobs.set(Mutex::new(jobs)); // another thread's is as good; then this one ends
        }
        let gone = || Error::Invalid("the thread that makes transfers on streams has ended".into());
        let jobs = self.jobs.get().ok_or_else(gone)?.lock();
        jobs.send(work).map_err(|_| gone())
    }
}

/// A transfer in the order of a GPU's stream: see `on_stream` of [`crate::Sender`], [`crate::Receiver`] and [`crate::MemoryHalf`]. Dropping
/// this does not end the transfer, for the stream waits for it; its error is then in the log alone.
pub struct OnStream<T> {
    shared: Arc<Shared<T>>,
    channel: String,
}

struct Shared<T> {
    result: Mutex<Option<Result<T>>>,
    ended: Condvar,
    cancelled: AtomicBool,
}

impl<T> OnStream<T> {
    /// Wait for the result and take it. [`Error::Pending`] and [`Error::Interrupted`] leave it in flight. After it was taken:
    /// [`Error::UnknownTicket`].
    pub fn wait(&self, options: WaitOptions<'_>) -> Result<T> {
        let (channel, began) = (&self.channel, Instant::now());
        let mut watch = SignalWatch::new(options);
        watch.hold();
        let mut result = self.shared.result.lock();
        loop {
            if let Some(result) = result.take() {
                return result;
            }
            if Arc::strong_count(&self.shared) == 1 {
                return Err(Error::UnknownTicket { channel: channel.clone() });
            }
            let left = options.timeout.map_or(SLICE, |limit| limit.saturating_sub(began.elapsed()));
            if left.is_zero() {
                return Err(Error::Pending { channel: channel.clone(), after: options.timeout.unwrap_or_default() });
            }
            self.shared.ended.wait_for(&mut result, left.min(SLICE));
            if result.is_none() && watch.is_due(false) {
                drop(result); // a signal handler may use it
                if watch.is_over() {
                    return Err(Error::Interrupted { channel: channel.clone(), bytes: 0 });
                }
                watch.hold();
                result = self.shared.result.lock();
            }
        }
    }

    /// Take the result, if there is one.
    pub fn try_wait(&self) -> Option<Result<T>> {
        self.shared.result.lock().take()
    }

    /// End it early: [`Error::Cancelled`] is then its result, and what is behind it on the stream goes on. Does not wait.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Release);
    }
}

impl<T> fmt::Debug for OnStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnStream").field("channel", &self.channel).finish_non_exhaustive()
    }
}

/// When the work before it on the stream is done, `work` is called in a thread of the channel's; what is behind it on the stream waits for
/// its end. See `on_stream` of the channels.
pub(crate) fn on_stream<T: Send + 'static>(
    core: &Core,
    stream: &Stream,
    buffer: &Arc<Buffer>,
    work: impl Fn(&(dyn Fn() -> bool + Sync)) -> Result<T> + Send + 'static,
) -> Result<OnStream<T>> {
    core.channel()?;
    let shared = Arc::new(Shared { result: Mutex::new(None), ended: Condvar::new(), cancelled: AtomicBool::new(false) });
    let (cancels, mine, channel, buffer) = (core.queue.cancels.clone(), shared.clone(), core.name().to_string(), buffer.clone());
    let before = cancels.load(Ordering::Acquire);
    // SAFETY: the buffer keeps memory and shadow, and is kept until the stream has come past the transfer; only the work uses it.
    let (mark, hold) = unsafe { stream.hold(buffer.shadow(), core.direction == Direction::C2h)? };
    let name = channel.clone();
    core.queue.push(Box::new(move || {
        let is_over = || mine.cancelled.load(Ordering::Acquire) || cancels.load(Ordering::Acquire) != before;
        wait(|| mark.is_reached() || is_over());
        // The caller's work may panic: the stream goes on even then.
        let done = match mark.is_reached() {
            true => catch_unwind(AssertUnwindSafe(|| work(&is_over))),
            false => Ok(Err(Error::Cancelled { channel: name.clone(), bytes: 0 })),
        };
        drop(hold); // before anything that waits for the program, which may wait for the stream
        let result = match done {
            Ok(Err(Error::Interrupted { channel, bytes })) => Err(Error::Cancelled { channel, bytes }),
            Ok(result) => result,
            Err(_) => Err(Error::Invalid(format!("channel \"{name}\": the transfer on a stream panicked"))),
        };
        wait(|| mark.is_passed() || is_over()); // the GPU's memory has what was received
        if let (Err(error), 1) = (&result, Arc::strong_count(&mine)) {
            log::warn!("a transfer on a stream, whose result nobody asks for: {error}");
        }
        *mine.result.lock() = Some(result);
        mine.ended.notify_all();
        drop(work);
        wait(|| mark.is_passed());
        drop(buffer);
    }))?;
    Ok(OnStream { shared, channel })
}

/// Wait for the GPU, which signals nothing but changes memory.
fn wait(over: impl Fn() -> bool) {
    let began = Instant::now();
    while !over() {
        std::thread::sleep((began.elapsed() / 16).clamp(SOONEST, LATEST));
    }
}
