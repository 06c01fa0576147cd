// SPDX-License-Identifier: Apache-2.0
//! The files for Linux: what FUSE asks, and nothing that moves bytes.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, IoctlFlags, LockOwner, OpenAccMode,
    OpenFlags, PollEvents, PollFlags, PollNotifier, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyOpen,
    ReplyPoll, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use towpath_system::file::{O_DIRECT, O_NONBLOCK};

use super::names::Behind;
use super::opened::{Call, File};

/// How long Linux keeps what it was told of a file.
const KEPT: Duration = Duration::from_secs(1);

/// All files of a card, in one folder.
pub struct Served {
    pub files: Vec<Arc<File>>,
    pub owner: (u32, u32),
    pub stopping: Arc<AtomicBool>,
}

impl Served {
    fn file(&self, node: INodeNo) -> Result<&Arc<File>, Errno> {
        let place = usize::try_from(node.0).ok().and_then(|node| node.checked_sub(2));
        place.and_then(|place| self.files.get(place)).ok_or(Errno::ENOENT)
    }

    /// What a program that opens the file so has of it: a stream of each direction may have the same name.
    fn parts(&self, node: INodeNo, flags: OpenFlags) -> Result<Vec<&Arc<File>>, Errno> {
        let named = self.file(node)?;
        let all: Vec<&Arc<File>> = self.files.iter().filter(|file| file.entry.file == named.entry.file).collect();
        if all.len() == 1 {
            return Ok(all);
        }
        let (reads, writes) = wants(flags);
        Ok(all.into_iter().filter(|file| if file.entry.behind == Behind::Read { reads } else { writes }).collect())
    }

    /// The one of this name that is read, or written.
    fn part(&self, node: INodeNo, behind: Behind) -> Result<&Arc<File>, Errno> {
        let named = self.file(node)?;
        let other = self.files.iter().find(|file| file.entry.file == named.entry.file && file.entry.behind == behind);
        Ok(other.unwrap_or(named))
    }

