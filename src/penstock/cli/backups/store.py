"""Where backups are kept: a folder, or a bucket of an object store. A file is there whole, for good, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from penstock.cli.talk import Refused, advice
from penstock.shell.full_sync import sync_path, sync_whole

if TYPE_CHECKING:
    from obstore.store import ObjectStore

UNFINISHED: Final = ".part"
_INSTALL: Final = "pip install 'penstock[backup]'"


class Store(Protocol):
    """Files by name, with `/` between the parts of it."""

    def put(self, name: str, data: bytes) -> None:
        """Keep a file. One that has the name already is replaced, in one step."""
        ...

    def get(self, name: str) -> bytes | None:
        """All of a file; None where there is none."""
        ...

    def names(self, folder: str) -> list[str]:
        """What stands directly in a folder: files, and folders."""
        ...


def open_store(location: str) -> Store:
    """A path, or a URL such as s3://bucket/prefix."""
    return _opened(location) if "://" in location else FolderStore(location)


class FolderStore:
    """A folder of this machine."""

    def __init__(self, path: str) -> None:
        self._root = os.path.abspath(path)

    def put(self, name: str, data: bytes) -> None:
        path = os.path.join(self._root, name)
        with _told(path):
            folder = os.path.dirname(path)
            self._make(folder)
            fd, unfinished = tempfile.mkstemp(UNFINISHED, dir=folder)
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                    file.flush()
                    sync_whole(file.fileno())
                os.rename(unfinished, path)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(unfinished)
                raise
            sync_path(folder)

    def _make(self, folder: str) -> None:
        """With a name that lasts, up to the first folder that was there before."""
        made = []
        while not os.path.isdir(folder):
            made.append(folder)
            folder = os.path.dirname(folder)
        for each in reversed(made):
            with suppress(FileExistsError):
                os.mkdir(each, 0o700)
            sync_path(os.path.dirname(each))

    def get(self, name: str) -> bytes | None:
        path = os.path.join(self._root, name)
        with _told(path):
            try:
                with open(path, "rb") as file:
                    return file.read()
            except FileNotFoundError:
                return None

    def names(self, folder: str) -> list[str]:
        path = os.path.join(self._root, folder)
        with _told(path):
            try:
                return sorted(name for name in os.listdir(path) if not name.endswith(UNFINISHED))
            except FileNotFoundError:
                return []


@contextmanager
def _told(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise Refused(f"{path} cannot be used: {failure.strerror}", advice(failure)) from None


class BucketStore:
    """A bucket, or a part of one, through `obstore`. How to get in stands in the environment, as for other tools."""

    def __init__(self, location: str, store: ObjectStore) -> None:
        self._location = location
        self._store = store

    def put(self, name: str, data: bytes) -> None:
        with self._told():
            self._store.put(name, data)

    def get(self, name: str) -> bytes | None:
        with self._told():
            try:
                return bytes(self._store.get(name).bytes())
            except FileNotFoundError:
                return None

    def names(self, folder: str) -> list[str]:
        with self._told():
            found = self._store.list_with_delimiter(folder or None)
            paths = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    @contextmanager
    def _told(self) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as failure:
            raise _refused(self._location, failure) from None


def _opened(location: str) -> BucketStore:
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError:
        raise Refused(f"{location} needs obstore, which is not installed", _INSTALL) from None
    options: dict[str, Any] = {}
    if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        # Whoever names an endpoint that is not encrypted means it: a store in the same house.
        options["client_options"] = {"allow_http": True}
    try:
        return BucketStore(location, from_url(location, **options))
    except (BaseError, ValueError) as failure:
        raise _refused(location, failure) from None


def _refused(location: str, failure: Exception) -> Refused:
    line = next((line.strip() for line in str(failure).splitlines() if line.strip()), type(failure).__name__)
    return Refused(f"{location} cannot be used: {line}", "AWS_*, GOOGLE_* or AZURE_* variables say how to get in")
