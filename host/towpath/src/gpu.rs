// SPDX-License-Identifier: Apache-2.0
//! Transfers in the order of a stream's work.

use crate::channel::Core;
use crate::{Buffer, Error, Result, WaitOptions};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use towpath_bus::BusError;
use towpath_driver::signal_watch::SignalWatch;
use towpath_driver::Direction;
use towpath_gpu::{Hold, Mark, Stream};

/// How long the thread sleeps before it looks again: a part of the time that it has waited already, within limits.
const SOONEST: Duration = Duration::from_micros(10);
const LATEST: Duration = Duration::from_millis(1);
/// One wait for a result, at most; then limit and signals are looked at.
const SLICE: Duration = Duration::from_millis(20);

/// A copy from or to a GPU's memory failed, when so many bytes of the call had moved.
pub(crate) fn failed(doing: &str, bytes: usize) -> impl FnOnce(std::io::Error) -> Error + '_ {
    move |why| Error::Bus { doing: doing.into(), source: BusError::System("the GPU's memory".into(), why), bytes: Some(bytes as u64) }
}

/// A transfer on a stream, as the thread of its channel sees it.
trait Turn: Send + Sync {
    /// Has the work before it on the stream been done?
    fn is_due(&self) -> bool;
    /// If it was cancelled, it ends now, unless it is being made. Has it ended, without having been made?
    fn ends_early(&self) -> bool;
    /// Has the stream come past it? What it received is then in the GPU's memory.
    fn is_passed(&self) -> bool;
}

struct Job {
    turn: Arc<dyn Turn>,
    make: Option<Box<dyn FnOnce() + Send>>,
    /// The stream copies from and to it until it has come past the transfer.
    _buffer: Arc<Buffer>,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    /// The channel is gone.
    over: bool,
}

/// What the thread and the calls share.
#[derive(Default)]
struct Inbox {
    jobs: Mutex<Jobs>,
    news: Condvar,
    /// How often everything on the channel was cancelled.
    cancels: AtomicU64,
}

/// The thread of a channel that makes its transfers on streams, one after the other, in the order of the calls. It starts with the first.
#[derive(Default)]
pub(crate) struct Queue {
    inbox: Arc<Inbox>,
    /// Held while a transfer is put on its stream and into the queue, so that both have the same order. Is there a thread?
    order: Mutex<bool>,
}

impl Queue {
    /// Everything that waits or runs here ends.
    pub fn cancel_all(&self) {
        self.inbox.cancels.fetch_add(1, Ordering::AcqRel);
        for job in &self.inbox.jobs.lock().waiting {
            job.turn.ends_early();
        }
    }

    fn start(&self, started: &mut bool) -> Result<()> {
        if !*started {
            let inbox = self.inbox.clone();
            // Signals belong to the program's own threads.
            let _hold = towpath_system::signals::Hold::new();
            let thread = std::thread::Builder::new().name("towpath-streams".into()).spawn(move || inbox.serve());
            thread.map_err(|why| Error::Invalid(format!("starting the thread that makes transfers on streams: {why}")))?;
            *started = true;
        }
        Ok(())
    }

    /// The channel is gone; not for a child of fork, where another thread may have had the lock.
    pub fn close(&self) {
        self.inbox.jobs.lock().over = true;
        self.inbox.news.notify_all();
    }

    fn push(&self, job: Job) {
        self.inbox.jobs.lock().waiting.push_back(job);
        self.inbox.news.notify_all();
    }
}

