// SPDX-License-Identifier: Apache-2.0
//! The one definition of the command line: verbs, options, help, completions and manual pages.
//!
//! This file contains definitions only; see `lib.rs` for what each verb does. Keep the doc comments short and true: they are the help text.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Shown under `--help`; the numbers are those of [`crate::exit`].
const EXIT_CODES: &str = "Exit codes:
  0  done
  1  a transfer or an access failed; the message contains the place and what came before; or `doctor` found a problem, or `mem compare` a
     difference
  2  the command line is wrong
  3  no such device, core, channel, memory, register or interrupt; or a card that needs preparation first (see `doctor`)
  4  nothing moved for as long as --timeout allows
  5  the core could not be built: manifest, ports or compiler
  6  the card has another version of the contract
  7  a file or stream could not be read or written (full disk, closed pipe)
  126, 127  `run`: the program cannot be executed, or is not there; otherwise `run` ends with the program's own code";

/// Moves data between this host and a user core on an FPGA, or in simulation.
#[derive(Debug, Parser)]
#[command(name = "towpath", version, after_help = EXIT_CODES, propagate_version = true, subcommand_required = true)]
pub struct Cli {
    /// The card: `sim:CORE` (a core's name or folder), `vfio:0000:65:00.0` (its address on PCI), `/dev/towpath0` (the kernel module holds
    /// it), `vfio-user:SOCKET` (see `sim`), `serial:NUMBER`, or `#NUMBER` (its place in `list`); without it, what TOWPATH_DEVICE names,
    /// or else the first card in this machine
    #[arg(short, long, global = true, env = "TOWPATH_DEVICE", value_name = "NAME")]
    pub device: Option<String>,

    /// Print one JSON object, on standard output, or beside data on standard error; errors as well, on standard error
    #[arg(long, global = true)]
    pub json: bool,

    /// Log more on standard error; twice for everything. If RUST_LOG is set, it chooses instead, by module:
    /// `RUST_LOG=warn,towpath_userspace=debug`
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// List the devices that can be opened: cards in their order, and cores in simulation
    List,
    /// Show what a device reports about itself: core, channels, clocks, versions
    Info(Info),
    /// Send files or standard input to an H2C channel, as one message
    Send(Send),
    /// Receive messages from a C2H channel into a file or standard output
    Recv(Recv),
    /// Send standard input through the core to standard output, both at once, without waiting for the end of the input
    Pipe(Pipe),
    /// Let a stream of one card send to a stream of another, until an interrupt (Ctrl-C) or a program's end; then tell what became of it
    Connect(Connect),
    /// Serve the card's streams and memories as files in a folder (FUSE), until an interrupt (Ctrl-C) or a program's end
    Files(Files),
    /// Read and write the user core's registers
    Reg(Reg),
    /// Read and write the user core's memories
    Mem(Mem),
    /// Wait for the user core's interrupts, or count them
    Irq(Irq),
    /// Show what part of the link each channel gets, or try a setting: a weight, a rate that may not be exceeded, a traffic class
    ///
    /// What is set ends with this command, for the card is reset when a program leaves it. Set it in the program that moves the data: Rust
    /// device.set_qos, Python card.set_qos.
    Qos(Qos),
    /// Load another core in the place of the user core, on a card with the plug-in `partial`, or show which one it is
    Partial(Partial),
    /// Reset the card, its channels and the user core, or one channel
    Reset(Reset),
    /// Build a core, then run a program with TOWPATH_DEVICE set to its simulation
    Run(Run),
    /// Simulate a card for other programs, which open it as `vfio-user:SOCKET`, or for a guest's kernel, one client at a time; an interrupt
    /// (Ctrl-C) ends it
    Sim(Sim),
    /// Show what a card's link carried: descriptors, completions, interrupts and every other packet, with their times; from the record of a
    /// simulation, or from a card's own log
    Trace(Trace),
    /// Check what a device needs of this machine, and print what corrects it: tools, IOMMU, drivers, permissions, limits, the link
    Doctor(Doctor),
    /// Measure the gateware in simulation: tables of bandwidth and delay against the link's limit
    Bench(Bench),
    /// Start a core: a folder with a manifest and programs, around sources that there are or with a first one
    New(New),
    /// Write the SystemVerilog that joins a core to Towpath's gateware (package tp_user_pkg, module tp_user), for a project of your own;
    /// `./run board` does this and the rest
    Wrapper(Wrapper),
    /// Print a shell's completion script
    Completions(Completions),
    /// Print a manual page, or write all of them
    Man(Man),
}

