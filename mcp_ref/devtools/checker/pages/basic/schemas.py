"""Rules of JSON Schemas in messages [2025-11-25.. basic/index §JSON Schema Usage], beside that of valid schemas
(`tools`).
"""

from .....jsonschema import DRAFT_07, DRAFT_2020_12, SchemaError, compile
from .....wiretrace import SERVER
from ...observed import RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, Verdict, rule
from ...values import has_mask, short, violations
from ..server.tools import Validators, succeeded, tool_of

UNDECIDED.update({
    "schema.support-2020-12": "which dialects a validator knows shows in no message",
    "schema.unsupported-dialect-error": "which dialects a party supports shows in no message, and the error may be "
                                        "one for its user",
    "schema.no-network-ref": "a document is fetched over a connection of its own",
    "schema.ref-opt-in-default-off": "a default of a configuration shows in no message",
    "schema.ref-opt-in-guards": "guards are inside the party, and a fetch has a connection of its own",
    "schema.unresolved-ref-reject": "a party may have the document that a reference leads to, or have been told to "
                                    "fetch it",
    "schema.bounds": "limits inside a validator show in no message",
})


@rule("schema.validate-by-dialect", on=RESULT, method="tools/call", party=SERVER,
      reading="arguments that break a schema in its dialect, and keep it in the other, show which one was applied",
      scene="""
    on stdio 2025-11-25
    C #1 tools/list
    S #1 {"tools": [{"name": "t", "inputSchema": {"type": "object", "dependentRequired": {"a": ["b"]}}}]}
    C #2 tools/call {"name": "t", "arguments": {"a": 1}}
  + S #2 {"content": [{"type": "text", "text": "b is missing"}], "isError": true}
  - S #2 {"content": [{"type": "text", "text": "done"}]}
""")
def by_dialect(message: Message) -> Verdict:
    """A server judges arguments by the dialect that its schema declares, or by 2020-12."""
    tool, request, revision = tool_of(message), message.request, message.revision
    schema = tool.get("inputSchema") if tool is not None else None
    if tool is None or request is None or revision is None or not isinstance(schema, dict):
        return None
    arguments = request.params.get("arguments", {})
    wrong = violations(message.session.state(Validators).of(tool, "inputSchema", revision), arguments)
    if not wrong or has_mask(arguments):
        return None
    other = DRAFT_07 if schema.get("$schema", DRAFT_2020_12) == DRAFT_2020_12 else DRAFT_2020_12
    try:
        if not compile({**schema, "$schema": other}).is_valid(arguments):
            return None
    except SchemaError:
        return None
    if not succeeded(message):
        return KEPT
    return Broken("the call succeeds though %s" % short(wrong[0].about("arguments"), 80), "params.arguments")
