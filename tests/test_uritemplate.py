"""URI templates: expansion as RFC 6570 gives it, and the way back from a URI to the values."""

import random
import re
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest

from mcp_ref import uritemplate
from mcp_ref.uritemplate import MAX_MATCHED_VARIABLES, Template, expand, match, variables

BASE = "http://example.com/%s/" % "home"  # in two parts: together it looks like a path of this machine

# The variables of [RFC 6570 §3.2] and those of its introduction.
RFC: Dict[str, Any] = {
    "count": ["one", "two", "three"], "dom": ["example", "com"], "dub": "me/too", "hello": "Hello World!",
    "half": "50%",
    "var": "value", "who": "fred", "base": BASE, "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "keys": {"semi": ";", "dot": ".", "comma": ","}, "v": "6", "x": "1024", "y": "768", "empty": "", "empty_keys": {},
    "undef": None, "year": ["1965", "2000", "2012"], "semi": ";",
}
EXPANSIONS = [
    # [RFC 6570 §1.2] the four levels
    ("{var}", "value"), ("{hello}", "Hello%20World%21"), ("{+var}", "value"), ("{+hello}", "Hello%20World!"),
    ("{+path}/here", "/foo/bar/here"), ("here?ref={+path}", "here?ref=/foo/bar"), ("X{#var}", "X#value"),
    ("X{#hello}", "X#Hello%20World!"), ("map?{x,y}", "map?1024,768"), ("{x,hello,y}", "1024,Hello%20World%21,768"),
    ("{+x,hello,y}", "1024,Hello%20World!,768"), ("{+path,x}/here", "/foo/bar,1024/here"),
    ("{#x,hello,y}", "#1024,Hello%20World!,768"), ("{#path,x}/here", "#/foo/bar,1024/here"), ("X{.var}", "X.value"),
    ("X{.x,y}", "X.1024.768"), ("{/var}", "/value"), ("{/var,x}/here", "/value/1024/here"), ("{;x,y}", ";x=1024;y=768"),
    ("{;x,y,empty}", ";x=1024;y=768;empty"), ("{?x,y}", "?x=1024&y=768"), ("{?x,y,empty}", "?x=1024&y=768&empty="),
    ("?fixed=yes{&x}", "?fixed=yes&x=1024"), ("{&x,y,empty}", "&x=1024&y=768&empty="), ("{var:3}", "val"),
    ("{var:30}", "value"), ("{list}", "red,green,blue"), ("{list*}", "red,green,blue"),
    ("{keys}", "semi,%3B,dot,.,comma,%2C"), ("{keys*}", "semi=%3B,dot=.,comma=%2C"), ("{+path:6}/here", "/foo/b/here"),
    ("{+list}", "red,green,blue"), ("{+list*}", "red,green,blue"), ("{+keys}", "semi,;,dot,.,comma,,"),
    ("{+keys*}", "semi=;,dot=.,comma=,"), ("{#path:6}/here", "#/foo/b/here"), ("{#list}", "#red,green,blue"),
    ("{#list*}", "#red,green,blue"), ("{#keys}", "#semi,;,dot,.,comma,,"), ("{#keys*}", "#semi=;,dot=.,comma=,"),
    ("X{.var:3}", "X.val"), ("X{.list}", "X.red,green,blue"), ("X{.list*}", "X.red.green.blue"),
    ("X{.keys}", "X.semi,%3B,dot,.,comma,%2C"), ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
    ("{/var:1,var}", "/v/value"),
    ("{/list}", "/red,green,blue"), ("{/list*}", "/red/green/blue"), ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
    ("{/keys}", "/semi,%3B,dot,.,comma,%2C"), ("{/keys*}", "/semi=%3B/dot=./comma=%2C"), ("{;hello:5}", ";hello=Hello"),
    ("{;list}", ";list=red,green,blue"), ("{;list*}", ";list=red;list=green;list=blue"),
    ("{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"), ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"), ("{?var:3}", "?var=val"),
    ("{?list}", "?list=red,green,blue"), ("{?list*}", "?list=red&list=green&list=blue"),
    ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"), ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"), ("{&var:3}", "&var=val"),
    ("{&list}", "&list=red,green,blue"), ("{&list*}", "&list=red&list=green&list=blue"),
    ("{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"), ("{&keys*}", "&semi=%3B&dot=.&comma=%2C"),
    # [RFC 6570 §2.4] modifiers
    ("{var:20}", "value"), ("{semi}", "%3B"), ("{semi:2}", "%3B"),
    ("find{?year*}", "find?year=1965&year=2000&year=2012"),
    ("www{.dom*}", "www.example.com"),
    # [RFC 6570 §3.2.1] to [RFC 6570 §3.2.9]
    ("{count}", "one,two,three"), ("{count*}", "one,two,three"), ("{/count}", "/one,two,three"),
    ("{/count*}", "/one/two/three"), ("{;count}", ";count=one,two,three"),
    ("{;count*}", ";count=one;count=two;count=three"),
    ("{?count}", "?count=one,two,three"), ("{?count*}", "?count=one&count=two&count=three"),
    ("{&count*}", "&count=one&count=two&count=three"), ("{half}", "50%25"), ("O{empty}X", "OX"), ("O{undef}X", "OX"),
    ("{x,y}", "1024,768"), ("?{x,empty}", "?1024,"), ("?{x,undef}", "?1024"), ("?{undef,y}", "?768"),
    ("{+half}", "50%25"),
    ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"), ("{+base}index", BASE + "index"),
    ("O{+empty}X", "OX"), ("O{+undef}X", "OX"), ("up{+path}{var}/here", "up/foo/barvalue/here"), ("{#var}", "#value"),
    ("{#hello}", "#Hello%20World!"), ("{#half}", "#50%25"), ("foo{#empty}", "foo#"), ("foo{#undef}", "foo"),
    ("{.who}", ".fred"),
    ("{.who,who}", ".fred.fred"), ("{.half,who}", ".50%25.fred"), ("X{.empty}", "X."), ("X{.undef}", "X"),
    ("X{.empty_keys}", "X"), ("X{.empty_keys*}", "X"), ("{/who}", "/fred"), ("{/who,who}", "/fred/fred"),
    ("{/half,who}", "/50%25/fred"), ("{/who,dub}", "/fred/me%2Ftoo"), ("{/var,empty}", "/value/"),
    ("{/var,undef}", "/value"),
    ("{;who}", ";who=fred"), ("{;half}", ";half=50%25"), ("{;empty}", ";empty"),
    ("{;v,empty,who}", ";v=6;empty;who=fred"),
    ("{;v,bar,who}", ";v=6;who=fred"), ("{;x,y,undef}", ";x=1024;y=768"), ("{?who}", "?who=fred"),
    ("{?half}", "?half=50%25"),
    ("{?x,y,undef}", "?x=1024&y=768"), ("{&who}", "&who=fred"), ("{&half}", "&half=50%25"),
    ("{&x,y,undef}", "&x=1024&y=768"),
    # literals [RFC 6570 §3.1]
    ("", ""), ("a/b?c=d#e", "a/b?c=d#e"), ("'{var}'", "'value'"), ("caf\u00e9", "caf%C3%A9"),
    ("\U0001F600", "%F0%9F%98%80"),
    ("%e9{var}", "%e9value"), ("[!$&()*+,;=:@]", "[!$&()*+,;=:@]"), ("~-._", "~-._"),
]


