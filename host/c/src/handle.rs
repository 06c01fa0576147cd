// SPDX-License-Identifier: Apache-2.0
//! Handles: what C holds of the library's objects. A handle has the shape of a pointer and points to nothing: it is a place in a table, the
//! place's generation, and the kind of the object. Nothing is read through it, so a handle that was released, is of another kind, or was
//! never made is an error, whatever has become of the memory.
//!
//! Each kind has one table for the whole process. A call counts itself in at its object's place and out at its end; the last call that uses
//! a closed object drops it. No lock is taken: a child of fork(2) finds the table whole, whatever its parent's threads did then.

use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use towpath_system::fork::Origin;

/// The highest byte of each handle: no address of a program begins with it.
const MARK: u64 = 0x54;
const MARK_LSB: u32 = 56;
const KIND_LSB: u32 = 53;
const KIND_MASK: u64 = 7;
const PLACE_LSB: u32 = 32;
const PLACE_MASK: u64 = (1 << (KIND_LSB - PLACE_LSB)) - 1;

/// The lower half of a slot's word: what the slot is doing, and how many calls use it. Zero: it is vacant. The upper half is its
/// generation.
const OPEN: u64 = 1 << 31;
const CLOSED: u64 = 1 << 30;
const USERS: u64 = CLOSED - 1;
const GENERATION_LSB: u32 = 32;

/// Slots in the first chunk of a table; each further one has twice as many.
const FIRST_CHUNK: usize = 64;
const CHUNKS: usize = 15;
const _: () = assert!(FIRST_CHUNK * ((1 << CHUNKS) - 1) <= PLACE_MASK as usize && size_of::<usize>() == 8);

/// The kinds of objects, by the names that texts use.
const KINDS: [&str; 5] = ["device", "channel", "buffer", "memory", "pair"];

/// A type that C sees as a pointer to something unknown.
pub(crate) trait Handle: Sized + 'static {
    /// What it stands for.
    type State: Send + Sync + 'static;
    /// Which of [`KINDS`].
    const KIND: usize;
    const NAME: &'static str = KINDS[Self::KIND];
    fn table() -> &'static Table<Self::State>;
}

/// Declares the type that C sees, and what it stands for.
macro_rules! handle {
    ($type:ident, $kind:literal, $state:ty) => {
        impl crate::handle::Handle for $type {
            type State = $state;
            const KIND: usize = $kind;
            fn table() -> &'static crate::handle::Table<$state> {
                static TABLE: crate::handle::Table<$state> = crate::handle::Table::new();
                &TABLE
            }
        }
    };
}
pub(crate) use handle;

/// Make a handle, C's to close. `None`: there is no memory, or no place, for one more.
pub(crate) fn make<T: Handle>(state: T::State) -> Option<*mut T> {
    let (place, generation) = T::table().insert(state)?;
    let value = MARK << MARK_LSB | (T::KIND as u64) << KIND_LSB | (place as u64) << PLACE_LSB | u64::from(generation);
    Some(std::ptr::without_provenance_mut(value as usize))
}

/// What a handle stands for, for one call; or why it stands for nothing.
pub(crate) fn find<T: Handle>(handle: *const T) -> Result<Guard<T::State>, String> {
    let name = T::NAME;
    let never_made = || format!("this is no {name}: no function of the library made such a handle");
    let value = handle.addr() as u64;
    let kind = (value >> KIND_LSB & KIND_MASK) as usize;
    match KINDS.get(kind).filter(|_| value >> MARK_LSB == MARK) {
        None => return Err(never_made()),
        Some(other) if kind != T::KIND => return Err(format!("this is no {name}, but a {other}")),
        Some(_) => {}
    }
    let (place, generation) = ((value >> PLACE_LSB & PLACE_MASK) as usize, value as u32);
    T::table().enter(place, generation).map_err(|missing| match missing {
        Missing::Closed => closed(name),
        Missing::NeverMade => never_made(),
    })
}

/// Why a handle stands for nothing any more.
pub(crate) fn closed(name: &str) -> String {
    format!("this {name} was closed before")
}

enum Missing {
    Closed,
    NeverMade,
}

struct Slot<S> {
    word: AtomicU64,
    /// The object, and the process in which it was made. Initialised while the slot is open or closed, not while it is vacant.
    held: UnsafeCell<MaybeUninit<(Origin, S)>>,
}

// SAFETY: `held` is written and moved out of only by the call that has the slot exclusively, according to its word; other calls read it.
unsafe impl<S: Send + Sync> Sync for Slot<S> {}