/// The core that the card must have.
#[derive(Debug, Args)]
pub struct Core {
    /// The core, a folder with a towpath.toml or a shipped one's name: without --device its simulation is opened; with --device the card
    /// must have this core, and its manifest names the registers
    #[arg(short, long, global = true, value_name = "FOLDER_OR_NAME")]
    pub core: Option<String>,
}

#[derive(Debug, Args)]
pub struct Info {
    /// The device, as for --device
    pub name: Option<String>,
    #[command(flatten)]
    pub core: Core,
}

#[derive(Debug, Args)]
pub struct Send {
    /// The H2C channel: its name or number
    pub channel: String,
    /// What to send, in this order; `-` or nothing is standard input
    pub files: Vec<PathBuf>,
    /// The same as FILES (repeat as needed)
    #[arg(short, long, value_name = "FILE", conflicts_with = "files")]
    pub input: Vec<PathBuf>,
    /// Leave the message open: a later `send` continues it
    #[arg(long)]
    pub open_end: bool,
    /// Announce the message's length to the core beforehand (regular files only)
    #[arg(long, conflicts_with = "open_end")]
    pub length: bool,
    #[command(flatten)]
    pub attributes: Attributes,
    /// While sending, receive one message from this C2H channel into this file (`-`: standard output)
    #[arg(long, value_name = "CHANNEL=FILE", value_parser = channel_file)]
    pub reply: Option<(String, PathBuf)>,
    #[command(flatten)]
    pub transfer: Transfer,
}

#[derive(Debug, Args)]
pub struct Recv {
    /// The C2H channel: its name or number
    pub channel: String,
    /// Where to put the bytes; `-` or nothing is standard output
    pub file: Option<PathBuf>,
    /// The same as FILE
    #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
    pub output: Option<PathBuf>,
    /// Stop after this many bytes, even inside a message (K, M, G: powers of 1024)
    #[arg(short = 'n', long, value_parser = size)]
    pub bytes: Option<u64>,
    /// Stop after this many messages, written one after the other [default: 1, or no limit with --bytes]
    #[arg(short, long)]
    pub messages: Option<u64>,
    #[command(flatten)]
    pub transfer: Transfer,
}

#[derive(Debug, Args)]
pub struct Pipe {
    /// The H2C channel, by name or number; without it, the only one
    #[arg(long, value_name = "CHANNEL")]
    pub to: Option<String>,
    /// The C2H channel, by name or number; without it, the only one
    #[arg(long, value_name = "CHANNEL")]
    pub from: Option<String>,
    /// Where a message of the input ends: `input` (with the input), `line` (with each line), or after a number of bytes (K, M, G: powers of
    /// 1024)
    #[arg(long, value_name = "WHERE", default_value = "input", value_parser = end_of_message)]
    pub end: End,
    #[command(flatten)]
    pub attributes: Attributes,
    /// Stop after this many bytes of output, even inside a message (K, M, G: powers of 1024)
    #[arg(short = 'n', long, value_parser = size)]
    pub bytes: Option<u64>,
    /// Stop after this many messages of output [default: as many as the input had]
    #[arg(short, long)]
    pub messages: Option<u64>,
    #[command(flatten)]
    pub transfer: Transfer,
}

#[derive(Debug, Args)]
pub struct Connect {
    /// The C2H channel that sends: its card, as for --device, and behind the last colon the channel, by name or number
    #[arg(value_name = "CARD:CHANNEL", value_parser = card_channel)]
    pub from: (String, String),
    /// The H2C channel of another card that gets it
    #[arg(value_name = "CARD:CHANNEL", value_parser = card_channel)]
    pub to: (String, String),
    /// Bytes of a slot, a power of two from 128 to 4096, a quarter of the inbox at most [default: 1024, or that quarter]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub slot: Option<u64>,
    /// Once they are paired, write a register of the core that sends, by name or byte offset (repeat as needed)
    #[arg(short, long = "write", value_name = "REGISTER=VALUE", value_parser = register_value)]
    pub writes: Vec<(String, u32)>,
    /// At the end, wait so long for what is on its way, in the card's time (5s, 20ms, 100us; 0: as long as it takes)
    #[arg(short, long, default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
    /// Stay paired until this program ends, and end with its exit code
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// The names of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Names {
    /// The channels' own, as the kernel module has them
    Towpath,
    /// xillybus_NAME
    Xillybus,
    /// vcl_0_rx_N for the Nth H2C stream, vcl_0_tx_N for the Nth C2H stream
    Vercolib,
}

