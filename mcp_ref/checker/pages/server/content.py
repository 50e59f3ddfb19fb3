"""Rules of contents: images, audio and resources inside results [.. server/prompts §PromptMessage],
[.. server/resources §Security Considerations].
"""

from typing import Any, Callable, Iterator, List, Mapping, Tuple, Union

from ...observed import RESULT, Message
from ...rules import KEPT, Broken, Verdict, rule
from ...values import has_scheme, is_base64, is_media_type, items, masked, members, short

_GET = "prompts/get"
Faults = List[Union[str, Broken]]


def _blocks(message: Message, kind: str) -> Iterator[Tuple[str, Any]]:
    """Yield the contents of a kind in the messages of a prompt, with their places."""
    for place, each in enumerate(items(message.result.get("messages"))):
        content = members(members(each).get("content"))
        if content.get("type") == kind:
            yield "result.messages[%d].content" % place, content


def _media(message: Message, kind: str) -> Verdict:
    def wrong(content: Mapping[str, Any]) -> Tuple[str, str]:
        data, type = content.get("data"), content.get("mimeType")
        if not isinstance(data, str) or not (masked(data) or is_base64(data)):
            return "the data is %s" % ("no base64" if isinstance(data, str) else "no string"), ".data"
        if not isinstance(type, str) or not is_media_type(type):
            return "the media type is %s" % short(type), ".mimeType"
        return "", ""

    return _each(message, kind, wrong)


def _each(message: Message, kind: str, wrong: Callable[[Mapping[str, Any]], Tuple[str, str]]) -> Verdict:
    """Judge the contents of a kind: ``wrong`` returns what is wrong with one, "" if nothing is, and where in it."""
    found: Faults = []
    seen = False
    for where, content in _blocks(message, kind):
        seen = True
        said, member = wrong(content)
        if said:
            found.append(Broken(said, where + member))
    return found or (KEPT if seen else None)


_PROMPT = """
    on stdio 2025-06-18
    C #1 prompts/get {"name": "p"}
  + S #1 {"messages": [{"role": "user", "content": %s}]}
  - S #1 {"messages": [{"role": "user", "content": %s}]}
"""


@rule("prompts.image-base64", on=RESULT, method=_GET, scene=_PROMPT % (
    '{"type": "image", "data": "aGk=", "mimeType": "image/png"}',
    '{"type": "image", "data": "http://x/y.png", "mimeType": "image/png"}'))
def image(message: Message) -> Verdict:
    """An image in a prompt is base64, and has a media type."""
    return _media(message, "image")


@rule("prompts.audio-base64", on=RESULT, method=_GET, scene=_PROMPT % (
    '{"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}',
    '{"type": "audio", "data": "aGk=", "mimeType": "wav"}'))
def audio(message: Message) -> Verdict:
    """Audio in a prompt is base64, and has a media type."""
    return _media(message, "audio")


_GOOD = '{"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "a"}}'


@rule("prompts.embedded-uri", on=RESULT, method=_GET, scene=_PROMPT % (
    _GOOD, _GOOD.replace("file:///a", "a b")))
def embedded_uri(message: Message) -> Verdict:
    """A resource that is embedded in a prompt has a URI with a scheme."""
    def wrong(content: Mapping[str, Any]) -> Tuple[str, str]:
        uri = members(content.get("resource")).get("uri")
        good = isinstance(uri, str) and (masked(uri) or has_scheme(uri))
        return "" if good else "the URI is %s" % short(uri), ".resource.uri"

    return _each(message, "resource", wrong)


@rule("prompts.embedded-mime", on=RESULT, method=_GET,
      disagree="server/prompts §Embedded Resources / schema.json ResourceContents.mimeType, which is optional",
      scene=_PROMPT % (_GOOD, _GOOD.replace('"mimeType": "text/plain", ', "")))
def embedded_type(message: Message) -> Verdict:
    """A resource that is embedded in a prompt has a media type."""
    def wrong(content: Mapping[str, Any]) -> Tuple[str, str]:
        type = members(content.get("resource")).get("mimeType")
        good = isinstance(type, str) and is_media_type(type)
        return "" if good else "the media type is %s" % short(type), ".resource.mimeType"

    return _each(message, "resource", wrong)


@rule("prompts.embedded-content", on=RESULT, method=_GET, scene=_PROMPT % (
    _GOOD, _GOOD.replace('"text": "a"', '"blob": "a"')))
def embedded_content(message: Message) -> Verdict:
    """A resource that is embedded in a prompt has a text, or base64."""
    def wrong(content: Mapping[str, Any]) -> Tuple[str, str]:
        resource = members(content.get("resource"))
        text, blob = resource.get("text"), resource.get("blob")
        if isinstance(text, str) or (isinstance(blob, str) and (masked(blob) or is_base64(blob))):
            return "", ""
        return "the blob is no base64" if isinstance(blob, str) else "neither text nor blob", ".resource"

    return _each(message, "resource", wrong)


@rule("resources.binary-encoded", on=RESULT, method=("resources/read", "tools/call"),
      follows="apps.content-text-or-blob", scene="""
    on stdio 2025-06-18
    C #1 resources/read {"uri": "file:///a"}
  + S #1 {"contents": [{"uri": "file:///a", "blob": "aGk="}]}
  - S #1 {"contents": [{"uri": "file:///a", "blob": "aGk-_w"}]}
""")
def binary(message: Message) -> Verdict:
    """The blob of a resource is base64."""
    found: Faults = []
    seen = False
    inside: List[Tuple[str, int, Any]] = [
        ("result.contents[%d].blob", place, each) for place, each in enumerate(items(message.result.get("contents")))]
    inside += [("result.content[%d].resource.blob", place, each["resource"])
               for place, each in enumerate(items(message.result.get("content")))
               if isinstance(each, dict) and "resource" in each]
    for where, place, resource in inside:
        blob = members(resource).get("blob")
        if isinstance(blob, str):
            seen = True
            if not masked(blob) and not is_base64(blob):
                found.append(Broken("the blob is no base64: %s" % short(blob, 20), where % place))
    return found or (KEPT if seen else None)
