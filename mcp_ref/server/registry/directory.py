"""Directories of files as ``file://`` resources [.. server/resources §file://].

    server.directory("docs")                                    # file:///srv/docs/...
    server.directory("/var/log", uri="file:///logs/", pattern="**/*.log", listed=False)

A URI below that of the directory stands for the file whose path its percent-decoded segments are.
There is one spelling for each file, the one that the list has: letters, digits and ``-._~`` as they are, everything
else percent-encoded with capital letters. Any other spelling is not found, though it may be equivalent
[RFC 3986 §6.2.2]: it could by-pass a rule that grants access by URI, such as ``needs`` or one of a proxy.
No other file can be reached [2026-07-28 server/resources §Security Considerations] MUST: a segment is
the name of an entry and never a path (`mcp_ref.server.registry.safefiles` enforces that). A file that is
hidden, is no regular file, or does not fit the pattern, is answered as a file that does not exist, so that
clients learn nothing of it.

A ``pattern`` picks files by names with slashes between, each matched as `fnmatch` does it. ``**`` is any number of
folders. Case counts on every platform.

===========  ====================================
``*.md``     files of the folder itself
``**/*.md``  those, and those below it
``src/**``   everything in ``src``
``a/**/b``   ``a/b``, ``a/x/b``, ``a/x/y/b``
===========  ====================================

Contents are text if they are UTF-8 without null characters and their type is not one of pictures,
sound, film or fonts; otherwise they are binary.

Listing: the files are listed among the resources, as they are at that moment, with size, type and time of
change, in pages of at most ``page_size`` (LISTED by default). For a page no more than LOOKED_AT
entries are examined, so a page may be short. With ``listed=False`` the directory is listed as a
template instead, whose ``path`` has completions: use it for folders with very many files.
"""

import os
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import closing
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Generator, Iterable, List, Optional, Tuple, Union
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ...codec import encode
from ...errors import INTERNAL_ERROR, ResourceNotFound, RpcError
from ...messages.base import Annotations
from ...messages.pagination import PaginatedRequestParams
from ...messages.resources import ListResourcesResult, ReadResourceResult, Resource, ResourceTemplate
from ...options import strict_options
from ...peer.context import Context, params_reader
from ...protocol.content import check_annotations, check_uri
from ...revisions import Revision
from ..results import contents_of
from .checks import check_cache, visible_of
from .listing import Listing, invalid_cursor, seen_of
from .safefiles import DescriptorTree, Missing, Parts, PathTree, TooLarge, Tree, is_name

if TYPE_CHECKING:
    from .caching import Cache

LISTED = 1000
"""Resources in a page of a list with directories, if the server has no ``page_size``."""
LOOKED_AT = 20_000
"""Entries of folders that are examined for one page."""
MAX_BYTES = 10 * 1024 * 1024
"""The default of ``max_bytes``, here and in `Server.directory`."""

Entries = Generator[Tuple[str, Optional[Resource]], None, None]
"""URIs of entries, each with its resource, or None for an entry that is not listed."""

_BINARY = ("image", "audio", "video", "font")
_COMPRESSED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz",
               "compress": "application/x-compress", "br": "application/x-brotli"}
_YEAR_10000 = 253402300800


