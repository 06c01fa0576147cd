// SPDX-License-Identifier: Apache-2.0
//! One client after the other.

use std::io;
use std::os::unix::net::UnixStream;

use crate::{Device, Door, Errno};

/// Admit clients, one after the other, until the service is stopped. `converse` handles one client and returns the reason for its end.
/// After that the card is quiesced and reset, and when it does not use the client's memory any more, `forget` releases that memory. An
/// error: the device could not be reset, and serves no client any more.
pub fn serve(
    door: &Door,
    device: &mut dyn Device,
    mut converse: impl FnMut(&mut dyn Device, UnixStream) -> io::Result<()>,
    mut forget: impl FnMut(),
) -> io::Result<()> {
    while let Some(stream) = door.next() {
        log::info!("a client has come");
        match converse(device, stream) {
            Err(error) if has_left(&error) => log::info!("the client has left"),
            Err(error) => log::warn!("the client was shown out: {error}"),
            Ok(()) => (),
        }
        let quiet = device.forget_client();
        forget();
        quiet.map_err(|Errno(number)| {
            let why = io::Error::from_raw_os_error(number);
            io::Error::new(why.kind(), format!("the card cannot be reset for the next client: {why}"))
        })?;
        door.free();
    }
    Ok(())
}

/// Does this error mean that a client has left, or died?
fn has_left(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}