#[derive(Debug, Args)]
pub struct Files {
    /// The folder, empty and there already
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    #[command(flatten)]
    pub core: Core,
    /// What the files are called
    #[arg(long, value_enum, default_value = "towpath")]
    pub names: Names,
    /// Write a register of the core first, by name or byte offset (repeat as needed)
    #[arg(short, long = "write", value_name = "REGISTER=VALUE", value_parser = register_value)]
    pub writes: Vec<(String, u32)>,
    /// Serve them until this program ends, and end with its exit code
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Where a message of `pipe` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Input,
    Line,
    Bytes(u64),
}

/// A message's attributes for the core.
#[derive(Debug, Args)]
pub struct Attributes {
    /// The message's offset
    #[arg(long, value_parser = number64)]
    pub offset: Option<u64>,
    /// The message's user word
    #[arg(long, value_parser = number32)]
    pub user: Option<u32>,
}

#[derive(Debug, Args)]
pub struct Transfer {
    #[command(flatten)]
    pub core: Core,
    /// Give up when nothing has moved for this time, in the card's time (5s, 20ms, 100us; 0: never)
    #[arg(short, long, default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
    /// Write a register of the core first, by name or byte offset (repeat as needed)
    #[arg(short, long = "write", value_name = "REGISTER=VALUE", value_parser = register_value)]
    pub writes: Vec<(String, u32)>,
    /// How to wait for the card: adaptive, early (woken before the end), poll or interrupt
    #[arg(long, value_name = "HOW", default_value = "adaptive", hide_possible_values = true)]
    pub wait: Wait,
    /// Bytes passed to the card at once (K, M: powers of 1024)
    #[arg(long, default_value = "1M", value_parser = size)]
    pub block: u64,
    /// No progress bar and no summary
    #[arg(short, long)]
    pub quiet: bool,
}

/// The names of [`towpath::Notify`].
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Wait {
    Adaptive,
    Early,
    Poll,
    Interrupt,
}

#[derive(Debug, Args)]
pub struct Reg {
    #[command(flatten)]
    pub core: Core,
    #[command(subcommand)]
    pub access: Access,
}

#[derive(Debug, Subcommand)]
pub enum Access {
    /// Read registers
    Read {
        /// Name or byte offset (0x10)
        #[arg(required = true)]
        registers: Vec<String>,
    },
    /// Write registers, in this order
    Write {
        /// The register, by name or byte offset (0x10), and 32 bits, decimal or 0x; or for one register, two words: REGISTER VALUE
        #[arg(required = true, value_name = "REGISTER=VALUE")]
        registers: Vec<String>,
    },
    /// Read all named registers, or a range of offsets
    Dump {
        /// First and last byte offset
        #[arg(long, num_args = 2, value_names = ["FIRST", "LAST"], value_parser = number32)]
        range: Option<Vec<u32>>,
    },
}

#[derive(Debug, Args)]
pub struct Mem {
    #[command(flatten)]
    pub core: Core,
    #[command(subcommand)]
    pub work: Work,
}

#[derive(Debug, Subcommand)]
pub enum Work {
    /// Copy bytes of a memory into a file or to standard output
    Read {
        #[command(flatten)]
        place: Bytes,
        /// Where to put the bytes; `-` or nothing is standard output
        file: Option<PathBuf>,
        /// By loads through the memory's window, not by DMA
        #[arg(long)]
        window: bool,
        #[command(flatten)]
        wait: Patience,
    },
    /// Copy a file or standard input into a memory, up to its end
    Write {
        #[command(flatten)]
        place: From,
        /// What to write; `-` or nothing is standard input
        file: Option<PathBuf>,
        /// By stores through the memory's window, not by DMA
        #[arg(long)]
        window: bool,
        #[command(flatten)]
        wait: Patience,
    },
    /// Show bytes of a memory in hexadecimal and as text
    Dump {
        #[command(flatten)]
        place: Bytes,
        #[command(flatten)]
        wait: Patience,
    },
    /// Write the same bytes over and over
    Fill {
        #[command(flatten)]
        place: Bytes,
        /// The bytes, in hexadecimal: 00, or deadbeef for four of them
        #[arg(value_parser = pattern)]
        pattern: Pattern,
        #[command(flatten)]
        wait: Patience,
    },
    /// Compare a file or standard input with a memory; tells the first byte that differs, and exits with 1
    Compare {
        #[command(flatten)]
        place: From,
        /// What to compare with; `-` or nothing is standard input
        file: Option<PathBuf>,
        #[command(flatten)]
        wait: Patience,
    },
}