impl Inbox {
    /// The GPU signals nothing but changes memory, so the thread looks at that again and again while anything is under way.
    fn serve(&self) {
        // Those that have been made, or have ended early, until their streams have come past them. None of them keeps others waiting.
        let mut passing: Vec<Job> = Vec::new();
        let mut quiet = Instant::now();
        let mut jobs = self.jobs.lock();
        loop {
            while jobs.waiting.is_empty() && passing.is_empty() {
                if jobs.over {
                    return;
                }
                self.news.wait(&mut jobs);
                quiet = Instant::now();
            }
            let known = passing.len();
            let mut index = 0;
            while let Some(job) = jobs.waiting.get(index) {
                match job.turn.ends_early() {
                    true => passing.extend(jobs.waiting.remove(index)),
                    false => index += 1,
                }
            }
            let due = jobs.waiting.front().is_some_and(|job| job.turn.is_due());
            let next = due.then(|| jobs.waiting.pop_front()).flatten();
            drop(jobs); // nothing is made or dropped under the lock
            passing[known..].iter_mut().for_each(|job| drop(job.make.take()));
            let mut busy = next.is_some() || passing.len() > known;
            if let Some(mut job) = next {
                job.make.take().into_iter().for_each(|make| make());
                passing.push(job);
            }
            passing.retain(|job| {
                let passed = job.turn.is_passed();
                busy |= passed;
                !passed
            });
            jobs = self.jobs.lock();
            if busy || !self.news.wait_for(&mut jobs, (quiet.elapsed() / 16).clamp(SOONEST, LATEST)).timed_out() {
                quiet = Instant::now();
            }
        }
    }
}

/// A transfer in the order of a GPU's stream: see `on_stream` of [`crate::Sender`], [`crate::Receiver`] and [`crate::MemoryHalf`]. Dropping
/// this does not end the transfer, for the stream waits for it; its error is then in the log alone.
pub struct OnStream<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    channel: String,
    state: Mutex<State<T>>,
    ended: Condvar,
    mark: Mark,
    /// The stream copies what was received to the GPU's memory.
    copied: bool,
    cancelled: AtomicBool,
    inbox: Arc<Inbox>,
    /// The inbox's cancels when the call was made.
    before: u64,
    /// Nobody asks for the result any more.
    dropped: AtomicBool,
}

enum State<T> {
    Waiting(Hold),
    Running,
    /// It is over but for the stream's copy of what was received.
    Copying(Result<T>),
    Ended(Result<T>),
    Taken,
}

impl<T> Shared<T> {
    fn is_over(&self) -> bool {
        self.cancelled.load(Ordering::Acquire) || self.inbox.cancels.load(Ordering::Acquire) != self.before
    }

    fn end(&self, state: &mut State<T>, result: Result<T>) {
        if let (Err(error), true) = (&result, self.dropped.load(Ordering::Acquire)) {
            log::warn!("a transfer on a stream, whose result nobody asks for: {error}");
        }
        *state = State::Ended(result); // a hold ends here
        self.ended.notify_all();
    }

    fn end_cancelled(&self) {
        let mut state = self.state.lock();
        let cancelled = || Err(Error::Cancelled { channel: self.channel.clone(), bytes: 0 });
        match std::mem::replace(&mut *state, State::Taken) {
            State::Waiting(hold) => {
                drop(hold);
                self.end(&mut state, cancelled());
            }
            // Whether the bytes have come to the GPU's memory is not known.
            State::Copying(Ok(_)) => self.end(&mut state, cancelled()),
            State::Copying(result) => self.end(&mut state, result),
            other => *state = other,
        }
    }

    fn make(&self, work: &impl Fn(&(dyn Fn() -> bool + Sync)) -> Result<T>)
    where
        T: Send,
    {
        let mut state = self.state.lock();
        let hold = match std::mem::replace(&mut *state, State::Running) {
            State::Waiting(hold) => hold,
            other => {
                *state = other;
                return;
            }
        };
        drop(state);
        // The caller's work may panic: the stream goes on even then.
        let done = catch_unwind(AssertUnwindSafe(|| work(&|| self.is_over())));
        drop(hold); // before anything that waits for the program, which may wait for the stream
        let result = match done {
            Ok(Err(Error::Interrupted { channel, bytes })) => Err(Error::Cancelled { channel, bytes }),
            Ok(result) => result,
            Err(_) => Err(Error::Invalid(format!("channel \"{}\": the transfer on a stream panicked", self.channel))),
        };
        let mut state = self.state.lock();
        match self.copied {
            true => *state = State::Copying(result),
            false => self.end(&mut state, result),
        }
    }
}

impl<T: Send> Turn for Shared<T> {
    fn is_due(&self) -> bool {
        self.mark.is_reached()
    }

    fn ends_early(&self) -> bool {
        if self.is_over() {
            self.end_cancelled();
        }
        !matches!(*self.state.lock(), State::Waiting(_))
    }

