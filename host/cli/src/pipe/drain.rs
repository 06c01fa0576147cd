// SPDX-License-Identifier: Apache-2.0
//! The way out: the C2H channel's bytes to standard output, as they arrive.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use towpath::{Error, Receiver};

use super::watch::Watch;
use crate::exit::{Failure, Result};
use crate::streams::Sink;

/// A block that is not full after this time is written as far as it is.
const SLICE: Duration = Duration::from_millis(50);

pub struct Drain {
    pub receiver: Arc<Receiver>,
    pub watch: Arc<Watch>,
    /// Without it, as many messages as the input had.
    pub messages: Option<u64>,
    pub bytes: Option<u64>,
}

impl Drain {
    /// Until there is enough. What comes before a failure is written, too.
    pub fn run(&self, mut sink: Sink, block: &mut [u8]) -> Result {
        let patience = self.receiver.timeout();
        let slice = patience.map_or(SLICE, |patience| patience.min(SLICE));
        self.receiver.set_timeout(Some(slice));
        let mut in_vain = Duration::ZERO;
        while !self.has_enough() && !self.watch.is_stopping() {
            let rest = self.bytes.map_or(u64::MAX, |limit| limit - self.watch.received_bytes.load(Ordering::SeqCst));
            let room = block.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
            let since = self.watch.steps();
            let result = self.receiver.recv_into(&mut block[..room]);
            let came = result.as_ref().map_or_else(|e| usize::try_from(e.bytes().unwrap_or(0)).unwrap_or(0).min(room), |got| got.bytes);
            let excused = self.watch.excuses(since);
            if came > 0 || result.is_ok() {
                self.watch.step();
            }
            if came > 0 {
                self.watch.outside(|| sink.write(&block[..came]).and_then(|()| sink.finish()))?;
            }
            self.watch.received_bytes.fetch_add(came as u64, Ordering::SeqCst);
            in_vain = if came > 0 || excused { Duration::ZERO } else { in_vain + slice };
            match result {
                Ok(got) => {
                    self.watch.received_messages.fetch_add(got.end_of_message.into(), Ordering::SeqCst);
                }
                Err(Error::Timeout { .. }) if patience.is_none_or(|patience| in_vain < patience) => {}
                // Cancelled by `pipe`, when nothing more is to come.
                Err(Error::Cancelled { .. }) => {}
                Err(error) => {
                    let error = match error {
                        Error::Timeout { channel, .. } => Error::Timeout { channel, bytes: 0, after: in_vain },
                        other => other,
                    };
                    let all = self.watch.received_bytes.load(Ordering::SeqCst);
                    return Err(Failure::from(error).context(format!("after {all} bytes of output")));
                }
            }
        }
        Ok(())
    }

    fn has_enough(&self) -> bool {
        let bytes = self.bytes.is_some_and(|limit| self.watch.received_bytes.load(Ordering::SeqCst) >= limit);
        bytes
            || match self.messages {
                Some(limit) => self.watch.received_messages.load(Ordering::SeqCst) >= limit,
                None => self.watch.is_even(),
            }
    }
}