/// A place in a memory.
#[derive(Debug, Args)]
pub struct From {
    /// The memory: its name, or the number of one of its channels
    pub memory: String,
    /// The first byte (decimal, 0x for hexadecimal, or K, M, G: powers of 1024)
    #[arg(value_parser = address)]
    pub address: u64,
}

/// A place in a memory, with its length.
#[derive(Debug, Args)]
pub struct Bytes {
    #[command(flatten)]
    pub from: From,
    /// How many bytes, as for ADDRESS
    #[arg(value_parser = address)]
    pub length: u64,
}

#[derive(Debug, Args)]
pub struct Patience {
    /// Write a register of the core first, by name or byte offset (repeat as needed)
    #[arg(short, long = "write", value_name = "REGISTER=VALUE", value_parser = register_value)]
    pub writes: Vec<(String, u32)>,
    /// Give up when nothing has moved for this time, in the card's time (5s, 20ms, 100us; 0: never)
    #[arg(short, long, default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
}

/// Bytes that `fill` repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(pub Vec<u8>);

#[derive(Debug, Args)]
pub struct Irq {
    #[command(flatten)]
    pub core: Core,
    #[command(subcommand)]
    pub look: Look,
}

#[derive(Debug, Subcommand)]
pub enum Look {
    /// Wait until an interrupt has fired
    Wait {
        /// Which one, from 0
        number: u16,
        /// Write a register of the core first, by name or byte offset (repeat as needed)
        #[arg(short, long = "write", value_name = "REGISTER=VALUE", value_parser = register_value)]
        writes: Vec<(String, u32)>,
        /// Give up after this time, in the card's time (0: never)
        #[arg(short, long, default_value = "10s", value_parser = duration)]
        timeout: Duration,
    },
    /// Count how often interrupts have fired since the card was switched on or its function was reset
    Count {
        /// Which one, from 0; all without it
        number: Option<u16>,
    },
}

#[derive(Debug, Args)]
pub struct Qos {
    /// The channel: its name or number; without it, all are shown
    pub channel: Option<String>,
    /// Its part while others of its direction want the link, too: twice the weight, twice the bytes; equal weights are plain turns
    #[arg(short, long, value_parser = clap::value_parser!(u8).range(1..), requires = "channel")]
    pub weight: Option<u8>,
    /// Bytes a second that it may move (K, M, G: powers of 1024); 0: no limit
    #[arg(short, long, value_name = "BYTES", value_parser = bytes, requires = "channel")]
    pub rate: Option<u64>,
    /// The traffic class of its packets, 0 to 7: change it while nothing of the channel is in flight
    #[arg(long, value_parser = clap::value_parser!(u8).range(..=7), requires = "channel")]
    pub class: Option<u8>,
    #[command(flatten)]
    pub core: Core,
}

#[derive(Debug, Args)]
pub struct Partial {
    #[command(flatten)]
    pub core: Core,
    #[command(subcommand)]
    pub work: Region,
}

#[derive(Debug, Subcommand)]
pub enum Region {
    /// Load a core from a file: a raw bit file (.bin), or one of `partial image` for a simulated card
    Load {
        /// The file
        file: PathBuf,
        /// Also while a channel is within a message: cut it, and reset the channels that no other program has open
        #[arg(long)]
        cut: bool,
        /// No progress bar
        #[arg(short, long)]
        quiet: bool,
    },
    /// Show which core the region holds, and what became of the last load
    Status,
    /// Write a file for a simulated card, which has no bit file
    Image {
        /// The core's name: one of those that the card's manifest lists, or its own
        name: String,
        /// Where to put the file; `-` or nothing is standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Dwords that stand for the bits
        #[arg(long, value_name = "NUMBER", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(..=1 << 24))]
        words: u32,
    },
}

#[derive(Debug, Args)]
pub struct Reset {
    #[command(flatten)]
    pub core: Core,
    /// Only this channel, by name or number, or this memory
    pub channel: Option<String>,
}