    fn is_passed(&self) -> bool {
        let passed = self.mark.is_passed();
        let mut state = self.state.lock();
        if passed && matches!(*state, State::Copying(_)) {
            if let State::Copying(result) = std::mem::replace(&mut *state, State::Taken) {
                self.end(&mut state, result);
            }
        } else if self.is_over() {
            drop(state);
            self.end_cancelled();
        }
        passed
    }
}

/// A transfer that could not be put on its stream: the stream may copy all the same.
struct Refused(Option<Mark>);

impl Turn for Refused {
    fn is_due(&self) -> bool {
        false
    }

    fn ends_early(&self) -> bool {
        true
    }

    fn is_passed(&self) -> bool {
        self.0.as_ref().is_none_or(Mark::is_passed)
    }
}

impl<T> OnStream<T> {
    /// Wait for the result and take it. [`Error::Pending`] and [`Error::Interrupted`] leave it in flight. After it was taken:
    /// [`Error::UnknownTicket`].
    pub fn wait(&self, options: WaitOptions<'_>) -> Result<T> {
        let (channel, began) = (&self.shared.channel, Instant::now());
        let mut watch = SignalWatch::new(options);
        watch.hold();
        let mut state = self.shared.state.lock();
        loop {
            match std::mem::replace(&mut *state, State::Taken) {
                State::Ended(result) => return result,
                State::Taken => return Err(Error::UnknownTicket { channel: channel.clone() }),
                other => *state = other,
            }
            let left = options.timeout.map_or(SLICE, |limit| limit.saturating_sub(began.elapsed()));
            if left.is_zero() {
                return Err(Error::Pending { channel: channel.clone(), after: options.timeout.unwrap_or_default() });
            }
            self.shared.ended.wait_for(&mut state, left.min(SLICE));
            if !matches!(*state, State::Ended(_)) && watch.is_due(false) {
                drop(state); // a signal handler may use it
                if watch.is_over() {
                    return Err(Error::Interrupted { channel: channel.clone(), bytes: 0 });
                }
                watch.hold();
                state = self.shared.state.lock();
            }
        }
    }

    /// Take the result, if there is one.
    pub fn try_wait(&self) -> Option<Result<T>> {
        let mut state = self.shared.state.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Ended(result) => Some(result),
            other => {
                *state = other;
                None
            }
        }
    }

    /// End it early: [`Error::Cancelled`] is then its result, and what is behind it on the stream goes on, at once if it had not begun. Does
    /// not wait. A receive whose bytes have come, and are not in the GPU's memory yet, is cancelled as well.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Release);
        self.shared.end_cancelled();
    }
}

impl<T> Drop for OnStream<T> {
    fn drop(&mut self) {
        self.shared.dropped.store(true, Ordering::Release);
    }
}

impl<T> fmt::Debug for OnStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnStream").field("channel", &self.shared.channel).finish_non_exhaustive()
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
    let queue = &core.queue;
    let inbox = queue.inbox.clone();
    let written = core.direction == Direction::C2h;
    let mut started = queue.order.lock();
    queue.start(&mut started)?;
    let before = inbox.cancels.load(Ordering::Acquire);
    // SAFETY: the job has the buffer, with memory and shadow, until the stream has come past the transfer; only the work uses it.
    let (mark, hold) = match unsafe { stream.hold(buffer.shadow(), written) } {
        Ok(held) => held,
        Err((why, mark)) => {
            queue.push(Job { turn: Arc::new(Refused(mark)), make: None, _buffer: buffer.clone() });
            return Err(why.into());
        }
    };
    let shared = Arc::new(Shared {
        channel: core.name().to_string(),
        state: Mutex::new(State::Waiting(hold)),
        ended: Condvar::new(),
        mark,
        copied: written && buffer.shadow().is_some(),
        cancelled: AtomicBool::new(false),
        inbox,
        before,
        dropped: AtomicBool::new(false),
    });
    let mine = shared.clone();
    let make = Box::new(move || mine.make(&work)); // the work is dropped behind the hold
    queue.push(Job { turn: shared.clone(), make: Some(make), _buffer: buffer.clone() });
    Ok(OnStream { shared })
}
