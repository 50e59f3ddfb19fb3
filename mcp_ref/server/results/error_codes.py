"""Error codes that a handler may want to send, and that not every client may be sent.

=================  =============================================================================================
code               where it may not be sent
=================  =============================================================================================
-32042             becomes an ordinary failure; see `mcp_ref.server.elicitation_url.UrlElicitationRequired`
-32002             becomes the revision's own code for a resource that is not there
-32099 to -32020   reserved for the protocol: what the revision does not define becomes an internal error
=================  =============================================================================================

[2026-07-28 basic/index §Error Codes] MUST NOT
"""

from ...errors import CODES, RESERVED, RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED, LocalProtocolError, RpcError
from ...revisions import Revision
from ..context import Context


def revised(context: Context, error: RpcError, in_tool: bool) -> Exception:
    """What is sent for this error to who sent this request: itself, or what it becomes."""
    rules = context.session.rules
    if error.code == URL_ELICITATION_REQUIRED:
        from ..elicitation_url import required

        return required(context, error, in_tool)
    if error.code == RESOURCE_NOT_FOUND:
        return RpcError(rules.resource_not_found_code, error.message, error.data)
    if rules.stateless and error.code in RESERVED and not _defined(error.code, rules):
        text = "the code %d is reserved for the protocol: use one outside of -32768 to -32000" % error.code
        return LocalProtocolError(text, "2026-07-28 basic/index §Error Codes")
    return error


def _defined(code: int, rules: Revision) -> bool:
    row = CODES.get(code)
    return row is not None and rules.has(row.since, row.until)