@pytest.mark.parametrize("template, expected", EXPANSIONS)
def test_every_example_of_the_rfc_expands_as_printed(template: str, expected: str) -> None:
    """[RFC 6570 §3.2]"""
    assert expand(template, RFC) == expected


VALUES = [
    ("{x}", 6, "6"), ("{x}", -122.427, "-122.427"), ("{x}", True, "true"), ("{x}", False, "false"),
    ("{x:2}", 1024, "10"),
    ("{x}", [], ""), ("{?x}", {}, ""), ("{?x*}", {}, ""), ("{x}", [None], ""), ("{?x}", {"a": None}, ""),
    ("{x}", [1, None, 2], "1,2"),
    ("{x*}", ("a", "b"), "a,b"), ("{?x*}", {"a": None, "b": 1}, "?b=1"), ("{?x*}", [""], "?x="),
    ("{;x*}", ["", "a"], ";x;x=a"),
    ("{;x*}", {"a": ""}, ";a"), ("{x*}", {"a": ""}, "a="), ("{/x*}", [""], "/"), ("{?x}", [""], "?x="),
    ("{x*}", {1: True}, "1=true"),
    ("{?x*}", {"\u00e9&": "="}, "?%C3%A9%26=%3D"), ("{+x*}", {"a/b": "c/d"}, "a/b=c/d"), ("{x}", "\u20ac", "%E2%82%AC"),
    ("{x:1}", "\u20acb", "%E2%82%AC"), ("{x:2}", "\U0001F600bc", "%F0%9F%98%80b"), ("{x}", "\x00\n", "%00%0A"),
    ("{+x}", "admin%2F", "admin%2F"), ("{x}", "admin%2F", "admin%252F"), ("{+x}", "%foo", "%25foo"),
    ("{+x}", "50%", "50%25"),
    ("{+x}", "%", "%25"), ("{+x}", "a%2", "a%252"), ("{#x}", ["red%25", "blue "], "#red%25,blue%20"),
    ("{+x:2}", "a%2Fb", "a%2F"),
    ("{+x:1}", "%E2%82%ACb", "%E2%82%AC"), ("{+x:2}", "%E2%82%ACb", "%E2%82%ACb"), ("{+x:1}", "%E2b", "%E2"),
    ("{x:2}", "a%2Fb", "a%25"),
    ("{+x:3}", "%zzb", "%25zz"), ("{+x}", "[]", "[]"), ("{x}", "~-._", "~-._"),
]


