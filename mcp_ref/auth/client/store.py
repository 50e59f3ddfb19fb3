"""Stores of tokens and registrations, between requests and between runs of a program.

A store holds JSON objects, each under a kind and a key:

======================================================  ===================================================
kind and key                                            record
======================================================  ===================================================
``("token", URL of an MCP server)``                     a `Token`
``("client", issuer of an authorization server)``       a `ClientInfo`
``("issuer", id of a client)``                          ``{"issuer": ...}``: whose credentials these are
======================================================  ===================================================

`MemoryStore` forgets them with the program. `FileStore` keeps them in a file that only its owner can read
[2025-03-26 basic/authorization §Authorization Flow > Security Considerations] MUST
[2025-06-18..2025-11-25 basic/authorization §Token Theft] MUST
[2026-07-28 basic/authorization/security-considerations §Token Theft] MUST. Derive from `TokenStore` for a keychain of
the system.
"""

import os
import secrets
import stat
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import Any, Callable, Dict, Iterator, Optional, Tuple, Union

from ...errors import AuthError
from ...jsontext import JsonError, dumps, loads

JsonObject = Dict[str, Any]
Pause = Callable[[float], None]

_WAIT = 0.05
"""Seconds between two attempts to take a lock that another program or thread has."""
_LONGEST = 1200
"""Attempts until a lock counts as left behind by a program that hangs: a minute, which is longer than a request."""
MAX_FILE = 16 * 1024 * 1024
"""Bytes of a file of tokens; one token takes a few thousand."""
_LOCKING = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
"""The flags that open a lock file; not through a link, which would make a file at a place that another user has chosen.
"""


class TokenStore:
    """Base of stores. Thread-safe. The records are secret."""

    def get(self, kind: str, key: str) -> Optional[JsonObject]:
        """Return the record; None if there is none."""
        raise NotImplementedError

    def set(self, kind: str, key: str, record: JsonObject) -> None:
        """Store a record, in place of the one that is there."""
        raise NotImplementedError

    def delete(self, kind: str, key: str) -> None:
        """Remove a record, if there is one."""
        raise NotImplementedError

    @contextmanager
    def exclusive(self, pause: Pause) -> Iterator[None]:
        """A context in which a refresh token is used: no other user of this store is in it at the same time.

        ``pause(seconds)`` waits, or raises. A store that only one grant uses need not do anything here.
        """
        yield

    def __repr__(self) -> str:
        return "%s()" % type(self).__name__


class MemoryStore(TokenStore):
    """Keeps records until the program ends."""

    def __init__(self) -> None:
        self._records: Dict[Tuple[str, str], JsonObject] = {}
        self._renewing = threading.Lock()

    def get(self, kind: str, key: str) -> Optional[JsonObject]:
        """Return a copy of the record; None if there is none."""
        record = self._records.get((kind, key))
        return None if record is None else dict(record)

    def set(self, kind: str, key: str, record: JsonObject) -> None:
        """Store a copy of the record."""
        self._records[kind, key] = dict(record)

    def delete(self, kind: str, key: str) -> None:
        """Remove a record, if there is one."""
        self._records.pop((kind, key), None)

    @contextmanager
    def exclusive(self, pause: Pause) -> Iterator[None]:
        """A context for one thread at a time; see `TokenStore.exclusive`."""
        while not self._renewing.acquire(blocking=False):
            pause(_WAIT)
        try:
            yield
        finally:
            self._renewing.release()