class Directory:
    """The files below a folder, as resources.

    ``path``: the folder, which must exist. ``uri``: the prefix of the URIs, which ends with a slash (default: the
    ``file:`` URI of the folder, which shows its path to clients). ``name`` (default: that of the folder), ``title``
    and ``description`` are those of the directory as a template. ``pattern``: the files to serve (default: all).
    ``hidden``: serve names that begin with a dot, too. ``max_bytes``: larger files are listed, but reading them is an
    error that says so. ``annotations``: audience and priority of every file. ``listed``: see the module. ``cache``: how
    long clients may cache the contents. ``visible``: see `mcp_ref.server.registry.visibility`.

    Raises ValueError for a path that is no folder, and ValueError or TypeError for wrong options.
    """

    variables = ["path"]
    chosen = True
    """True: `choices` returns only entries that fit the typed text, and `mcp_ref.server.completion` need not filter."""

    @strict_options
    def __init__(
        self,
        path: "Union[str, os.PathLike[str]]",
        *,
        uri: Optional[str] = None,
        name: Optional[str] = None,
        title: Optional[str] = None,
        description: Optional[str] = None,
        pattern: str = "**",
        hidden: bool = False,
        max_bytes: int = MAX_BYTES,
        annotations: Optional[Annotations] = None,
        listed: bool = True,
        cache: "Optional[Cache]" = None,
        visible: Optional[Callable[..., Any]] = None,
    ) -> None:
        root = os.path.realpath(os.fspath(path))
        if not os.path.isdir(root):
            raise ValueError("there is no folder %r to serve" % (os.fspath(path),))
        self.uri = _uri_of(root) if uri is None else uri
        check_uri("directory uri", self.uri)
        if not self.uri.endswith("/") or "?" in self.uri or "#" in self.uri:
            raise ValueError("the URI of a directory ends with a slash, as file:///docs/ does, got %r" % self.uri)
        if annotations is not None:
            check_annotations("directory annotations", annotations)
        self.tree: Tree = DescriptorTree(root) if DescriptorTree.works() else PathTree(root)
        self.name = name or os.path.basename(root) or root
        self.title = title
        self.description = description
        self.listed = listed
        check_cache("directory", cache)
        self.cache = cache
        self.visible = visible_of("directory %s" % self.uri, visible)
        self._pattern = PathPattern(pattern)
        self._hidden = hidden
        self._max_bytes = max_bytes
        self._annotations = annotations or Annotations()

    # As a template

    @property
    def template(self) -> str:
        """The URI template of the files."""
        return self.uri + "{+path}"

    def describe(self) -> ResourceTemplate:
        """Return the message of the directory for `resources/templates/list`."""
        given = self._annotations
        shown = None if given == Annotations() else given
        return ResourceTemplate(self.template, self.name, self.title, self.description, annotations=shown)

    def choices(self, variable: str, typed: str) -> Iterable[str]:
        """Yield the files and folders whose paths begin with the typed text; folders end with a slash."""
        typed = typed.translate(_RESERVED)
        above, slash, _ = typed.rpartition("/")
        try:
            parts = _names_in(above) if slash else ()
            entries = self.tree.entries(parts) if all(map(self._allows, parts)) else []
        except Missing:
            return
        for entry, is_folder in entries:
            whole = parts + (entry,)
            wanted = self._enters(whole) if is_folder else self._allows(entry) and self._pattern.matches(whole)
            text = "/".join(whole).replace("%", "%25").translate(_RESERVED) + ("/" if is_folder else "")
            if wanted and text.startswith(typed) and _spelled(text) == text:
                yield text

    # As resources

    def covers(self, uri: str) -> bool:
        """Return True for the URI of the directory, and for one below it in the one spelling; a file need not exist."""
        if uri == self.uri or not uri.startswith(self.uri):
            return uri == self.uri
        named = uri[:-1] if uri.endswith("/") else uri  # a slash at the end names a folder
        try:
            parts = _names_in(named[len(self.uri):])
        except Missing:
            return False
        return all(map(is_name, parts)) and self.uri_of(parts) == named

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        """Return {} for a URI below that of the directory, in any spelling, so that no other resource reads it;
        else None."""
        return {} if uri.startswith(self.uri) else None

    def read(self, context: Context, uri: str, keywords: Dict[str, Any]) -> ReadResourceResult:
        """Return the contents of a file. Raises `ResourceNotFound`, and `RpcError` for a file that is too large."""
        parts = self.parts_of(uri)
        if parts is None:
            raise ResourceNotFound(uri)
        try:
            data = self.tree.read(parts, self._max_bytes)
        except Missing:
            raise ResourceNotFound(uri) from None
        except TooLarge:
            text = "The file exceeds max_bytes (%d) of its directory" % self._max_bytes
            raise RpcError(INTERNAL_ERROR, text, {"uri": uri}) from None
        kind = mime_type_of(parts[-1])
        return ReadResourceResult(contents=contents_of(uri, kind, _text_of(data, kind)))

    def parts_of(self, uri: str) -> Optional[Parts]:
        """Return the names in the path of a URI; None if no file of this directory can have this URI."""
        if not uri.startswith(self.uri):
            return None
        try:
            parts = _names_in(uri[len(self.uri):])
        except Missing:
            return None
        if self.uri_of(parts) != uri:
            return None
        return parts if all(map(self._allows, parts)) and self._pattern.matches(parts) else None

    def uri_of(self, parts: Parts) -> str:
        """Return the URI of a file, given the names in its path."""
        return self.uri + "/".join(quote_from_bytes(os.fsencode(part), safe="") for part in parts)

    def visit(self, after: str) -> Entries:
        """Yield URI and resource of the entries behind the URI ``after`` ("" for all); None for one not to be listed.

        Raises `Missing` if the folder is gone.
        """
        start = _names_in(after[len(self.uri):]) if after else ()
        with closing(self.tree.walk(start, self._enters)) as entries:
            for parts, status in entries:
                uri = self.uri_of(parts)
                shown = status is not None and self._allows(parts[-1]) and self._pattern.matches(parts)
                yield uri, self._resource(uri, parts, status) if status is not None and shown else None

    def _resource(self, uri: str, parts: Parts, status: os.stat_result) -> Resource:
        given = self._annotations
        annotations = Annotations(given.audience, given.priority, _time_of(status.st_mtime))
        kind = mime_type_of(parts[-1])
        name, size = _spelled("/".join(parts)), status.st_size
        return Resource(uri, name, None, self.description, kind, size, annotations=annotations)

    def _allows(self, name: str) -> bool:
        """Return True if a name may be part of a path."""
        return is_name(name) and (self._hidden or not name.startswith("."))

    def _enters(self, parts: Parts) -> bool:
        return self._allows(parts[-1]) and self._pattern.leads_on(parts)