@pytest.mark.parametrize("template, value, expected", VALUES)
def test_values_of_every_kind_expand(template: str, value: Any, expected: str) -> None:
    """[RFC 6570 §2.3]"""
    assert expand(template, {"x": value}) == expected


def test_names_may_have_dots_and_percent_encoded_bytes() -> None:
    """[RFC 6570 §2.3]"""
    values = {"last.name": "D", "Stra%C3%9Fe": "W", "_1": 2}
    assert expand("{?last.name,Stra%C3%9Fe,_1}", values) == "?last.name=D&Stra%C3%9Fe=W&_1=2"


MALFORMED = [
    ("{", 0, "not closed"), ("a{b", 1, "not closed"), ("{/id*", 0, "not closed"), ("/id*}", 4, "'}' is not allowed"),
    ("{}", 1, "'' is no variable"),
    ("{a,}", 3, "'' is no variable"), ("{,a}", 1, "operator ','"), ("{!a}", 1, "operator '!'"),
    ("{=a}", 1, "operator '='"),
    ("{|a}", 1, "operator '|'"), ("{@a}", 1, "operator '@'"), ("{$a}", 1, "'$a' is no variable"),
    ("{??a}", 2, "'?a' is no variable"),
    ("{a b}", 1, "is no variable"), ("{ a}", 1, "is no variable"), ("{a }", 1, "is no variable"),
    ("{?x, y}", 4, "' y' is no variable"),
    ("{a-b}", 1, "is no variable"), ("{~a}", 1, "is no variable"), ("{.a..b}", 2, "is no variable"),
    ("{..a}", 2, "is no variable"),
    ("{a.}", 1, "is no variable"), ("{a%2}", 1, "is no variable"), ("{a%zz}", 1, "is no variable"),
    ("{\u00e9}", 1, "is no variable"),
    ("{?}", 2, "'' is no variable"), ("{+}", 2, "'' is no variable"), ("{a:}", 1, "1 to 9999"),
    ("{a:0}", 1, "1 to 9999"), ("{a:01}", 1, "1 to 9999"),
    ("{a:10000}", 1, "1 to 9999"), ("{a:-1}", 1, "1 to 9999"), ("{a:b}", 1, "1 to 9999"),
    ("{a:\u0661}", 1, "1 to 9999"), ("{a:2*}", 1, "is no variable"),
    ("{a*:2}", 1, "is no variable"), ("{a**}", 1, "is no variable"), ("{a=b}", 1, "is no variable"),
    ("{{a}}", 1, "is no variable"),
    ("a}", 1, "not allowed"), ("a b", 1, "not allowed"), ("a\"b", 1, "not allowed"), ("<a>", 0, "not allowed"),
    ("a\\b", 1, "not allowed"),
    ("a^b", 1, "not allowed"), ("a`b", 1, "not allowed"), ("a|b", 1, "not allowed"), ("a\x00", 1, "not allowed"),
    ("a\x7f", 1, "not allowed"),
    ("a\x85", 1, "not allowed"), ("a%", 1, "two hexadecimal digits"), ("a%2", 1, "two hexadecimal digits"),
    ("a%2{b}", 1, "two hexadecimal digits"),
    ("a%gg", 1, "two hexadecimal digits"), ("{a}\ud800", 3, "lone surrogate"),
]