class FileStore(TokenStore):
    """Keeps records in a JSON file of mode 0600, for any number of programs of one user.

    The folder is made with mode 0700 if there is none. Each change replaces the file as a whole, so that it is never
    half written, and programs that change it at the same time wait for each other (with a lock on a second file,
    ``path + ".lock"``, where the system has such locks). On Windows the file's protection is that of its folder.

    A file that cannot be understood, that is another user's, or that others may read, raises `AuthError` and is left
    alone.
    """

    def __init__(self, path: "Union[str, os.PathLike[str]]") -> None:
        self.path = os.path.abspath(os.fspath(path))
        # Between threads; between programs a lock on `.lock` guards a change, and one on `.refresh` the whole exchange
        # of a refresh token. They differ, since an exchange changes the file while it holds the second.
        self._lock = threading.RLock()

    def get(self, kind: str, key: str) -> Optional[JsonObject]:
        """Return the record; None if there is none. Raises `AuthError` for a file that must not or cannot be read."""
        with self._lock:
            record = self._read().get(kind, {}).get(key)
        return record if isinstance(record, dict) else None

    def set(self, kind: str, key: str, record: JsonObject) -> None:
        """Store a record. Raises `AuthError` for a file that must not be read or cannot be written."""
        self._change(kind, key, record)

    def delete(self, kind: str, key: str) -> None:
        """Remove a record, if there is one. Raises `AuthError` as `set`."""
        self._change(kind, key, None)

    @contextmanager
    def exclusive(self, pause: Pause) -> Iterator[None]:
        """A context for one thread of one program at a time; see `TokenStore.exclusive`."""
        with self._locked(".refresh", pause):
            yield

    def __repr__(self) -> str:
        return "FileStore(%r)" % self.path

    def _change(self, kind: str, key: str, record: Optional[JsonObject]) -> None:
        with self._lock, self._locked(".lock", time.sleep):
            records = self._read()
            of_kind = dict(records.get(kind, {}))
            if record is not None:
                of_kind[key] = record
            elif of_kind.pop(key, None) is None:
                return
            self._write({**records, kind: of_kind})

    def _read(self) -> Dict[str, Dict[str, Any]]:
        try:
            with open(self.path, "rb", opener=_open) as file:
                self._check(os.fstat(file.fileno()))
                data = file.read(MAX_FILE)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise AuthError("the tokens in %s cannot be read: %s" % (self.path, error.strerror)) from None
        try:
            value = loads(data)
        except JsonError:
            value = None
        records = value.get("records") if isinstance(value, dict) and value.get("version") == 1 else None
        if not isinstance(records, dict) or not all(isinstance(each, dict) for each in records.values()):
            raise AuthError("the file of tokens %s cannot be understood: move it away, or remove it" % self.path)
        return records

    def _check(self, found: os.stat_result) -> None:
        """Check that the path is a file of our user alone, of a size that can be read. Raises `AuthError`."""
        if not stat.S_ISREG(found.st_mode):
            raise AuthError("%s is no file, so no tokens can be kept there: pass another path" % self.path)
        if sys.platform != "win32":
            if found.st_uid != os.geteuid():
                raise AuthError("the file of tokens %s belongs to another user: pass another path" % self.path)
            if found.st_mode & 0o077:
                raise AuthError("the tokens in %s can be seen by others (mode %o): make it 600, or remove the file"
                                % (self.path, found.st_mode & 0o777))
        if found.st_size > MAX_FILE:
            raise AuthError("the file of tokens %s has more than %d bytes: move it away, or remove it"
                            % (self.path, MAX_FILE))

    def _write(self, records: Dict[str, Dict[str, Any]]) -> None:
        fresh = "%s.%s" % (self.path, secrets.token_hex(8))
        data = dumps({"version": 1, "records": records}).encode("utf-8")
        try:
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, self.path)
        except OSError as error:
            with suppress(OSError):  # the first error is the one that is raised
                os.remove(fresh)
            raise AuthError("the tokens cannot be written to %s: %s" % (self.path, error.strerror)) from None

    @contextmanager
    def _locked(self, suffix: str, pause: Pause) -> Iterator[None]:
        """A context that holds a lock which the programs share."""
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            descriptor = os.open(self.path + suffix, _LOCKING, 0o600)
        except OSError as error:
            raise AuthError("the tokens cannot be kept in %s: %s" % (self.path, error.strerror)) from None
        try:
            left = _LONGEST
            while not _lock(descriptor):
                if not left:
                    raise AuthError("another program holds %s%s: end it, if it hangs" % (self.path, suffix))
                left -= 1
                pause(_WAIT)
            yield
        finally:
            os.close(descriptor)  # releases the lock


def _open(path: str, flags: int) -> int:
    """Open a file; a pipe in its place is opened without waiting for its writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        """Take the lock. Returns False if it is taken."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    try:
        import fcntl
    except ImportError:  # a system without such locks: the file is still never half written
        fcntl = None  # type: ignore[assignment]

    def _lock(descriptor: int) -> bool:
        """Take the lock. Returns False if it is taken."""
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
