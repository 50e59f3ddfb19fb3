"""Scenes about a protected server [2025-03-26..2025-11-25 basic/authorization], [2026-07-28 basic/authorization/index]:
who is let in, and where the metadata is.

They are played with a server that refuses the opening without a token; one that lets everybody in is not examined. With
a token of ours (``--token-env``) everything else is examined with it; without one, these scenes alone are played. No
token is ever put into a URL, where logs would keep it: what a server makes of one there is not examined.

Reading: authorization is optional, and of other kinds than the pages' nothing is said there. So a server that shows
neither the scheme Bearer nor metadata "cannot tell".
"""

import json
from base64 import urlsafe_b64encode
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

from ....methods import CALL_TOOL, LIST_PROMPTS, LIST_RESOURCES, LIST_TOOLS
from ...checker.httpfacts import challenges
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, scene
from ..stage import SceneStage
from ..talk import ExaminerConversation
from ..wire import Reaction, Web, as_bytes

_WELL_KNOWN = "/.well-known/oauth-protected-resource"
_AUDIENCE = "https://other.example/mcp"
_ISSUER = "https://issuer.example"
_METHODS: Tuple[Tuple[str, Dict[str, Any]], ...] = (
    (LIST_TOOLS, {}), (LIST_RESOURCES, {}), (LIST_PROMPTS, {}), (CALL_TOOL, {"name": "examiner-no-such-name"}))
_MALFORMED = ("Bearer", "Bearer examiner two words", "examiner")


def _unsigned(**claims: Any) -> str:
    """Return a token of the form of a JWT that nobody has signed."""
    parts = [json.dumps(each).encode("utf-8") for each in ({"alg": "none", "typ": "JWT"}, claims)]
    return ".".join(urlsafe_b64encode(each).decode("ascii").rstrip("=") for each in parts) + "."


def _bad_tokens(wire: Web) -> List[Tuple[str, str]]:
    """Return tokens that are none, each with what it is."""
    found = [("a token that nobody has issued", "examiner-no-such-token"),
             ("an unsigned token for another audience", _unsigned(
                 iss=_ISSUER, sub="examiner", aud=_AUDIENCE, exp=4102444800, scope="examiner")),
             ("an unsigned token that has expired", _unsigned(
                 iss=_ISSUER, sub="examiner", aud=wire.where.url, exp=1))]
    ours = next((text[7:] for name, text in wire.fields if name.lower() == "authorization"
                 and text[:7].lower() == "bearer "), "")
    if len(ours) > 8:
        found.append(("our token, altered", ours[:-4] + ("aaaa" if ours[-4:] != "aaaa" else "bbbb")))
    return found


def _knock(talk: ExaminerConversation, wire: Web, shown: Optional[str], value: Any = None,
           method: str = "POST") -> Reaction:
    """Send a request, the opening if no other is given, with a value of `Authorization`; None: without one."""
    message = talk.opening() if value is None else value
    fields: Dict[str, Optional[str]] = {} if shown is None else {"Authorization": shown}
    if method != "POST":
        made = [(name, text) for name, text in talk.header_fields(None, fields) if name != "Content-Type"]
        return wire.send(method, made, None, talk.patience, head=True)
    return wire.send(method, talk.header_fields(message, fields), as_bytes(message), talk.patience)


def _guarded(talk: ExaminerConversation) -> Tuple[Web, Reaction]:
    """Return the wire without a token, and the refusal of the opening on it. Raises `NotExamined`."""
    wire = talk.web.stranger()
    answer = _knock(talk, wire, None)
    if answer.status is None or answer.status // 100 == 2:
        raise NotExamined("the server lets clients in without a token" if answer.status else str(answer))
    return wire, answer


def _bearer(answer: Reaction) -> Optional[Dict[str, str]]:
    """Return the parameters of the challenge for a token; None if a refusal has none, as the pages want it."""
    text = ", ".join(value for name, value in answer.fields if name.lower() == "www-authenticate")
    return next((each.parameters for each in challenges(text) if each.scheme == "bearer"), None)


def _refused(answer: Reaction, what: str) -> Verdict:
    """Return the verdict on a request that has to be refused with 401."""
    if answer.status is None:
        return CannotTell("%s: %s" % (what, answer))
    return KEPT if answer.status == 401 else Broken("%s: %s, in the place of status 401" % (what, answer))


@scene("no-token", "auth.unauthorized-401", "auth.status-401", wires="web", shut=True,
       provokes="auth.www-authenticate-401 auth.scope-in-challenge auth.no-offline-access")
def no_token(stage: SceneStage) -> Said:
    """A request without a token is refused with 401."""
    with stage.fresh(opened=False) as talk:
        _, answer = _guarded(talk)
        if answer.status not in (401, 403) and _bearer(answer) is None:
            raise NotExamined("the server refuses the opening, perhaps for another reason: %s" % answer)
        said = _refused(answer, "a request without a token")
        return {"auth.unauthorized-401": said, "auth.status-401": said}


def _documents(wire: Web, answer: Reaction, seconds: float) -> Tuple[bool, List[Tuple[str, Reaction]]]:
    """Return whether a challenge names the metadata, and the documents of the places where they may be."""
    named = (_bearer(answer) or {}).get("resource_metadata")
    path = wire.where.path.rstrip("/")
    targets = [_WELL_KNOWN + path] if path else []
    targets.append(_WELL_KNOWN)
    if named is not None:
        parts = urlsplit(named)
        if "%s://%s" % (parts.scheme, parts.netloc) == wire.where.origin and parts.path not in targets:
            targets.append(parts.path)
    return named is not None, [(target, wire.get(target, seconds)) for target in targets]