@pytest.mark.parametrize("template, at, reason", MALFORMED)
def test_malformed_template_is_refused_with_reason_and_place(template: str, at: int, reason: str) -> None:
    """[RFC 6570 §3]"""
    for use in (Template, variables, lambda text: expand(text, {}), lambda text: match(text, "x")):
        with pytest.raises(ValueError, match=re.escape(reason)) as refusal:
            use(template)
        assert " at %d: " % at in str(refusal.value)


@pytest.mark.parametrize("template, value, reason", [
    ("{x:1}", ["a"], "no prefix"), ("{x:1}", {"a": 1}, "no prefix"), ("{+x:1}", [], "no prefix"),
    ("{x}", [["a"]], "list cannot stand"),
    ("{x}", {"a": {}}, "dict cannot stand"), ("{x}", object(), "object cannot stand"),
    ("{x}", b"a", "bytes cannot stand"),
    ("{x}", "\ud800", "lone surrogate"), ("{x*}", {"\udfff": "a"}, "lone surrogate"),
])
def test_value_without_expansion_is_refused_by_the_name_of_its_variable(template: str, value: Any, reason: str) -> None:
    with pytest.raises(ValueError, match="variable 'x': .*" + reason):
        expand(template, {"x": value})


def test_expansion_has_a_limit_on_its_length() -> None:
    with pytest.raises(ValueError, match="MAX_EXPANDED_LENGTH = 1000000"):
        expand("{a}" * 30_000, {"a": "x" * 100_000})
    assert len(expand("{a}", {"a": "x" * uritemplate.MAX_EXPANDED_LENGTH})) == uritemplate.MAX_EXPANDED_LENGTH


def test_variables_come_in_order_and_once() -> None:
    assert variables("/{b}{/a*,c:3}/x{?b,d}{&e}") == ["b", "a", "c", "d", "e"]
    assert variables("plain") == []
    assert repr(Template("{a}")) == "Template('{a}')"


# -- matching