class PathPattern:
    """A pattern of paths; see the module. Raises ValueError for a pattern that no path can match."""

    def __init__(self, pattern: str) -> None:
        self._names = pattern.split("/")
        if any(name in ("", ".", "..") for name in self._names):
            raise ValueError("a pattern is names with slashes between, such as **/*.md, got %r" % pattern)

    def matches(self, parts: Tuple[str, ...]) -> bool:
        """Return True if the path of a file matches."""
        return len(self._names) in self._places(parts)

    def leads_on(self, parts: Tuple[str, ...]) -> bool:
        """Return True if a folder of this path may hold a file that matches."""
        return any(place < len(self._names) for place in self._places(parts))

    def _places(self, parts: Tuple[str, ...]) -> FrozenSet[int]:
        """Return the numbers of names of the pattern that these parts can have matched."""
        places = self._onward(frozenset((0,)))
        for part in parts:
            used = set()
            for place in places:
                if place < len(self._names):
                    if self._names[place] == "**":
                        used.add(place)
                    elif fnmatchcase(part, self._names[place]):
                        used.add(place + 1)
            places = self._onward(frozenset(used))
        return places

    def _onward(self, places: FrozenSet[int]) -> FrozenSet[int]:
        """Return these numbers and the ones that follow because ``**`` can match no folder."""
        found = set(places)
        for place in places:
            while place < len(self._names) and self._names[place] == "**":
                place += 1
                found.add(place)
        return frozenset(found)


# -- The list ----------------------------------------------------------------------------------


