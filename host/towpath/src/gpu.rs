// SPDX-License-Identifier: Apache-2.0
//! Transfers in the order of a stream's work.

use crate::channel::Core;
use crate::{Error, Result, WaitOptions};
use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{mpsc, Arc, OnceLock};
use std::time::{Duration, Instant};
use towpath_bus::BusError;
use towpath_driver::signal_watch::SignalWatch;
use towpath_gpu::{Mark, Stream};

/// How long the thread sleeps before it looks at a mark again: a part of the time that it has waited already, within limits.
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
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> Result<T> + Send + 'static,
) -> Result<OnStream<T>> {
    core.channel()?;
    let shared = Arc::new(Shared { result: Mutex::new(None), ended: Condvar::new(), cancelled: AtomicBool::new(false) });
    let (cancels, mine, channel) = (core.queue.cancels.clone(), shared.clone(), core.name().to_string());
    let before = cancels.load(Ordering::Acquire);
    let (mark, hold) = stream.hold()?;
    let name = channel.clone();
    core.queue.push(Box::new(move || {
        let is_over = || mine.cancelled.load(Ordering::Acquire) || cancels.load(Ordering::Acquire) != before;
        // The caller's work may panic: the stream goes on even then.
        let done = catch_unwind(AssertUnwindSafe(|| wait(&mark, &is_over, &name).and_then(|()| work(&is_over))));
        let held = hold.release();
        let result = match done {
            Ok(Err(Error::Interrupted { channel, bytes })) => Err(Error::Cancelled { channel, bytes }),
            Ok(Ok(value)) => held.map(|()| value).map_err(Error::from),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Error::Invalid(format!("channel \"{name}\": the transfer on a stream panicked"))),
        };
        if let (Err(error), 1) = (&result, Arc::strong_count(&mine)) {
            log::warn!("a transfer on a stream, whose result nobody asks for: {error}");
        }
        *mine.result.lock() = Some(result);
        mine.ended.notify_all();
    }))?;
    Ok(OnStream { shared, channel })
}

/// Wait until the stream's work before the mark is done, or the transfer is cancelled.
fn wait(mark: &Mark, is_over: &dyn Fn() -> bool, channel: &str) -> Result<()> {
    let began = Instant::now();
    while !mark.is_reached() {
        if is_over() {
            return Err(Error::Cancelled { channel: channel.into(), bytes: 0 });
        }
        std::thread::sleep((began.elapsed() / 16).clamp(SOONEST, LATEST));
    }
    Ok(())
}