MATCHES: List[Tuple[str, str, Optional[Dict[str, Any]]]] = [
    # literals
    ("", "", {}), ("", "a", None), ("abc", "abc", {}), ("abc", "abcd", None), ("abc", "ab", None), ("abc", "", None),
    ("abc", "ABC", None),
    ("caf\u00e9", "caf%C3%A9", {}), ("caf\u00e9", "caf\u00e9", {}), ("aa{x}aa", "aaa", None), ("aa{/x}aa", "aaa", None),
    ("aa{x}aa", "aaaa", None), ("aa{x}aa", "aabaa", {"x": "b"}),
    # one variable
    ("greeting://{name}", "greeting://World", {"name": "World"}), ("greeting://{name}", "greeting://", None),
    ("greeting://{name}", "greeting://a/b", None), ("greeting://{name}", "Greeting://a", None),
    ("greeting://{name}", "greeting://a?b", None),
    ("greeting://{name}", "greeting://a#b", None), ("greeting://{name}", "greeting://Jos%C3%A9", {"name": "Jos\u00e9"}),
    ("greeting://{name}", "greeting://Jos\u00e9", {"name": "Jos\u00e9"}),
    ("greeting://{name}", "greeting://a,b", {"name": "a,b"}),
    ("greeting://{name}", "greeting://a%2Cb", {"name": "a,b"}),
    ("greeting://{name}", "greeting://a+b%20c", {"name": "a+b c"}),
    ("greeting://{name}", "greeting://a:@!$&'()*;=b", {"name": "a:@!$&'()*;=b"}),
    ("{x}", "\U0001F600", {"x": "\U0001F600"}),
    # what is no text
    ("{x}", "%", None), ("{x}", "%2", None), ("{x}", "%zz", None), ("{x}", "\u00e9%zz", None), ("{x}", "%ff", None),
    ("{x}", "%C3", None),
    ("{x}", "%ED%A0%80", None), ("{x}", "\ud800", None), ("{x}", "%C0%80", None), ("{?x}", "?x=%ff", None),
    ("{?x*}", "?%ff=a", None),
    ("{?x*}", "?a=%ff", None), ("{?x*}", "?x=%ff", None), ("{x*}", "a,%ff", None), ("{x}", "%00", {"x": "\x00"}),
    # several variables
    ("{a}-{b}", "1-2-3", {"a": "1", "b": "2-3"}), ("{a}-{b}", "-2", None), ("{a}-{b}", "--2", {"a": "-", "b": "2"}),
    ("{a}--{b}", "1---2", {"a": "1", "b": "-2"}),
    ("users/{id}/posts/{post}", "users/1/posts/2", {"id": "1", "post": "2"}),
    ("users/{id}/posts/{post}", "users/1/2/posts/2", None),
    ("{a}.{b}.txt", "x.y.z.txt", {"a": "x", "b": "y.z"}), ("{a}.{b}.txt", "x.txt", None),
    ("v{a}x{b}", "vxxx", {"a": "x", "b": "x"}),
    ("{x,y}", "1,2,3", {"x": "1", "y": "2,3"}), ("{x,y}", "1", {"x": "1"}), ("{x,y}", "1,", {"x": "1", "y": ""}),
    ("map?{x,y}", "map?1,2", {"x": "1", "y": "2"}),
    # reserved text
    ("file:///{+path}", "file:///a/b.txt", {"path": "a/b.txt"}),
    ("file:///{+path}", "file:///a?b#c", {"path": "a?b#c"}),
    ("file:///{+path}", "file:///", None), ("{+path}/here", "/foo/here/here", {"path": "/foo/here"}),
    ("{+p}/x{v}", "a/xb/xc", {"p": "a/xb", "v": "c"}),
    ("{+a}/{+b}", "1/2/3", {"a": "1", "b": "2/3"}),
    ("{+scheme}://{host}/{+path}", "a://b/c/d", {"scheme": "a", "host": "b", "path": "c/d"}),
    ("{+x,y}", "a/b,c,d", {"x": "a/b", "y": "c,d"}),
    ("{+url}{?q}", "h://x/?b=c?q=1", {"url": "h://x/?b=c", "q": "1"}), ("{+url}{?q}", "a?b=c", {"url": "a?b=c"}),
    ("x{#f}", "x", {}), ("x{#f}", "x#", {"f": ""}), ("x{#f}", "x#a/b?c#d", {"f": "a/b?c#d"}), ("x{#f}", "xa", None),
    ("{#a,b}", "#1,2,3", {"a": "1", "b": "2,3"}),
    # labels and path segments
    ("X{.var}", "X", {}), ("X{.var}", "X.", {"var": ""}), ("X{.var}", "X.a.b", {"var": "a.b"}),
    ("{name}{.ext}", "archive.tar.gz", {"name": "archive", "ext": "tar.gz"}),
    ("{name}{.ext}", "readme", {"name": "readme"}), ("{name}{.ext}", ".gitignore", {"name": ".gitignore"}),
    ("www{.dom*}", "www.example.com", {"dom": ["example", "com"]}),
    ("{.a,b}", ".1.2", {"a": "1", "b": "2"}), ("{/a}", "", {}), ("{/a}", "/", {"a": ""}), ("{/a}", "/1/2", None),
    ("{/a,b}", "/1/2", {"a": "1", "b": "2"}),
    ("{/a}{/b}", "/1", {"a": "1"}), ("{/a}{/b}/x", "/1/x", {"a": "1"}), ("{/a,b}", "/1/2/3", None),
    ("/d{/list*}", "/d/1//3", {"list": ["1", "", "3"]}), ("/d{/list*}", "/d", {}),
    ("{/list*,last}", "/a/b/c", {"list": ["a", "b"], "last": "c"}),
    ("{/list*}/end", "/a/end/end", {"list": ["a", "end"]}), ("{x*}", "a,b", {"x": ["a", "b"]}),
    ("{x*}", "a", {"x": ["a"]}), ("{x}", "red,green", {"x": "red,green"}), ("{+x*}", "a/b,c", {"x": ["a/b", "c"]}),
    ("{x*}", "a%2Cb,c", {"x": ["a,b", "c"]}),
    # parameters
    ("s{?q,n}", "s?q=a&n=1", {"q": "a", "n": "1"}), ("s{?q,n}", "s?n=1&q=a", {"q": "a", "n": "1"}),
    ("s{?q,n}", "s?n=1", {"n": "1"}), ("s{?q,n}", "s", {}), ("s{?q,n}", "s?", None),
    ("s{?q}", "s?q", {"q": ""}), ("s{?q}", "s?q=", {"q": ""}), ("s{?q}", "s?q=a=b/c?d", {"q": "a=b/c?d"}),
    ("s{?q}", "s?q=1&q=2", None), ("s{?q}", "s?q=1&q=1", None), ("s{?q}", "s?q=1&z=2", None),
    ("s{?q}", "s?Q=1", None), ("s{?q}", "s?q=1#f", None), ("s{?q}{#f}", "s?q=1#f", {"q": "1", "f": "f"}),
    ("s{?q}", "s&q=1", None), ("s{?q}", "s?q=1&", None),
    ("s?a=1{&q}", "s?a=1&q=2", {"q": "2"}), ("s?a=1{&q}", "s?a=1", {}), ("s?a=1{&q}", "s?q=2&a=1", None),
    ("s{?a}{&b}", "s?b=1&a=2", {"a": "2", "b": "1"}), ("s{?a}{&b}", "s&b=1", {"b": "1"}),
    ("{x}{;p,q}", "x;q=1;p", {"x": "x", "q": "1", "p": ""}), ("{x}{;p}", "x;y=1", {"x": "x;y=1"}),
    ("{;p}{;q}", ";q=1;p=2", {"p": "2", "q": "1"}), ("{x}{;p}/y", "a;p=1/y", {"x": "a", "p": "1"}),
    ("{?Stra%C3%9Fe}", "?Stra%C3%9Fe=a", {"Stra%C3%9Fe": "a"}), ("{?q,qq}", "?qq=1", {"qq": "1"}),
    ("{?list}", "?list=a,b", {"list": "a,b"}),
    ("{?list*}", "?list=a&list=b", {"list": ["a", "b"]}), ("{?list*}", "?list=a", {"list": ["a"]}),
    ("{?k*}", "?a=1&b=2", {"k": {"a": "1", "b": "2"}}), ("{?k*}", "?k=1&b=2", None),
    ("{?k*}", "?a=1&a=2", None), ("{?id,k*}", "?a=1&id=7&b", {"id": "7", "k": {"a": "1", "b": ""}}),
    ("{?a*,b*}", "?a=1&c=2&a=3", {"a": ["1", "3"], "b": {"c": "2"}}),
    ("{?a*,b*}", "?c=2", None), ("{;k*}", ";a=1;b", {"k": {"a": "1", "b": ""}}),
    ("{?k*}", "?%C3%A9%26=%3D", {"k": {"\u00e9&": "="}}),
    # prefixes and repeated names
    ("{x:3}", "abc", {"x": "abc"}), ("{x:3}", "ab", {"x": "ab"}), ("{x:3}", "abcd", None),
    ("{x:1}", "%E2%82%AC", {"x": "\u20ac"}), ("{/x:1,x}", "/v/value", {"x": "value"}),
    ("{/x:1,x}", "/w/value", None), ("{/x:1,x}", "/v", {"x": "v"}), ("{x:2}/{x:1}", "ab/a", {"x": "ab"}),
    ("{x:2}/{x:1}", "ab/b", None), ("{x}/{x}", "a/a", {"x": "a"}),
    ("{x}/{x}", "a/b", None), ("{x}/{x}", "%61/a", {"x": "a"}), ("{x:1}/{x*}", "a/a,b", None),
    ("{?x:2}", "?x=ab", {"x": "ab"}), ("{?x:2}", "?x=abc", None),
]