/// The files that the simulation writes.
#[derive(Debug, Default, Args)]
pub struct Records {
    /// Write waveforms to this file
    #[arg(long, value_name = "FILE.fst")]
    pub trace: Option<PathBuf>,
    /// Begin the waveforms when this happens first; otherwise, with the card
    #[arg(long, value_name = "EVENT", requires = "trace")]
    pub trace_on: Option<TraceOn>,
    /// Begin the waveforms so much simulated time after that, such as 20us; the times are those of `towpath trace`
    #[arg(long, value_name = "TIME", requires = "trace", value_parser = duration)]
    pub trace_from: Option<Duration>,
    /// End the waveforms after so much simulated time
    #[arg(long, value_name = "TIME", requires = "trace", value_parser = duration)]
    pub trace_for: Option<Duration>,
    /// Write all packets on the link to this file, for `towpath trace`
    #[arg(long, value_name = "FILE")]
    pub packets: Option<PathBuf>,
}

/// What waveforms may wait for; the numbers of the setting `trace_on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TraceOn {
    /// The first interrupt
    Interrupt = 1,
    /// The first fault on the link
    Fault = 2,
    /// The first write of a user register
    Register = 3,
}

#[derive(Debug, Args)]
pub struct Trace {
    /// A file that a simulation wrote with --packets FILE, or the setting packets=FILE; without it, the device's log (plug-in tlplog)
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub core: Core,
    /// First, let the log go on
    #[arg(long, conflicts_with_all = ["file", "stop"])]
    pub start: bool,
    /// First, stop the log
    #[arg(long, conflicts_with = "file")]
    pub stop: bool,
    /// Afterwards, empty the log
    #[arg(long, conflicts_with = "file")]
    pub clear: bool,
    /// Only records of this kind (repeat as needed)
    #[arg(long, value_name = "KIND")]
    pub only: Vec<crate::trace::Kind>,
    /// Only records of this channel, by name or number
    #[arg(long, value_name = "CHANNEL")]
    pub channel: Option<String>,
    /// Also each read of the discovery table, which otherwise are one line together
    #[arg(long)]
    pub discovery: bool,
    /// Write a page for a browser to this file: everything on one axis of time, and each descriptor's packets
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "channel", "discovery"])]
    pub html: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Run {
    /// The core: a folder with a towpath.toml, or the name of one that ships with Towpath
    #[arg(short, long, value_name = "FOLDER_OR_NAME")]
    pub core: String,
    #[command(flatten)]
    pub records: Records,
    /// A setting of the simulated device, such as latency=1000 (repeat as needed)
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub settings: Vec<(String, String)>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct New {
    /// The folder, which may be there, without a towpath.toml
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// A source of a core that there is, in the order of compilation; may be repeated. Its ports tell what the manifest says
    #[arg(long = "from", value_name = "SOURCE", requires = "top")]
    pub sources: Vec<PathBuf>,
    /// The core's top module or entity
    #[arg(long, value_name = "NAME", requires = "sources")]
    pub top: Option<String>,
    /// A parameter or generic of the top; may be repeated
    #[arg(long = "parameter", value_name = "NAME=VALUE", requires = "sources", value_parser = assignment)]
    pub parameters: Vec<(String, String)>,
    /// What names the core's registers, where nothing beside the sources does: the driver's header of high-level synthesis, or IP-XACT
    #[arg(long, value_name = "FILE", requires = "sources")]
    pub registers: Option<PathBuf>,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a name, an equals sign and a value")?;
    Ok((name.trim().to_string(), value.trim().to_string()))
}

#[derive(Debug, Args)]
pub struct Wrapper {
    /// The core: a folder with a towpath.toml, or the name of one that ships with Towpath
    #[arg(value_name = "FOLDER_OR_NAME")]
    pub core: String,
    /// Data width in bits, instead of the manifest's
    #[arg(short, long, value_name = "BITS")]
    pub width: Option<u32>,
    /// Frequency of Towpath's own clock on the board, instead of the manifest's [gateware] clock_mhz
    #[arg(long, value_name = "MHZ", value_parser = megahertz)]
    pub core_clock: Option<f64>,
    /// The card's serial number, by which `serial:NUMBER` finds it
    #[arg(short, long, value_name = "NUMBER", default_value_t = 0)]
    pub serial: u64,
    /// Where to write it; without it, standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write each core of a region (plug-in `partial`) into this folder instead: NUMBER/tp_region.sv, beside an empty tp_region.sv
    #[arg(long, value_name = "DIR", requires = "output")]
    pub regions: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Sim {
    /// The core: a folder with a towpath.toml, or the name of one that ships with Towpath
    #[arg(value_name = "FOLDER_OR_NAME")]
    pub core: String,
    #[command(flatten)]
    pub place: Place,
    /// Inject the faults that standard input names, one a line, such as `drop 3`, `link` or `down`; standard output repeats each when it is
    /// under way
    #[arg(long)]
    pub faults: bool,
    #[command(flatten)]
    pub records: Records,
    /// A setting of the simulated device, such as latency=1000 (repeat as needed)
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub settings: Vec<(String, String)>,
}

/// Where a simulated card is, and which clients it serves.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Place {
    /// Where to listen for programs: a UNIX socket, which is created, and removed at the end
    #[arg(short, long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Where to listen for a kernel that runs as a program, which finds the card on its PCI bus: User-Mode Linux, with
    /// virtio_uml.device=PATH:ID
    #[arg(long, value_name = "PATH")]
    pub vhost_user: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// The device, as for --device; without it, the simulator and every card in this machine
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct Bench {
    /// Only the rows that the tables of targets name: minutes instead of tens of minutes
    #[arg(long)]
    pub quick: bool,
    /// Only tables with this text in their title
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Measure at the pins of this endpoint's hard block (a folder in gateware/endpoint), and only the widths that it has
    #[arg(long, value_name = "NAME", conflicts_with = "page")]
    pub endpoint: Option<String>,
    /// Draw bandwidth against transfer size: SVG or PNG, by the suffix of the name (repeat as needed; not with --quick)
    #[arg(long, value_name = "FILE", conflicts_with = "quick")]
    pub plot: Vec<PathBuf>,
    /// Write docs/performance.md, beside it the plot as SVG and PNG, and in reference/ beside it the page with all tables
    #[arg(long, value_name = "FILE.md", conflicts_with_all = ["quick", "only"])]
    pub page: Option<PathBuf>,
    /// With --json: write the list of rows to this file, and the tables to standard output as without it
    #[arg(value_name = "FILE", requires = "json")]
    pub file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell that reads the script
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct Man {
    /// The verb, and the verb under it, whose page to print; without one, the page of towpath itself
    pub verb: Vec<String>,
    /// Write the pages of all verbs into this folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "verb")]
    pub dir: Option<PathBuf>,
}

/// `5s`, `20ms`, `100us`, `7ns` or seconds without a unit.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        other => return Err(format!("unknown unit {other:?}: write s, ms, us or ns")),
    };
    let value: f64 = digits.trim().parse().map_err(|_| format!("{digits:?} is not a number: write for example 5s, 20ms or 100us"))?;
    Duration::try_from_secs_f64(value * scale).map_err(|e| format!("not a time to wait for: {e}"))
}

/// `1000`, `64K`, `1M`, `1MiB`: at least one byte.
pub fn size(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        0 => Err("at least one byte".into()),
        bytes => Ok(bytes),
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        other => return Err(format!("unknown unit {other:?}: write K, M or G (powers of 1024)")),
    };
    let value: u64 = digits.parse().map_err(|_| format!("{digits:?} is not a whole number"))?;
    value.checked_mul(1 << shift).ok_or_else(|| "too large".into())
}