    fn about(&self, node: INodeNo) -> Result<FileAttr, Errno> {
        let (kind, perm, size) = if node == INodeNo::ROOT {
            (FileType::Directory, 0o755, 0)
        } else if !std::ptr::eq(self.part(node, Behind::Read)?, self.part(node, Behind::Written)?) {
            (FileType::RegularFile, 0o600, 0)
        } else {
            match self.file(node)?.entry.behind {
                Behind::Written => (FileType::RegularFile, 0o200, 0),
                Behind::Read => (FileType::RegularFile, 0o400, 0),
                Behind::Memory(bytes) => (FileType::RegularFile, 0o600, bytes),
                Behind::Card => (FileType::RegularFile, 0o600, 0),
            }
        };
        let ((uid, gid), then) = (self.owner, UNIX_EPOCH);
        let (atime, mtime, ctime, crtime) = (then, then, then, then);
        Ok(FileAttr {
            ino: node,
            size,
            blocks: 0,
            atime,
            mtime,
            ctime,
            crtime,
            kind,
            perm,
            nlink: 1,
            uid,
            gid,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn call<T>(
        &self,
        request: &Request,
        flags: OpenFlags,
        file: Result<&Arc<File>, Errno>,
        act: impl FnOnce(&File, &Call<'_>) -> Result<T, i32>,
    ) -> Result<T, Errno> {
        let stopping = || self.stopping.load(Ordering::SeqCst);
        let (non_blocking, direct) = (flags.0 & O_NONBLOCK != 0, flags.0 & O_DIRECT != 0);
        let call = Call { thread: request.pid(), non_blocking, direct, stopping: &stopping };
        let file = file?;
        act(file, &call).map_err(|error| Errno::from_i32(file.as_named(error)))
    }

    /// A call on a file has ended: was it `short`?
    fn after(&self, file: Result<&Arc<File>, Errno>, short: Result<bool, &Errno>) {
        if let (Ok(file), true) = (file, short.unwrap_or_else(|error| error.code() == Errno::EAGAIN.code())) {
            file.exhausted(&self.stopping);
        }
    }
}

/// Whether a file that is opened so is read, and written.
fn wants(flags: OpenFlags) -> (bool, bool) {
    (flags.acc_mode() != OpenAccMode::O_WRONLY, flags.acc_mode() != OpenAccMode::O_RDONLY)
}

/// A file's handle tells `poll` how it was opened.
fn handle(flags: OpenFlags) -> FileHandle {
    FileHandle(flags.0 as u64)
}

fn opened_so(handle: FileHandle) -> OpenFlags {
    OpenFlags(handle.0 as i32)
}

impl Filesystem for Served {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let place = self.files.iter().position(|file| parent == INodeNo::ROOT && OsStr::new(&file.entry.file) == name);
        match place.ok_or(Errno::ENOENT).and_then(|place| self.about(INodeNo(place as u64 + 2))) {
            Ok(about) => reply.entry(&KEPT, &about, Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.about(node) {
            Ok(about) => reply.attr(&KEPT, &about),
            Err(error) => reply.error(error),
        }
    }

    /// A shell's `>` cuts a file to nothing; a channel has no length, and a memory keeps its own.
    #[allow(clippy::too_many_arguments)]
    fn setattr(
        &self,
        request: &Request,
        node: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<std::time::SystemTime>,
        file: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.getattr(request, node, file, reply);
    }

    fn readdir(&self, _: &Request, node: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if node != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let dots = [(1, FileType::Directory, "."), (1, FileType::Directory, "..")];
        let first =
            |(place, file): &(usize, &Arc<File>)| self.files.iter().position(|other| other.entry.file == file.entry.file) == Some(*place);
        let files = self.files.iter().enumerate().filter(first);
        let files = files.map(|(place, file)| (place as u64 + 2, FileType::RegularFile, file.entry.file.as_str()));
        for (place, (node, kind, name)) in dots.into_iter().chain(files).enumerate().skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
            if reply.add(INodeNo(node), place as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, _: &Request, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let (reads, writes) = wants(flags);
        let parts = match self.parts(node, flags) {
            Ok(parts) => parts,
            Err(error) => return reply.error(error),
        };
        for (count, part) in parts.iter().enumerate() {
            let (read, written) =
                if parts.len() == 1 { (reads, writes) } else { (part.entry.behind == Behind::Read, part.entry.behind != Behind::Read) };
            if let Err(error) = part.open(read, written) {
                parts[..count].iter().for_each(|opened| opened.close(&self.stopping));
                return reply.error(Errno::from_i32(error));
            }
        }
        let stream = parts.iter().all(|part| !matches!(part.entry.behind, Behind::Memory(_)));
        // A stream has no position, whose lock Linux would hold while a read waits: a write by the same descriptor goes on beside it.
        let own = if stream { FopenFlags::FOPEN_NONSEEKABLE | FopenFlags::FOPEN_STREAM } else { FopenFlags::empty() };
        reply.opened(handle(flags), FopenFlags::FOPEN_DIRECT_IO | own);
    }

    fn read(
        &self,
        request: &Request,
        node: INodeNo,
        _: FileHandle,
        at: u64,
        size: u32,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let file = self.part(node, Behind::Read);
        let came = self.call(request, flags, file, |file, call| file.read(at, size as usize, call));
        self.after(file, came.as_ref().map(|bytes| bytes.len() < size as usize));
        match came {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        request: &Request,
        node: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let file = self.part(node, Behind::Written);
        let taken = self.call(request, flags, file, |file, call| file.write(at, bytes, call));
        self.after(file, taken.as_ref().map(|taken| *taken < bytes.len()));
        match taken {
            Ok(taken) => reply.written(taken as u32),
            Err(error) => reply.error(error),
        }
    }

    fn poll(&self, _: &Request, node: INodeNo, handle: FileHandle, who: PollNotifier, _: PollEvents, _: PollFlags, reply: ReplyPoll) {
        match self.parts(node, opened_so(handle)) {
            Ok(parts) => reply.poll(parts.into_iter().fold(PollEvents::empty(), |ready, part| ready | part.poll(&who, &self.stopping))),
            Err(error) => reply.error(error),
        }
    }

    fn ioctl(&self, request: &Request, node: INodeNo, _: FileHandle, _: IoctlFlags, command: u32, data: &[u8], _: u32, reply: ReplyIoctl) {
        match self.call(request, OpenFlags(0), self.file(node), |file, _| file.control(command, data, &self.files)) {
            Ok(()) => reply.ioctl(0, &[]),
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, request: &Request, node: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match self.call(request, OpenFlags(0), self.part(node, Behind::Written), |file, call| file.sync(call)) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn release(&self, _: &Request, node: INodeNo, _: FileHandle, flags: OpenFlags, _: Option<LockOwner>, _: bool, reply: ReplyEmpty) {
        self.parts(node, flags).into_iter().flatten().for_each(|file| file.close(&self.stopping));
        reply.ok();
    }
}