@pytest.mark.parametrize("template, uri, expected", MATCHES)
def test_match_gives_the_documented_reading(template: str, uri: str, expected: Optional[Dict[str, Any]]) -> None:
    assert match(template, uri) == expected
    prepared = Template(template).prepare()
    assert [prepared.match(uri), prepared.match(uri)] == [expected, expected]


@pytest.mark.parametrize("template, reason", [
    ("{a}{b}", "where 'a' ends and 'b' begins"), ("{a}{+b}", "where 'a' ends"), ("{+a}{b}", "where 'a' ends"),
    ("{/a}{b}", "where 'a' ends"), ("{?a}{b}", "where 'a' ends"),
    ("up{+path}{var}/here", "where 'path' ends and 'var' begins"),
    ("/".join("{a%d}" % n for n in range(MAX_MATCHED_VARIABLES + 1)), "MAX_MATCHED_VARIABLES = 256"),
])
def test_template_that_cannot_be_matched_is_refused_before_any_uri_comes(template: str, reason: str) -> None:
    Template(template).expand({})
    for use in (lambda: Template(template).prepare(), lambda: match(template, "x")):
        with pytest.raises(ValueError, match="cannot be matched: .*" + reason):
            use()


@pytest.mark.parametrize("value", [
    "..", "../../etc/passwd", "/etc/passwd", "..\\..\\x", "a\x00b", "%2e%2e%2f", "....//", "~root", "C:\\x", ".", "",
    "a/../b", "file:///x", "?q", "#f", "a;b,c=d&e",
    "\u202e", "\uff0e\uff0e", " ", "+", "100%", "{x}", "\U0001F600",
])
def test_traversal_looking_values_come_back_as_they_went_in_and_never_as_structure(value: str) -> None:
    for template in ("a://{x}/b", "a://h{/x}", "a://h{.x}", "a://h{;x}", "a://h{?x}", "a://h?y=1{&x}", "a://{x:9999}"):
        found = match(template, expand(template, {"x": value}))
        assert found == {"x": value} or not value and template.startswith("a://{x")
    assert match("file:///{name}", "file:///../etc") is None
    assert match("file:///{name}", "file:///..%2Fetc") == {"name": "../etc"}, "decoded: the handler has to check it"
    assert match("file:///{name}", "file:///..") == {"name": ".."}