impl<S> Slot<S> {
    fn vacant() -> Slot<S> {
        Slot { word: AtomicU64::new(0), held: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Change the word if the function accepts it: the word before, if it was changed.
    fn change(&self, how: impl Fn(u64) -> Option<u64>) -> Result<u64, u64> {
        self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, how)
    }

    /// Put an object into a vacant slot: the slot's generation; or the object back. A slot whose generations have all been used stays
    /// vacant.
    fn claim(&self, state: S) -> Result<u32, S> {
        let vacant = |word: u64| (word as u32 == 0 && word >> GENERATION_LSB != u64::from(u32::MAX)).then_some(word | CLOSED);
        let Ok(word) = self.change(vacant) else { return Err(state) };
        // SAFETY: the slot was vacant, and is this call's alone until it is open.
        unsafe { (*self.held.get()).write((Origin::here(), state)) };
        self.word.store(word | OPEN, Ordering::Release);
        Ok((word >> GENERATION_LSB) as u32)
    }
}

/// All objects of one kind.
pub(crate) struct Table<S: Send + Sync + 'static> {
    /// Each an array of slots, or null. Never freed.
    chunks: [AtomicPtr<Slot<S>>; CHUNKS],
}

impl<S: Send + Sync> Table<S> {
    pub const fn new() -> Table<S> {
        Table { chunks: [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS] }
    }

    fn chunk(&self, number: usize) -> &'static [Slot<S>] {
        let first = self.chunks[number].load(Ordering::Acquire);
        if first.is_null() {
            return &[];
        }
        // SAFETY: made by `grow` with this number of slots, and never freed.
        unsafe { std::slice::from_raw_parts(first, FIRST_CHUNK << number) }
    }

    /// Add a chunk, unless another thread just did. `None`: no memory.
    fn grow(&self, number: usize) -> Option<()> {
        let mut slots = Vec::new();
        slots.try_reserve_exact(FIRST_CHUNK << number).ok()?;
        slots.resize_with(FIRST_CHUNK << number, Slot::vacant);
        let slots: *mut [Slot<S>] = Box::into_raw(slots.into_boxed_slice());
        let (null, order) = (std::ptr::null_mut(), Ordering::AcqRel);
        if self.chunks[number].compare_exchange(null, slots.cast(), order, Ordering::Acquire).is_err() {
            // SAFETY: made above, and nothing else refers to it.
            drop(unsafe { Box::from_raw(slots) });
        }
        Some(())
    }

    /// Find a place for an object: which, and its generation. `None`: there is none.
    fn insert(&self, mut state: S) -> Option<(usize, u32)> {
        let mut first = 0;
        for number in 0..CHUNKS {
            if self.chunk(number).is_empty() {
                self.grow(number)?;
            }
            for (within, slot) in self.chunk(number).iter().enumerate() {
                match slot.claim(state) {
                    Ok(generation) => return Some((first + within, generation)),
                    Err(back) => state = back,
                }
            }
            first += FIRST_CHUNK << number;
        }
        None
    }

    /// Count a call in.
    #[inline]
    fn enter(&self, place: usize, generation: u32) -> Result<Guard<S>, Missing> {
        let number = (place / FIRST_CHUNK + 1).ilog2() as usize;
        if number >= CHUNKS {
            return Err(Missing::NeverMade);
        }
        let within = place + FIRST_CHUNK - (FIRST_CHUNK << number);
        let slot = self.chunk(number).get(within).ok_or(Missing::NeverMade)?;
        let generation = u64::from(generation);
        let enter = |word: u64| (word >> GENERATION_LSB == generation && word & OPEN != 0).then_some(word + 1);
        match slot.change(enter) {
            Ok(_) => Ok(Guard { slot }),
            Err(word) if word >> GENERATION_LSB > generation => Err(Missing::Closed),
            Err(word) if word >> GENERATION_LSB == generation && word & CLOSED != 0 => Err(Missing::Closed),
            Err(_) => Err(Missing::NeverMade),
        }
    }
}

/// One call's use of an object, which lives at least as long.
pub(crate) struct Guard<S: Send + Sync + 'static> {
    slot: &'static Slot<S>,
}

impl<S: Send + Sync> Guard<S> {
    fn held(&self) -> &(Origin, S) {
        // SAFETY: initialised, and not moved out of before the last call has left.
        unsafe { (*self.slot.held.get()).assume_init_ref() }
    }

    /// Was the object made in this process, and not in its parent? In a child of fork(2) calls of the parent's threads may be counted
    /// without an end.
    pub fn is_here(&self) -> bool {
        self.held().0.is_here()
    }

    /// Calls that use the object, but for this one.
    pub fn others(&self) -> u64 {
        (self.slot.word.load(Ordering::Acquire) & USERS) - 1
    }

    /// No call begins any more. False: another call closed it before.
    pub fn close(&self) -> bool {
        self.slot.change(|word| (word & OPEN != 0).then_some(word ^ OPEN ^ CLOSED)).is_ok()
    }