/// As [`number64`], or as [`size`] from 0.
fn address(text: &str) -> Result<u64, String> {
    if !text.starts_with("0x") && !text.starts_with("0X") && text.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return bytes(text);
    }
    number64(text)
}

fn pattern(text: &str) -> Result<Pattern, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let pairs = digits.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some((char::from(*high).to_digit(16)? << 4 | char::from(*low).to_digit(16)?) as u8),
        _ => None,
    });
    match pairs.collect() {
        Some(bytes) if !digits.is_empty() => Ok(Pattern(bytes)),
        _ => Err("write two hexadecimal digits for each byte: 00, or deadbeef".into()),
    }
}

/// Decimal, or hexadecimal behind `0x`.
pub fn number64(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(&digits.replace('_', ""), 16),
        None => text.replace('_', "").parse(),
    };
    parsed.map_err(|_| format!("{text:?} is not a number: write it in decimal, or in hexadecimal behind 0x"))
}

/// As [`number64`], up to 32 bits.
pub fn number32(text: &str) -> Result<u32, String> {
    u32::try_from(number64(text)?).map_err(|_| format!("{text} does not fit in 32 bits"))
}

fn end_of_message(text: &str) -> Result<End, String> {
    match text {
        "input" => Ok(End::Input),
        "line" => Ok(End::Line),
        _ => size(text).map(End::Bytes).map_err(|why| format!("write input, line, or a number of bytes: {why}")),
    }
}