def test_random_values_survive_the_way_there_and_back() -> None:
    rng = random.Random(6570)
    alphabet = "ab01-._~/?#%&=;,:+ \u00e9\u20ac\U0001F600\x00"
    template = Template("x://{a}/{b:9999}{/c,d}{/e*}{.f}{;g,h}{?i,j*}{&k*}#{+l}")
    for _ in range(400):
        given: Dict[str, Any] = {
            name: "".join(rng.choice(alphabet) for _ in range(rng.randrange(1, 6))) for name in "abcdghi"}
        given["e"] = [rng.choice(alphabet) for _ in range(rng.randrange(1, 4))]
        given["j"] = ["".join(rng.choice(alphabet) for _ in range(3)) for _ in range(rng.randrange(1, 4))]
        given["k"] = {key: rng.choice(alphabet) for key in rng.sample("stuvw", rng.randrange(1, 4))}
        given["f"] = "F"
        given["l"] = "".join(rng.choice("ab/?#:") for _ in range(5))
        found = template.match(template.expand(given))
        assert found is not None and template.expand(found) == template.expand(given)
        given["e"], found["e"] = "/".join(given["e"]), "/".join(found["e"])
        if "." not in given["e"]:       # a dot in the last segment may begin the label
            assert found == given


# -- matching against a backtracking matcher that has the same preferences

SLOTS = [("{%s}", "([^/?#]+?)"), ("{+%s}", "(.+?)"), ("{/%s}", "(?:/([^/?#]*?))?"),
         ("{.%s}", r"(?:\.([^/?#]*?))?"), ("{#%s}", "(?:#(.*?))?"),
         ("{/%s:9999}", "(?:/([^/?#]*?))?")]


