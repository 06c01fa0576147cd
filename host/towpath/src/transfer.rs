// SPDX-License-Identifier: Apache-2.0
//! A submitted transfer, owned until it has ended.

use crate::channel::Core;
use crate::reactor;
use crate::{Completion, Error, Result, Ticket, WaitOptions};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A transfer in flight: [`crate::Sender::submit`], [`crate::Receiver::submit`]. Wait for it, or await it as a future (of any runtime).
/// Dropping it before it has ended cancels it; its memory lives until the card is done with it. `Send` and `Sync`.
#[must_use = "dropping it cancels the transfer; call detach() to let it go on"]
pub struct Transfer {
    core: Arc<Core>,
    ticket: Ticket,
    collected: bool,
}

impl Transfer {
    #[inline]
    pub(crate) fn new(core: &Arc<Core>, ticket: Ticket) -> Transfer {
        Transfer { core: core.clone(), ticket, collected: false }
    }

    /// The ticket of its [`Completion`].
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Wait until it has ended and collect its completion; the status may be a fault ([`Completion::check`]). `None`: no limit.
    /// [`Error::Pending`] and [`Error::Interrupted`] leave it in flight. After it was collected: [`Error::UnknownTicket`].
    #[inline]
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Completion> {
        self.wait_with(timeout.into())
    }

    /// As [`Transfer::wait`], with this call's own options.
    #[inline]
    pub fn wait_with(&mut self, options: WaitOptions<'_>) -> Result<Completion> {
        let waited = self.core.channel()?.wait(self.ticket, options);
        self.collected = match &waited {
            Ok(_) => true,
            Err(error) => ended(error),
        };
        waited
    }

    /// Collect its completion, if it has ended. If not, the channel's event descriptor becomes readable when it does.
    #[inline]
    pub fn try_wait(&mut self) -> Result<Option<Completion>> {
        let found = self.core.channel()?.try_wait(self.ticket);
        self.collected = match &found {
            Ok(found) => found.is_some(),
            Err(error) => ended(error),
        };
        found
    }

    /// End it early; its completion reports how many bytes moved. Other transfers of the channel go on. Does nothing if it has ended. Does
    /// not wait.
    pub fn cancel(&self) -> Result<()> {
        self.core.channel()?.cancel(self.ticket)
    }

    /// Leave it in flight without this handle: `poll_completions` of its channel collects it.
    #[inline]
    pub fn detach(mut self) -> Ticket {
        self.collected = true;
        if let Ok(channel) = self.core.channel() {
            channel.detach(self.ticket);
        }
        self.ticket
    }
}

impl Drop for Transfer {
    #[inline]
    fn drop(&mut self) {
        if !self.collected {
            give_up(&self.core, self.ticket);
        }
    }
}

/// Has a wait that failed with this error collected the transfer? If in doubt it has not: abandoning one that was collected does nothing.
#[cold]
fn ended(error: &Error) -> bool {
    matches!(error, Error::Protocol { .. } | Error::UnknownTicket { .. })
}

#[cold]
fn give_up(core: &Core, ticket: Ticket) {
    let Ok(channel) = core.channel() else { return };
    if let Err(error) = channel.cancel(ticket) {
        log::warn!("cancelling a transfer that was dropped: {error}");
    }
    channel.abandon(ticket);
}

impl Future for Transfer {
    type Output = Result<Completion>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // First the waker, then the look: what ends in between wakes.
        if let Some(done) = self.try_wait().transpose() {
            return Poll::Ready(done);
        }
        let core = self.core.clone();
        if let Err(error) = core.event_fd().and_then(|event| reactor::wake_when_readable(event, context.waker())) {
            return Poll::Ready(Err(error));
        }
        match self.try_wait().transpose() {
            Some(done) => Poll::Ready(done),
            None => Poll::Pending,
        }
    }
}

impl fmt::Debug for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transfer").field("channel", &self.core.name()).field("ticket", &self.ticket).finish_non_exhaustive()
    }
}