fn megahertz(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (1.0..=1000.0).contains(&value) => Ok(value),
        _ => Err("write a number of MHz from 1 to 1000, such as 250 or 62.5".into()),
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err("write KEY=VALUE".into()),
    }
}

pub fn register_value(text: &str) -> Result<(String, u32), String> {
    match text.split_once('=') {
        Some((register, value)) if !register.is_empty() => Ok((register.into(), number32(value)?)),
        _ => Err("write REGISTER=VALUE".into()),
    }
}

fn card_channel(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once(':') {
        Some((card, channel)) if !card.is_empty() && !channel.is_empty() => Ok((card.into(), channel.into())),
        _ => Err("write CARD:CHANNEL, such as vfio:0000:65:00.0:out".into()),
    }
}

fn channel_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((channel, file)) if !channel.is_empty() && !file.is_empty() => Ok((channel.into(), file.into())),
        _ => Err("write CHANNEL=FILE, or CHANNEL=- for standard output".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times() {
        assert_eq!(duration("5"), Ok(Duration::from_secs(5)));
        assert_eq!(duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(duration("1.5us"), Ok(Duration::from_nanos(1500)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        for wrong in ["", "x", "5m", "-1s", "1e40s", "nan"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size("1"), Ok(1));
        assert_eq!(size("64K"), Ok(65536));
        assert_eq!(size("1MiB"), Ok(1 << 20));
        for wrong in ["", "0", "K", "-1", "1.5M", "99999999999G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ends_of_messages() {
        assert_eq!(end_of_message("input"), Ok(End::Input));
        assert_eq!(end_of_message("line"), Ok(End::Line));
        assert_eq!(end_of_message("4K"), Ok(End::Bytes(4096)));
        for wrong in ["", "0", "page"] {
            assert!(end_of_message(wrong).is_err_and(|why| why.contains("input, line")), "{wrong}");
        }
    }

    #[test]
    fn cards_and_channels() {
        assert_eq!(card_channel("sim:peer?world=lab:out"), Ok(("sim:peer?world=lab".into(), "out".into())));
        assert_eq!(card_channel("vfio:0000:65:00.0:1"), Ok(("vfio:0000:65:00.0".into(), "1".into())));
        for wrong in ["", "out", ":out", "#1:"] {
            assert!(card_channel(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(number32("0x10"), Ok(16));
        assert_eq!(number32("0xdead_beef"), Ok(0xdead_beef));
        assert_eq!(number64("18446744073709551615"), Ok(u64::MAX));
        for wrong in ["", "0x", "ten", "0x1_0000_0000", "4294967296"] {
            assert!(number32(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn places_in_memories() {
        assert_eq!(address("0"), Ok(0));
        assert_eq!(address("0xff_b0"), Ok(0xffb0));
        assert_eq!(address("0XFF"), Ok(255));
        assert_eq!(address("64K"), Ok(65536));
        assert_eq!(address("0K"), Ok(0));
        assert_eq!(address("1MiB"), Ok(1 << 20));
        assert_eq!(pattern("00"), Ok(Pattern(vec![0])));
        assert_eq!(pattern("0xDEADbeef"), Ok(Pattern(vec![0xde, 0xad, 0xbe, 0xef])));
        for wrong in ["", "x", "-1", "1.5K", "0x"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "0", "0x", "xy", "012", "é"] {
            assert!(pattern(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn run_keeps_the_programs_own_options() {
        let cli = Cli::try_parse_from(["towpath", "run", "--core", "sobel", "--set", "a=b=c", "--", "prog", "--json", "-x"]).unwrap();
        let Verb::Run(run) = cli.verb else { panic!("not run") };
        assert!(!cli.json);
        assert_eq!(run.program, ["prog", "--json", "-x"]);
        assert_eq!(run.settings, [("a".to_string(), "b=c".to_string())]);
    }
}