    /// As [`Guard::close`], but only if no other call uses the object now.
    pub fn close_alone(&self) -> bool {
        self.slot.change(|word| (word & (OPEN | CLOSED | USERS) == OPEN + 1).then_some(word ^ OPEN ^ CLOSED)).is_ok()
    }

    /// Undo [`Guard::close_alone`].
    pub fn reopen(&self) {
        self.slot.word.fetch_xor(OPEN ^ CLOSED, Ordering::AcqRel);
    }

    /// Count the call out. The object, if it was closed and this is the last call that uses it.
    pub fn take(self) -> Option<S> {
        ManuallyDrop::new(self).leave()
    }

    fn leave(&mut self) -> Option<S> {
        let word = self.slot.word.fetch_sub(1, Ordering::AcqRel);
        if word & CLOSED == 0 || word & USERS != 1 {
            return None;
        }
        // SAFETY: closed, so that no call enters, and this was the last: the slot is this call's alone until it is vacant.
        let (_, state) = unsafe { (*self.slot.held.get()).assume_init_read() };
        self.slot.word.store(((word >> GENERATION_LSB) + 1) << GENERATION_LSB, Ordering::Release);
        Some(state)
    }
}

impl<S: Send + Sync> Deref for Guard<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.held().1
    }
}

impl<S: Send + Sync> Drop for Guard<S> {
    fn drop(&mut self) {
        drop(self.leave());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, Mutex};

    type Word = Arc<AtomicUsize>;
    type Words = Table<Word>;

    /// A table of the test's own. It stays reachable, as those of the library are: so it is no leak.
    fn table() -> &'static Words {
        static ALL: Mutex<Vec<&Words>> = Mutex::new(Vec::new());
        let table = Box::leak(Box::new(Table::new()));
        ALL.lock().unwrap().push(table);
        table
    }

    fn is_closed(table: &Words, (place, generation): (usize, u32)) -> bool {
        matches!(table.enter(place, generation), Err(Missing::Closed))
    }

    #[test]
    fn a_place_is_used_again_and_an_old_handle_is_not_taken_for_the_new_one() {
        let table = table();
        let first = table.insert(Word::default()).unwrap();
        assert!(matches!(table.enter(first.0, first.1 + 1), Err(Missing::NeverMade)));
        assert!(matches!(table.enter(first.0 + 1, 0), Err(Missing::NeverMade)));
        assert!(matches!(table.enter(PLACE_MASK as usize, 0), Err(Missing::NeverMade)));
        let guard = table.enter(first.0, first.1).ok().unwrap();
        assert!(guard.close() && !guard.close() && is_closed(table, first));
        assert!(guard.take().is_some() && is_closed(table, first));
        let second = table.insert(Word::default()).unwrap();
        assert_eq!(second, (first.0, first.1 + 1));
        assert!(is_closed(table, first) && table.enter(second.0, second.1).is_ok());
    }

    #[test]
    fn an_object_lives_until_the_last_call_has_left() {
        let (table, word) = (table(), Word::default());
        let (place, generation) = table.insert(word.clone()).unwrap();
        let (closing, using) = (table.enter(place, generation).ok().unwrap(), table.enter(place, generation).ok().unwrap());
        assert!(!closing.close_alone() && closing.others() == 1 && closing.close());
        assert!(closing.take().is_none() && Arc::strong_count(&word) == 2);
        drop(using);
        assert_eq!(Arc::strong_count(&word), 1);
    }

    #[test]
    fn what_was_closed_alone_can_be_opened_again() {
        let table = table();
        let (place, generation) = table.insert(Word::default()).unwrap();
        let guard = table.enter(place, generation).ok().unwrap();
        assert!(guard.close_alone() && is_closed(table, (place, generation)));
        guard.reopen();
        assert!(table.enter(place, generation).is_ok() && guard.take().is_none());
    }

    #[test]
    fn a_table_grows_and_keeps_each_object_apart() {
        let table = table();
        let count = if cfg!(miri) { 100 } else { 1000 };
        let places: Vec<_> = (0..count).map(|n| table.insert(Arc::new(AtomicUsize::new(n))).unwrap()).collect();
        for (n, (place, generation)) in places.into_iter().enumerate() {
            assert_eq!(table.enter(place, generation).ok().unwrap().load(Ordering::Relaxed), n);
        }
    }

    #[test]
    fn threads_that_use_an_object_while_it_is_closed_find_it_whole_or_closed() {
        let table = table();
        for _ in 0..if cfg!(miri) { 10 } else { 200 } {
            let word = Word::default();
            let (place, generation) = table.insert(word.clone()).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        while let Ok(guard) = table.enter(place, generation) {
                            guard.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
                std::thread::yield_now();
                assert!(table.enter(place, generation).ok().unwrap().close());
            });
            assert!(is_closed(table, (place, generation)) && Arc::strong_count(&word) == 1);
        }
    }
}
