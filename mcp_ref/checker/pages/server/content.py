"""Rules of contents: images, audio and resources inside results [.. server/prompts §PromptMessage],
[.. server/resources §Security Considerations].
"""

from typing import Any, Dict, Iterator, List, Tuple, Union

from ...observed import RESULT, Message
from ...rules import KEPT, Broken, Verdict, rule
from ...values import has_scheme, is_base64, is_media_type, items, masked, members, short

UNDECIDED: Dict[str, str] = {}

_GET = "prompts/get"
Faults = List[Union[str, Broken]]


def _blocks(message: Message, kind: str) -> Iterator[Tuple[str, Any]]:
    """Yield the contents of a kind in the messages of a prompt, with their places."""
    for place, each in enumerate(items(message.result.get("messages"))):
        content = members(members(each).get("content"))
        if content.get("type") == kind:
            yield "result.messages[%d].content" % place, content


def _media(message: Message, kind: str) -> Verdict:
    found: Faults = []
    seen = False
    for where, content in _blocks(message, kind):
        seen = True
        data, type = content.get("data"), content.get("mimeType")
        if not isinstance(data, str) or not (masked(data) or is_base64(data)):
            found.append(Broken("the data is %s" % ("no base64" if isinstance(data, str) else "no string"),
                                where + ".data"))
        elif not isinstance(type, str) or not is_media_type(type):
            found.append(Broken("the media type is %s" % short(type), where + ".mimeType"))
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
    found: Faults = []
    seen = False
    for where, content in _blocks(message, "resource"):
        seen = True
        uri = members(content.get("resource")).get("uri")
        if not isinstance(uri, str) or not (masked(uri) or has_scheme(uri)):
            found.append(Broken("the URI is %s" % short(uri), where + ".resource.uri"))
    return found or (KEPT if seen else None)


@rule("prompts.embedded-mime", on=RESULT, method=_GET,
      disagree="server/prompts §Embedded Resources / schema.json ResourceContents.mimeType, which is optional",
      scene=_PROMPT % (_GOOD, _GOOD.replace('"mimeType": "text/plain", ', "")))
def embedded_type(message: Message) -> Verdict:
    """A resource that is embedded in a prompt has a media type."""
    found: Faults = []
    seen = False
    for where, content in _blocks(message, "resource"):
        seen = True
        type = members(content.get("resource")).get("mimeType")
        if not isinstance(type, str) or not is_media_type(type):
            found.append(Broken("the media type is %s" % short(type), where + ".resource.mimeType"))
    return found or (KEPT if seen else None)


@rule("prompts.embedded-content", on=RESULT, method=_GET, scene=_PROMPT % (
    _GOOD, _GOOD.replace('"text": "a"', '"blob": "a"')))
def embedded_content(message: Message) -> Verdict:
    """A resource that is embedded in a prompt has a text, or base64."""
    found: Faults = []
    seen = False
    for where, content in _blocks(message, "resource"):
        seen = True
        resource = members(content.get("resource"))
        text, blob = resource.get("text"), resource.get("blob")
        if isinstance(text, str) or (isinstance(blob, str) and (masked(blob) or is_base64(blob))):
            continue
        said = "the blob is no base64" if isinstance(blob, str) else "neither text nor blob"
        found.append(Broken(said, where + ".resource"))
    return found or (KEPT if seen else None)


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
    inside = [("result.contents[%d].blob" % place, each) for place, each in enumerate(
        items(message.result.get("contents")))]
    inside += [("result.content[%d].resource.blob" % place, members(each).get("resource")) for place, each in enumerate(
        items(message.result.get("content")))]
    for where, resource in inside:
        blob = members(resource).get("blob")
        if isinstance(blob, str):
            seen = True
            if not masked(blob) and not is_base64(blob):
                found.append(Broken("the blob is no base64: %s" % short(blob, 20), where))
    return found or (KEPT if seen else None)
