"""The state between rounds: what was sealed comes back; what was not, or for another request, gets one answer."""
import base64
import json

import pytest

from mcp_ref.errors import INVALID_PARAMS
from mcp_ref.protocol import requeststate
from mcp_ref.protocol.requeststate import REFUSAL, Keys, State, StateRefused, bind, digest, seal, unseal

KEYS = Keys(["a key that is long enough"])
PARAMS = {"name": "deploy", "arguments": {"service": "x", "size": 3}}
BOUND = bind("ann", "tools/call", PARAMS)
NOW = 1000.0
MOST = 20_000


def full(**more):
    return State("unique", 2000, 3, {"size": "digest"}, {"region": ["digest", {"action": "accept"}]},
                 {"ticket": [7, ["inner"]]}, "a note", **more)


def open_(token, bound=BOUND, keys=KEYS, now=NOW, most=MOST):
    return unseal(token, bound, keys, now, most)


def refused(*arguments, **options):
    """Why a token is refused; what is sent never says it."""
    with pytest.raises(StateRefused) as caught:
        open_(*arguments, **options)
    error = caught.value
    assert (error.code, error.message, error.data) == (INVALID_PARAMS, REFUSAL, None)
    return error.reason


def fields(state):
    return {name: getattr(state, name) for name in State.__dataclass_fields__}


# --- There and back ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("state", [full(), State("i", 2000), State("i", 2000, note="")],
                         ids=["full", "empty", "an empty note"])
def test_a_state_comes_back_as_it_was(state):
    assert fields(open_(seal(state, BOUND, KEYS))) == fields(state)


def test_a_token_is_ascii_that_any_transport_carries():
    token = seal(full(), BOUND, KEYS)
    assert token.isascii() and token.replace("-", "").replace("_", "").replace(".", "").isalnum()


def test_what_says_nothing_takes_no_room():
    form, _, payload, _ = seal(State("i", 2000), BOUND, KEYS).split(".")
    said = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert form == "r1" and sorted(said) == ["b", "e", "i", "n"]


def test_the_client_can_read_what_is_in_it():
    """It is signed, not encrypted; the module's text says so."""
    payload = seal(full(), BOUND, KEYS).split(".")[2]
    assert b'"accept"' in base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    assert "signed and not encrypted" in requeststate.__doc__


def test_params_may_come_in_another_order():
    other = {"arguments": {"size": 3, "service": "x"}, "name": "deploy"}
    assert open_(seal(full(), BOUND, KEYS), bind("ann", "tools/call", other)).id == "unique"


@pytest.mark.parametrize("more", [
    {"_meta": {"progressToken": 7}}, {"requestState": "x"}, {"inputResponses": {"size": {"action": "accept"}}},
])
def test_what_belongs_to_the_round_is_not_bound(more):
    assert open_(seal(full(), BOUND, KEYS), bind("ann", "tools/call", dict(PARAMS, **more))).id == "unique"


def test_digests_tell_values_apart():
    values = [None, 0, False, "", "0", [], {}, [[]], {"a": 1}, {"a": "1"}, {"a": [1]}, {"b": 1}, 1.5, "\U0001f600"]
    assert len({digest(value) for value in values}) == len(values)


# --- Refused ----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("mrtr.state-request-binding")
@pytest.mark.parametrize("bound, name", [
    (bind("bob", "tools/call", PARAMS), "principal"),
    (bind(None, "tools/call", PARAMS), "principal"),
    (bind(["ann"], "tools/call", PARAMS), "principal"),
    (bind("ann", "prompts/get", PARAMS), "method"),
    (bind("ann", "tools/call", {}), "params"),
    (bind("ann", "tools/call", dict(PARAMS, name="destroy")), "params"),
    (bind("ann", "tools/call", dict(PARAMS, arguments={"service": "x", "size": 4})), "params"),
    (bind("ann", "tools/call", dict(PARAMS, task={})), "params"),
    (bind("ann", "tools/call", PARAMS, ["other", None]), "server"),
])
def test_it_belongs_to_one_request(bound, name):
    assert refused(seal(full(), BOUND, KEYS), bound).endswith("another value of %s" % name)


@pytest.mark.spec("mrtr.state-request-binding")
def test_it_belongs_to_one_server():
    ours, theirs = (bind("ann", "tools/call", PARAMS, [name, "https://mcp.example"]) for name in ("ours", "theirs"))
    assert open_(seal(full(), ours, KEYS), ours).id == "unique"
    for other in (theirs, BOUND, bind("ann", "tools/call", PARAMS, ["ours", "https://other.example"])):
        assert refused(seal(full(), ours, KEYS), other).endswith("another value of server")
    before = ours[:3]  # as version 0.5.0 bound them
    assert refused(seal(full(), before, KEYS), ours).endswith("another value of server")


@pytest.mark.parametrize("now, good", [(0.0, True), (1999.9, True), (2000.0, False), (2000.1, False), (9e9, False)])
def test_it_is_good_until_it_expires(now, good):
    token = seal(full(), BOUND, KEYS)
    if good:
        assert open_(token, now=now).expires == 2000
    else:
        assert refused(token, now=now) == "it has expired"


def test_every_altered_sign_is_noticed():
    token = seal(State("i", 2000), BOUND, KEYS)
    for at in range(len(token)):
        for sign in {"A", "B", ".", "=", "-"} - {token[at]}:
            refused(token[:at] + sign + token[at + 1:])


