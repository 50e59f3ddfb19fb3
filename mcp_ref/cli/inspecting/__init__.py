"""The command that shows sessions in a browser and lets a person take part: `inspect`.

=============== ======================================================================================================
module          what it has
=============== ======================================================================================================
`command`       the options, the listener, and the browser
`desk`          connections that a page opens, uses and closes; what servers ask and a person answers in the page
=============== ======================================================================================================

The page itself, what it is told and who may ask is in `mcp_ref.devtools.inspector`.
"""
