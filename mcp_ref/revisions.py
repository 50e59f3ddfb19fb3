"""The five revisions of the protocol, and everything that differs between them.

A revision is a date. Four of them open a connection with a handshake (`initialize`); the newest
has none: every request carries version, identity and capabilities. Code never compares dates.
It asks the revision: ``revision.batching``, ``revision.stateless``,
``revision.resource_not_found_code``. FEATURES below has one row for each yes-or-no difference;
a row is a window (``since``, ``until``, both inclusive). VALUES has the differences that are values.

>>> [str(r) for r in REVISIONS][0]
'2024-11-05'
>>> revision("2025-03-26").batching
True

Sources: the changelog pages of the revisions, and the pages named in the rows.
"""

from typing import Dict, List, NamedTuple, Optional, Tuple, Union

R2024_11_05 = "2024-11-05"
R2025_03_26 = "2025-03-26"
R2025_06_18 = "2025-06-18"
R2025_11_25 = "2025-11-25"
R2026_07_28 = "2026-07-28"

NAMES: Tuple[str, ...] = (R2024_11_05, R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28)
"""Oldest first. The position in this tuple is a revision's rank; see `Revision.rank`."""


class Feature(NamedTuple):
    """A row of FEATURES: an attribute of `Revision` that is true inside a window."""

    name: str
    since: Optional[str]
    """First revision that has it; None: from the beginning."""
    until: Optional[str]
    """Last revision that has it; None: to this day."""
    page: str
    """The page that describes it in the newest revision that has it."""


FEATURES: Tuple[Feature, ...] = (
    # Opening and shape of a conversation
    Feature("handshake", None, R2025_11_25, "basic/lifecycle"),
    Feature("stateless", R2026_07_28, None, "basic/index"),
    Feature("peer_requests", None, R2025_11_25, "basic/lifecycle"),
    Feature("batching", R2025_03_26, R2025_03_26, "basic/index"),
    Feature("errors_may_omit_id", R2025_11_25, None, "basic/index"),
    Feature("result_type", R2026_07_28, None, "basic/index"),
    Feature("version_header", R2025_06_18, None, "basic/transports/streamable-http"),
    Feature("ids_unique_per_session", None, R2025_11_25, "basic/index"),
    Feature("meta_key_rules", R2025_06_18, None, "basic/index"),
    Feature("trace_context", R2026_07_28, None, "basic/index"),
    Feature("negotiated_only", R2025_06_18, None, "basic/lifecycle"),
    # Content
    Feature("audio_content", R2025_03_26, None, "server/tools"),
    Feature("resource_links", R2025_06_18, None, "server/tools"),
    Feature("structured_content", R2025_06_18, None, "server/tools"),
    Feature("structured_content_any", R2026_07_28, None, "server/tools"),
    Feature("tool_annotations", R2025_03_26, None, "server/tools"),
    Feature("tool_input_errors_are_results", R2025_11_25, None, "server/tools"),
    Feature("titles", R2025_06_18, None, "server/tools"),
    Feature("icons", R2025_11_25, None, "basic/index"),
    # Utilities
    Feature("stream_polling", R2025_11_25, R2025_11_25, "basic/transports"),
    Feature("progress_message", R2025_03_26, None, "basic/utilities/progress"),
    Feature("client_progress", None, R2025_11_25, "basic/utilities/progress"),
    Feature("completions_capability", R2025_03_26, None, "server/utilities/completion"),
    Feature("completion_context", R2025_06_18, None, "server/utilities/completion"),
    Feature("caching_hints", R2026_07_28, None, "server/utilities/caching"),
    # Asking the client
    Feature("elicitation", R2025_06_18, None, "client/elicitation"),
    Feature("elicitation_modes", R2025_11_25, None, "client/elicitation"),
    Feature("elicitation_ids", R2025_11_25, R2025_11_25, "client/elicitation"),
    Feature("elicitation_enum_schemas", R2025_11_25, None, "client/elicitation"),
    Feature("sampling_arrays", R2025_11_25, None, "client/sampling"),
    Feature("sampling_tools", R2025_11_25, None, "client/sampling"),
    Feature("sampling_context_capability", R2025_11_25, None, "client/sampling"),
    Feature("tasks", R2025_11_25, R2025_11_25, "basic/utilities/tasks"),
    # Authorization
    Feature("pkce_announced", R2025_11_25, None, "basic/authorization/security-considerations"),
)
"""Every yes-or-no difference. A test checks that `Revision` declares exactly these attributes."""

VALUES: Dict[str, Tuple[Union[int, str], ...]] = {
    # [2025-11-25 server/resources §Error Handling], [2026-07-28 server/resources §Error Handling]
    "resource_not_found_code": (-32002, -32002, -32002, -32002, -32602),
    # The dialect of a schema.json file; tool schemas have had a default dialect since 2025-11-25.
    "schema_dialect": ("draft-07", "draft-07", "draft-07", "2020-12", "2020-12"),
    # How an HTTP server refuses `initialize` if it is one of HTTP+SSE: any 4xx, or one of these
    # [2025-03-26..2025-11-25 basic/transports §Backwards Compatibility].
    "fallback_statuses": ("4xx", "4xx", "4xx", "400 404 405", "400 404 405"),
}
"""Differences that are values: one entry for each revision, oldest first."""