def page(
    listing: Listing[Any], directories: List[Directory], size: Optional[int], revision: Revision,
    params: Dict[str, Any], context: Context,
) -> Dict[str, Any]:
    """Return one page of a list with directories: the registered resources, then the files, folder by folder.

    What the sender of the request does not see is left out, and then no cache may give the page to others.

    Among the files the cursor is the URI of the last entry that was examined, so it stays valid when files come and go.
    """
    cursor = params_reader(PaginatedRequestParams, revision)(params, context).cursor
    after = _read_cursor(cursor)
    shown: List[Resource] = []
    following = None
    if after is None:
        shown, following = listing.part(cursor, context)
    private = any(directory.visible is not None for directory in directories)
    directories = seen_of(directories, context)
    if following is None and (directories or after is not None):
        more, following = _files(listing, directories, after or "", (size or LISTED) - len(shown), context)
        shown += more
    hints = dict(listing.hints, cache_scope="private") if private else listing.hints
    return encode(ListResourcesResult(shown, following, **hints), revision)


def _files(
    listing: Listing[Any], directories: List[Directory], after: str, room: int, context: Optional[Context]
) -> Tuple[List[Resource], Optional[str]]:
    """Return at most ``room`` files behind the entry with this URI, and the cursor of the rest; None if that is all."""
    shown: List[Resource] = []
    with closing(_entries(directories, after)) as entries:
        for number, (uri, resource) in enumerate(entries):
            if len(shown) >= room or number == LOOKED_AT:
                return shown, _write_cursor(after)
            after = uri
            if resource is not None and (listing.get(uri) is None or listing.find(uri, context) is None):
                shown.append(resource)
    return shown, None


def _entries(directories: List[Directory], after: str) -> Entries:
    """Yield all entries behind the one with this URI. Raises `RpcError` -32602 if it can be in no directory."""
    while after and directories and not directories[0].covers(after):
        directories = directories[1:]
    if not directories:
        raise invalid_cursor()
    for directory in directories:
        try:
            with closing(directory.visit(after)) as entries:
                yield from entries
        except Missing:
            pass  # the folder is gone: nothing of it is there
        after = ""


def _write_cursor(after: str) -> str:
    return urlsafe_b64encode(("files %s" % after).encode("ascii")).decode("ascii")


def _read_cursor(cursor: Optional[str]) -> Optional[str]:
    """Return the URI of the entry behind which a cursor continues, "" for the first one; None for a cursor of another
    list."""
    try:
        kind, _, after = urlsafe_b64decode((cursor or "").encode("ascii")).decode("ascii").partition(" ")
    except ValueError:
        return None
    if kind != "files":
        return None
    if cursor != _write_cursor(after):
        raise invalid_cursor()
    return after


# -- Files -------------------------------------------------------------------------------------


def mime_type_of(name: str) -> Optional[str]:
    """Return the MIME type for the ending of a name; None for an unknown one."""
    import mimetypes

    kind, encoding = mimetypes.guess_type("./" + name)  # the dot and slash: a name is no URL
    return _COMPRESSED.get(encoding, "application/octet-stream") if encoding else kind


def _text_of(data: bytes, kind: Optional[str]) -> Union[str, bytes]:
    """Return the bytes decoded if they are text, else as they are."""
    if kind is not None and kind.partition("/")[0] in _BINARY and not kind.endswith("+xml") or b"\0" in data:
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def _time_of(seconds: float) -> Optional[str]:
    """Return seconds since 1970 as ISO 8601 in UTC; None for a time outside of the years 1970 to 9999."""
    if not 0 <= seconds < _YEAR_10000:
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _spelled(name: str) -> str:
    """Return a name of a file as text, with question marks for bytes that are no UTF-8."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _names_in(path: str) -> Parts:
    """Return the names that the segments of a URI's path stand for. Raises `Missing` for one that is no name."""
    try:
        return tuple(os.fsdecode(unquote_to_bytes(segment)) for segment in path.split("/"))
    except UnicodeDecodeError:  # on Windows only
        raise Missing() from None


def _uri_of(root: str) -> str:
    from pathlib import Path  # whose as_uri stays; that of PurePath goes with Python 3.19

    uri = Path(root).as_uri()
    return uri if uri.endswith("/") else uri + "/"


_RESERVED = str.maketrans({sign: "%%%02X" % ord(sign) for sign in ":?#[]@!$&'()*+,;="})
"""Characters that expanding ``{+path}`` does not encode, so that the URI would not be that of the file."""
