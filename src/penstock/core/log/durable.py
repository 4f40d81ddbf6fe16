"""Syncs whose failure cannot be mistaken for another: after one, nobody knows what the disk holds."""

from __future__ import annotations

from penstock.core.base.ports import Append, File, FileFailure, Size, Steps, Sync, SyncDir, Unlink


class SyncFailed(FileFailure):
    """Never tried again: the kernel may have dropped the very pages it failed to write. The folder goes offline."""


def sync_file(file: File) -> Steps[None]:
    try:
        yield Sync(file)
    except FileFailure as failure:
        raise SyncFailed(failure.errno, failure.message) from failure


def sync_folder(path: str) -> Steps[None]:
    try:
        yield SyncDir(path)
    except FileFailure as failure:
        raise SyncFailed(failure.errno, failure.message) from failure


def write_anew(file: File, data: bytes) -> Steps[None]:
    """Write a small file from its beginning. To look first is cheap, where there is nothing to remove."""
    if (yield Size(file)) is not None:
        yield Unlink(file)
    yield Append(file, data)