class Revision:
    """One revision of the protocol: an attribute for each row of FEATURES and VALUES.

    Instances are the five in `REVISIONS`; they are compared by identity and ordered by `rank`.
    """

    __slots__ = ("name", "rank", "era", "schema_dialect", "resource_not_found_code", "fallback_statuses") + tuple(
        feature.name for feature in FEATURES
    )

    name: str
    rank: int
    """Position in REVISIONS, 0 for the oldest."""
    era: str
    """``"handshake"`` or ``"stateless"``."""
    resource_not_found_code: int
    schema_dialect: str
    fallback_statuses: str
    handshake: bool
    stateless: bool
    peer_requests: bool
    """Both sides send requests; otherwise the server asks by results that want input."""
    batching: bool
    errors_may_omit_id: bool
    """An error whose request id could not be read leaves the id out; earlier revisions send null."""
    result_type: bool
    version_header: bool
    """HTTP requests name the revision in `MCP-Protocol-Version`."""
    ids_unique_per_session: bool
    meta_key_rules: bool
    trace_context: bool
    """`_meta` may say to which distributed trace a request belongs, in a form that is prescribed."""
    negotiated_only: bool
    """Using only what was negotiated is a MUST; before, a SHOULD."""
    audio_content: bool
    resource_links: bool
    structured_content: bool
    structured_content_any: bool
    """Structured content may be any JSON value, and output schemas need not describe an object."""
    tool_annotations: bool
    tool_input_errors_are_results: bool
    titles: bool
    icons: bool
    stream_polling: bool
    """HTTP streams begin with an event that has only an id, and a server may close them to be polled."""
    progress_message: bool
    client_progress: bool
    """The client, too, sends progress notifications."""
    completions_capability: bool
    completion_context: bool
    caching_hints: bool
    """Results have hints on how long they may be kept."""
    elicitation: bool
    elicitation_modes: bool
    elicitation_ids: bool
    """Links that a user is asked to visit have an id, by which the server reports later that the user has finished."""
    elicitation_enum_schemas: bool
    sampling_arrays: bool
    sampling_tools: bool
    sampling_context_capability: bool
    """``includeContext`` other than ``none`` needs a capability."""
    tasks: bool
    pkce_announced: bool
    """Only an authorization server that announces PKCE is asked for a code."""

    def __init__(self, rank: int) -> None:
        self.name = NAMES[rank]
        self.rank = rank
        for feature in FEATURES:
            setattr(self, feature.name, in_window(rank, feature.since, feature.until))
        for name, values in VALUES.items():
            setattr(self, name, values[rank])
        self.era = "stateless" if self.stateless else "handshake"

    def __repr__(self) -> str:
        return "<Revision %s>" % self.name

    def __str__(self) -> str:
        return self.name

    def has(self, since: Optional[str], until: Optional[str]) -> bool:
        """Return True if this revision lies in the window from ``since`` to ``until``, both inclusive."""
        return in_window(self.rank, since, until)


def in_window(rank: int, since: Optional[str], until: Optional[str]) -> bool:
    """Return True if the revision of this rank lies in the window; None leaves that side open."""
    return (since is None or NAMES.index(since) <= rank) and (until is None or rank <= NAMES.index(until))


REVISIONS: Tuple[Revision, ...] = tuple(Revision(rank) for rank in range(len(NAMES)))
"""All revisions, oldest first."""

LATEST: Revision = REVISIONS[-1]
HANDSHAKE_REVISIONS: Tuple[Revision, ...] = tuple(r for r in REVISIONS if r.handshake)
LATEST_HANDSHAKE: Revision = HANDSHAKE_REVISIONS[-1]

_BY_NAME: Dict[str, Revision] = {r.name: r for r in REVISIONS}


def find(name: str) -> Optional[Revision]:
    """Return the revision of this name, or None if there is none."""
    return _BY_NAME.get(name)


def revision(name: Union[str, Revision]) -> Revision:
    """Return the revision of this name; a `Revision` is returned as it is.

    Raises ValueError, naming the known ones, for any other name.
    """
    if isinstance(name, Revision):
        return name
    found = _BY_NAME.get(name)
    if found is None:
        raise ValueError("unknown protocol revision %r; known are %s" % (name, ", ".join(NAMES)))
    return found


class Difference(NamedTuple):
    """A row of FEATURES or VALUES that differs between two revisions."""

    name: str
    before: Union[bool, int, str]
    after: Union[bool, int, str]
    page: Optional[str]
    """The page of a feature; None for a row of VALUES."""


def differences(before: Revision, after: Revision) -> List[Difference]:
    """Return the rows of FEATURES and VALUES that differ between two revisions, in order; either may be the older."""
    pages = [(feature.name, feature.page) for feature in FEATURES] + [(name, None) for name in VALUES]
    return [Difference(name, getattr(before, name), getattr(after, name), page) for name, page in pages
            if getattr(before, name) != getattr(after, name)]