def _members(documents: List[Dict[str, Any]]) -> Tuple[Verdict, Verdict]:
    """Return the verdicts on what the metadata says of the resource and of its authorization servers."""
    resource: List[Verdict] = []
    servers: List[Verdict] = []
    for each in documents:
        known = each.get("authorization_servers")
        right = isinstance(known, list) and known and all(isinstance(url, str) and urlsplit(url).scheme in (
            "http", "https") for url in known)
        servers.append(KEPT if right else Broken("authorization_servers is %r" % (known,)))
        resource.append(KEPT if isinstance(each.get("resource"), str) else Broken(
            "the metadata has no resource: its members are %s" % ", ".join(map(str, each))))
    return every(resource), every(servers)


@scene("metadata", "auth.prm-server", "auth.prm-authorization-servers", "auth.prm-via-header",
       "auth.prm-via-well-known", wires="web", shut=True, only=lambda revision: revision.version_header)
def metadata(stage: SceneStage) -> Said:
    """The metadata of the protected resource can be got without a token, from where the challenge names it, or from
    one of the two well-known places.

    Reading: one of the ways is enough. Metadata on another origin is not fetched.
    """
    with stage.fresh(opened=False) as talk:
        wire, answer = _guarded(talk)
        named, tried = _documents(wire, answer, stage.patience)
        documents = [each.message for _, each in tried if each.status == 200 and each.message is not None]
    if not documents:
        what = "; ".join("GET %s: %s" % (target, each) for target, each in tried)
        if named or stage.shut or _bearer(answer) is None:
            # Without a conversation nobody knows whether the server speaks a revision that wants metadata.
            return {"auth.prm-server": CannotTell("the metadata was not found here: %s" % what)}
        return {id: Broken("no resource_metadata in the challenge; %s" % what) for id in (
            "auth.prm-server", "auth.prm-via-header", "auth.prm-via-well-known")}
    resource, servers = _members(documents)
    return {"auth.prm-server": resource, "auth.prm-authorization-servers": servers,
            "auth.prm-via-header": KEPT, "auth.prm-via-well-known": KEPT}


@scene("bad-tokens", "auth.invalid-token-401", "auth.validate-tokens", "auth.validation-failure-response",
       "auth.audience", "auth.audience-rejected", "auth.only-own-tokens", "auth.no-other-tokens",
       wires="web", shut=True)
def bad_tokens(stage: SceneStage) -> Said:
    """A token that nobody has issued, that is for others, has expired or was altered is refused with 401, and with a
    challenge.

    Reading: that a token for another audience is refused does not tell why, since none that is good elsewhere is at
    hand.
    """
    with stage.fresh(opened=False) as talk:
        wire, first = _guarded(talk)
        cases = [(what, _knock(talk, wire, "Bearer " + token)) for what, token in _bad_tokens(talk.web)]
    if _bearer(first) is None:
        raise NotExamined("the server asks for no token as the pages have it: %s" % first)
    through = [(what, answer) for what, answer in cases if answer.status is not None and answer.status // 100 == 2]
    let_in: Verdict = Broken("%s: %s" % through[0]) if through else None
    foreign: Verdict = CannotTell("whether the audience is looked at: no signed token for another one is at hand")
    found = {"auth.invalid-token-401": every([_refused(answer, what) for what, answer in cases]),
             "auth.validate-tokens": let_in or KEPT,
             "auth.validation-failure-response": every([
                 KEPT if answer.field("WWW-Authenticate") else Broken("%s: status 401, and no WWW-Authenticate" % what)
                 for what, answer in cases if answer.status == 401])}
    for id in ("auth.audience", "auth.audience-rejected", "auth.only-own-tokens", "auth.no-other-tokens"):
        found[id] = let_in or foreign
    return found


@scene("guarded-methods", "auth.audience-before-processing", wires="web", shut=True,
       only=lambda revision: revision.version_header)
def guarded_methods(stage: SceneStage) -> Said:
    """Each method is refused without a token, and with a bad one, and gives nothing away."""
    found: List[Verdict] = []
    with stage.fresh(opened=False) as talk:
        wire, _ = _guarded(talk)
        for shown in (None, "Bearer examiner-no-such-token"):
            answers = [(method, _knock(talk, wire, shown, talk.message(method, params, talk.next_id)))
                       for method, params in _METHODS]
            answers += [(method, _knock(talk, wire, shown, method=method)) for method in ("GET", "DELETE")]
            for what, answer in answers:
                reached = answer.result is not None or (answer.status is not None and answer.status // 100 == 2)
                found.append(CannotTell("%s: %s" % (what, answer)) if answer.status is None else
                             Broken("%s without a good token: %s" % (what, answer)) if reached else KEPT)
    return every(found)


@scene("malformed-authorization", "auth.status-400", wires="web", shut=True)
def malformed_authorization(stage: SceneStage) -> Said:
    """A header field that holds no token in any form is refused, with 400.

    Reading: that the field is malformed and that there is no token are both true, so 401 may be right, too.
    """
    with stage.fresh(opened=False) as talk:
        wire, _ = _guarded(talk)
        found: List[Verdict] = []
        for value in _MALFORMED:
            answer = _knock(talk, wire, value)
            what = "Authorization: %s: %s" % (value, answer)
            found.append(KEPT if answer.status == 400 else CannotTell(what) if answer.status in (None, 401)
                         else Broken(what))
    return every(found) if KEPT not in found or any(isinstance(each, Broken) for each in found) else KEPT