def random_template(rng: random.Random) -> Tuple[str, str]:
    """A template, and the regular expression that `match` documents for it."""
    template, pattern, after_slot = "", "", False
    for number in range(rng.randrange(1, 6)):
        if rng.random() < 0.4:
            literal = "".join(rng.choice("a/.-#") for _ in range(rng.randrange(1, 3)))
            template, pattern, after_slot = template + literal, pattern + re.escape(literal), False
        else:
            slot, expression = rng.choice(SLOTS[2:] if after_slot else SLOTS)
            template, pattern, after_slot = template + slot % ("v%d" % number), pattern + expression, True
    return template, pattern


@pytest.mark.parametrize("seed", range(4))
def test_random_templates_agree_with_a_backtracking_matcher(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(400):
        template, pattern = random_template(rng)
        prepared, names = Template(template), variables(template)
        for _ in range(8):
            uri = "".join(rng.choice("aab/.-#") for _ in range(rng.randrange(9)))
            reference = re.fullmatch(pattern, uri)
            expected = None if reference is None else {
                name: text for name, text in zip(names, reference.groups()) if text is not None}
            assert prepared.match(uri) == expected, (template, uri)


# -- hostile sizes

class Steps(bytes):
    """Bytes that count how often they are gone over."""

    passes = 0

    def translate(self, *arguments: Any) -> bytes:  # type: ignore[override]
        Steps.passes += 1
        return bytes(self).translate(*arguments)


HOSTILE = [
    ("{a}x{b}y{c}", "x" * 100_000), ("-".join("{v%d}" % n for n in range(256)), "-" * 100_000),
    ("/".join("{+v%d}" % n for n in range(256)), "/" * 100_000),
    ("{+a}/x{b}/y{+c}/z{d}", "/x/y/z" * 16_000), ("{x}" + "ab" * 20_000 + "{y}", "ab" * 50_000),
    ("{/a*}{/b*}{/c*}x", "/a" * 50_000), ("{a}", "%41" * 33_000),
    ("{a}", "\u00e9" * 50_000), ("{?k*}", "?" + "&".join("k%d=1" % n for n in range(12_000))),
    ("{;p}{?q}{#f}", ";?#" * 33_000), ("{a}{.b}{.c}{.d}", "." * 100_000),
    ("{?%s}" % ",".join("n%d" % n for n in range(3_000)), "?" + "&".join("n%d=1" % n for n in range(3_000))),
    ("{a:9999}/{a}", "b" * 50_000 + "/" + "b" * 50_000),
]


@pytest.mark.parametrize("template, uri", HOSTILE, ids=[template[:24] for template, _ in HOSTILE])
def test_long_uris_are_matched_without_trying_again(template: str, uri: str) -> None:
    prepared = Template(template)
    prepared.match(uri)
    Steps.passes = 0
    nodes = uritemplate._Match(prepared._matcher().nodes, Steps(uri.encode("ascii", "replace")))
    nodes.first_pass()
    assert Steps.passes <= 40, "the URI is gone over once per kind of character in the template, not per position"


def hostile_templates() -> Iterator[str]:
    for text in ("{", "}", "{a}", "{a", "a}", "{a,", "%", "{%41", "{a:9", "{a*", "a.", "{a.", "{?a}", "{}"):
        yield text * (40_000 // len(text))
    yield "{" + "a" * 40_000 + "}"
    yield "{" + "a." * 20_000 + "a}"
    yield "{" + ",".join("a%d" % n for n in range(15_000)) + "}"
    yield "{+" + "%41" * 33_000 + "}"


@pytest.mark.parametrize("template", list(hostile_templates()), ids=lambda text: text[:8])
def test_long_templates_are_read_or_refused_in_one_pass(template: str) -> None:
    for use in (variables, lambda text: expand(text, {"a": "x"}), lambda text: match(text, "x" * 1_000)):
        try:
            use(template)
        except ValueError as refusal:
            assert len(str(refusal)) < 300


def test_random_garbage_is_a_template_or_a_value_error() -> None:
    rng = random.Random(7)
    for _ in range(3_000):
        template = "".join(rng.choice("{}{}ab+#./;?&,:*39%4 \u00e9\ud800|") for _ in range(rng.randrange(10)))
        try:
            prepared = Template(template)
            uri = prepared.expand({"a": "\u00e9", "b": ["1", "/"], "ab": {"k": None, "l": 2}})
            prepared.match(uri)
        except ValueError:
            pass