def test_every_shortened_and_lengthened_one_is_noticed():
    token = seal(State("i", 2000), BOUND, KEYS)
    for length in range(len(token)):
        refused(token[:length])
        refused(token[length:] if length else token + "A")
    for more in ("x", ".", "=", "==", "\n", " ", ".A", "-TAMPERED"):
        refused(token + more)
        refused(more + token)


NESTED = base64.urlsafe_b64encode(b"[" * 5000 + b"]" * 5000).decode().rstrip("=")
WIDE = base64.urlsafe_b64encode(b"[" + b"{}," * 2000 + b"{}]").decode().rstrip("=")


@pytest.mark.parametrize("token", [
    None, True, 0, 1.5, [], {}, ["r1"], b"r1.a.b.c", "", ".", "...", "....", "r1...", "r1.a.b", "r2.a.b.c", "a" * 100,
    "\x00", "\u2028" * 10, "\ud800", "e\u0301.\u00e9.r1.x", "r1.\u0661.b.c", "r1.%s." % KEYS.first,
    "r1.AAAAAAAA.e30.AAAA",
    "r1.%s.!!!.AAAA" % KEYS.first, "r1.%s.%s.AAAA" % (KEYS.first, NESTED), "r1.%s.%s.AAAA" % (KEYS.first, WIDE),
    "r1.%s.eyJhIjoxfQ.%s" % (KEYS.first, "A" * 43),
], ids=lambda value: repr(value)[:40])
def test_what_we_never_made_is_refused(token):
    assert refused(token)


def test_nothing_of_it_is_decoded_before_its_signature_was_found_right(monkeypatch):
    monkeypatch.setattr(requeststate, "urlsafe_b64decode", lambda text: pytest.fail("decoded"))
    monkeypatch.setattr(requeststate.json, "loads", lambda data: pytest.fail("parsed"))
    good = seal(full(), BOUND, KEYS)
    for token in (good[:-1] + ("A" if good[-1] != "A" else "B"), "r1.%s.%s.AAAA" % (KEYS.first, NESTED)):
        assert refused(token) == "the signature is wrong"


def test_one_that_is_too_long_is_not_even_looked_at(monkeypatch):
    token = seal(full(), BOUND, KEYS)
    monkeypatch.setattr(Keys, "sign", lambda *arguments: pytest.fail("signed"))
    assert "max_state_bytes (%d)" % (len(token) - 1) in refused(token, most=len(token) - 1)
    assert refused("r1." * 100_000)


def test_signatures_are_compared_in_constant_time(monkeypatch):
    compared = []
    monkeypatch.setattr(requeststate.hmac, "compare_digest", lambda a, b: compared.append((a, b)) or False)
    token = seal(full(), BOUND, KEYS)
    assert refused(token) == "the signature is wrong"
    (ours, theirs), = compared
    assert ours == theirs == token.rpartition(".")[2]


@pytest.mark.parametrize("payload", [
    b"", b"[]", b"null", b"{}", b"\xff", b"{", b"[" * 5000 + b"]" * 5000, b'{"b":["","",""],"i":"x","e":"later"}',
    b'{"b":["",""],"i":"x","e":1}', b'{"b":1,"i":"x","e":1}', b'{"b":["","",""],"i":"x","e":1,"a":[]}',
    b'{"b":["","",""],"i":"x","e":1,"n":"1"}', b'{"b":["","",""],"i":"x","e":1,"u":7}',
], ids=lambda value: repr(value)[:40])
def test_one_that_another_program_signed_with_our_key_is_refused(payload):
    body = "r1.%s.%s" % (KEYS.first, base64.urlsafe_b64encode(payload).decode().rstrip("="))
    assert refused("%s.%s" % (body, KEYS.sign(KEYS.first, body))) == "it cannot be read, though it is signed"


# --- Keys -------------------------------------------------------------------------------------------------------------

OLD, NEW, OTHER = "an old key, long enough", b"a new key, long enough \xff", "somebody else's, long enough"


def test_the_first_key_signs_and_all_verify():
    before, between, after = Keys([OLD]), Keys([NEW, OLD]), Keys([NEW])
    by_old, by_new = seal(full(), BOUND, before), seal(full(), BOUND, between)
    assert open_(by_old, keys=between).id == open_(by_new, keys=between).id == open_(by_new, keys=after).id == "unique"
    assert "all processes need the same state_keys" in refused(by_old, keys=after)
    assert by_new.split(".")[1] == after.first == between.first != before.first


def test_another_key_under_the_same_id_does_not_verify():
    other = Keys([OTHER])
    other._keys = {KEYS.first: other._keys[other.first]}
    assert refused(seal(full(), BOUND, KEYS), keys=other) == "the signature is wrong"


@pytest.mark.parametrize("keys, error", [
    ([], ValueError), ("a key that is long enough", TypeError), (b"a key that is long enough", TypeError),
    (["short"], ValueError), (["long enough to be a key", "x" * 15], ValueError), ([7], TypeError), ([None], TypeError),
])
def test_bad_keys_are_refused_without_showing_them(keys, error):
    with pytest.raises(error) as caught:
        Keys(keys)
    assert not [secret for secret in ("short", "xxx", "long enough") if secret in str(caught.value)]


def test_keys_and_states_do_not_show_themselves():
    assert "long enough" not in repr(KEYS) and "accept" not in repr(full())
