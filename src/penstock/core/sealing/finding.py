"""Where in a sealed file the frame of a position is, and where a sealed file ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.core.base.ports import Buffer
from penstock.core.sealing.frames import FRAME_HEAD_BYTES, HEAD_BYTES, PAGE_BYTES, Walked, frame_at, walk

Pread = Callable[[int, int], Buffer]
"""Bytes of the file on the disk, fewer where it ends."""


class Extent(NamedTuple):
    """How much of a sealed file counts."""

    end: int
    """Of the plain file."""
    physical_end: int
    """Behind the last whole frame, or behind what is damaged: what comes next is written here."""
    is_damaged: bool
    """The end is no row of frames; nothing that follows in the same page would be found."""


def last_page(size: int) -> int:
    return max(size - 1, 0) // PAGE_BYTES


def begin_of(number: int) -> int:
    """Where a page's first frame begins in the file."""
    return number * PAGE_BYTES or HEAD_BYTES


def walk_from(pread: Pread, begin: int, size: int) -> tuple[Buffer, Walked]:
    """The frames from one on to the end of its page, in a file of so many bytes."""
    skipped = begin % PAGE_BYTES
    page = pread(begin, max(min(PAGE_BYTES - skipped, size - begin), 0))
    return page, walk(page, skipped)


def extent_of(pread: Pread, size: int) -> Extent:
    """Look at the last page, and before it as far as there is none with a frame in it.

    What no frame begins with, and a torn append cannot leave, is given a place in the plain file: whoever reads it
    finds zeros there, which no checksum takes for something, and decides what that means.
    """
    number = last_page(size)
    while True:
        begin = begin_of(number)
        _, walked = walk_from(pread, begin, size)
        is_last = number == last_page(size)
        if walked.frames or number == 0:
            end = walked.frames[-1].end if walked.frames else 0
            if is_last and not walked.is_damaged:
                return Extent(end, begin + walked.stop, is_damaged=False)
            hole = begin + walked.stop if walked.is_damaged else (number + 1) * PAGE_BYTES
            return Extent(end + size - hole, size, is_damaged=size > hole)
        if is_last and not walked.is_damaged:
            # Less than a frame was ever written here.
            size = begin
        number -= 1


def page_of(pread: Pread, position: int, end: int, size: int) -> int:
    """The last page that begins at or before a position of the plain file. Frames are about alike all over a file, so
    that the first look is mostly right and the second one says so."""
    found = low = 0
    high = last_page(size)
    guess = position * size // max(end, 1) // PAGE_BYTES
    looks = 0
    while low < high:
        probe = min(max(guess, low + 1), high)
        number, first = _first_position(pread, probe, low)
        if first is None:
            low = probe
        elif first <= position:
            found, low = number, probe
        else:
            high = number - 1
        looks += 1
        is_near = looks == 1 and first is not None
        guess = (low + 1 if low == probe else high) if is_near else (low + high + 1) // 2
    return found


def _first_position(pread: Pread, number: int, low: int) -> tuple[int, int | None]:
    """At which position a page begins, or the nearest one before it that says so; None for none above `low`."""
    while number > low:
        head = memoryview(pread(number * PAGE_BYTES, FRAME_HEAD_BYTES))
        frame = frame_at(head, 0) if len(head) == FRAME_HEAD_BYTES else None
        if frame is not None:
            return number, frame.position
        number -= 1
    return number, None


def room_at(physical_end: int) -> int:
    """How much of the page is left in which the next frame would begin."""
    return PAGE_BYTES - max(physical_end, HEAD_BYTES) % PAGE_BYTES
