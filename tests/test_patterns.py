"""Patterns of JSON Schema: what they match, what they refuse, and that they never take longer than linear time."""

import random
import re
import threading
from typing import Iterator, List, Tuple

import pytest

from mcp_ref.jsonschema.regex.patterns import DEFAULT_LIMITS, PatternLimits, PatternRefused, compile
from tests.support.patience import WAIT

MATCHES = [
    # literals, and search that is not anchored [JSON Schema 2020-12 core §6.4]
    ("", "", True), ("", "abc", True), ("b", "abc", True), ("bc", "abd", False), ("^b", "abc", False),
    ("b$", "ab", True),
    ("a.c", "abc", True), ("a.c", "a\nc", False), ("a.c", "a\rc", False), ("a.c", "a\u2028c", False),
    ("a.c", "a\x85c", True),
    ("^.$", "\U0001F600", True), ("^..$", "\U0001F600", False), ("a/b", "a/b", True),
    ("\u00e9t", "\u00e9t\u00e9", True),
    # anchors: only the very start and end, no lines
    ("^abc$", "abc", True), ("^abc$", "abc\n", False), ("^abc$", "x\nabc", False), ("^$", "", True), ("^$", "a", False),
    ("a^b", "ab", False), ("a$b", "ab", False), ("(^a|b)c", "bc", True), ("(^a|b)c", "xac", False),
    ("(a$|b)", "ba", True),
    ("a(|$)b", "ab", True), ("^^a$$", "a", True), ("$^", "", True), ("$^", "a", False), ("x*$", "abc", True),
    # word boundaries
    (r"\bfoo\b", "a foo b", True), (r"\bfoo\b", "afoo", False), (r"\bfoo\b", "foo", True), (r"\Boo", "foo", True),
    (r"\Bfoo", "foo", False), (r"\b", "", False), (r"\B", "", True), (r"\b", "--", False), (r"\b", "-a", True),
    (r"a\b-", "a-", True), (r"\b\u00e9", "a\u00e9", True), (r"(?:\b|x)a", "xa", True), (r"^(?:a\b ?)+$", "a a a", True),
    (r"^(?:a\b ?)+$", "aa", False), (r"^(?:\Ba|b){3}$", "baa", True), (r"^(?:\Ba|b){3}$", "aab", False),
    # classes
    ("[abc]", "xbx", True), ("[^abc]", "abc", False), ("[a-c]", "b", True), ("[a-]", "-", True), ("[-a]", "-", True),
    ("[a-c-e]", "-", True), ("[a-c-e]", "d", False), ("[]", "a", False), ("[^]", "\n", True), ("[^]", "", False),
    ("[.*+?(){}|^$/]", "{", True), ("[[]", "[", True), (r"[\]]", "]", True), (r"[\b]", "\x08", True),
    (r"[\b]", "b", False),
    (r"[\d\s]", " ", True), (r"[^\d\s]", "5 6", False), (r"[^\W_]", "_-", False), (r"[\w-.]", "-", True),
    (r"[\w-.]", ".", True),
    (r"[\w-.]", "+", False), (r"[+--]", ",", True), (r"[\u0041-\u005a]", "M", True),
    ("[\u00e0-\u00ff]", "\u00e9", True),
    (r"[\u{1F600}-\u{1F64F}]", "\U0001F610", True), (r"[\0-\x1f]", "\x00", True), (r"[^a-z]", "\U0001F610", True),
    # escapes of ECMA-262
    (r"^\d$", "5", True), (r"^\d$", "\u09ea", False), (r"^\D$", "\u09ea", True), (r"^\w$", "_", True),
    (r"^\w$", "\u00e9", False),
    (r"^\W$", "\u00e9", True), (r"^\s$", "\ufeff", True), (r"^\s$", "\u2029", True), (r"^\s$", "\u00a0", True),
    (r"^\s$", "\u3000", True), (r"^\s$", "\x1c", False), (r"^\s$", "\x85", False), (r"^\s$", "\u200b", False),
    (r"^\S$", "\x85", True),
    (r"^\t\n\v\f\r$", "\t\n\x0b\x0c\r", True), (r"^\cA\cz$", "\x01\x1a", True), (r"^\0$", "\x00", True),
    (r"^\x41$", "A", True),
    (r"^\u0041$", "A", True), (r"^\u{41}$", "A", True), (r"^\u{000041}$", "A", True), (r"^\u{0}$", "\x00", True),
    (r"^\ud83d\ude00$", "\U0001F600", True), (r"^[\ud83d\ude00]$", "\U0001F600", True), (r"^\ud83d$", "\ud83d", True),
    (r"^\ud83d\u0041$", "\ud83dA", True), (r"^\ud83d\u{41}$", "\ud83dA", True), (r"\.\*\[\/\-\@\_\ ", ".*[/-@_ ", True),
    (r"^\u{1F600}$", "\ud83d\ude00", True), ("^.$", "\ud83d\ude00", True), ("\ud83d\ude00", "\U0001F600", True),
    # Unicode properties
    (r"^\p{L}+$", "Stra\u00dfe", True), (r"^\p{Letter}$", "5", False), (r"\p{Letter}cole", "\u00e9cole", True),
    (r"^\p{Lu}\p{Ll}$", "\u00c9a", True), (r"^\p{gc=Nd}+$", "4\u09e8", True), (r"^\p{digit}+$", "\u09ea\u09e8", True),
    (r"^\p{General_Category=Decimal_Number}$", "x", False), (r"^\P{L}$", "5", True), (r"^\P{L}$", "a", False),
    (r"^[\p{L}\p{N}_]+$", "a\u09e8_", True), (r"^[^\p{L}]$", "a", False), (r"^[^\P{L}]$", "a", True),
    (r"^\p{LC}$", "\u01c5", True),
    (r"^\p{LC}$", "\u05d0", False), (r"^\p{P}$", "!", True), (r"^\p{punct}$", "a", False),
    (r"^\p{Sc}$", "\u20ac", True),
    (r"^\p{Cn}$", "\U000E0FFF", True), (r"^\p{C}$", "\x00", True), (r"^\p{Cs}$", "\ud800", True),
    (r"^\p{Assigned}$", "a", True),
    (r"^\p{Assigned}$", "\U000E0FFF", False), (r"^\p{Any}$", "\n", True), (r"\P{Any}", "a", False),
    (r"^\p{ASCII}$", "\x7f", True),
    (r"^\P{ASCII}$", "\x80", True), (r"^\p{AHex}+$", "aF9", True), (r"^\p{Lowercase}$", "a", True),
    (r"^\p{Upper}$", "a", False),
    (r"^\p{White_Space}$", "\x85", True), (r"^\p{Script=Greek}+$", "\u03a3\u03c9", True),
    (r"^\p{sc=Grek}$", "a", False),
    (r"^\p{Script=Han}{2}$", "\u6f22\u5b57", True), (r"^\p{Script=Latin}$", "\u00e9", True),
    (r"^\p{Script=Cyrillic}$", "\u044f", True),
    (r"^(\p{Extended_Pictographic}|\p{Emoji_Component})+$", "\U0001F468\u200d\U0001F469", True),
    (r"^\p{Emoji}$", "a", False),
    # groups and alternation
    ("^(ab|cd)$", "cd", True), ("^(?:ab|cd)$", "abcd", False), ("^(?<year>[0-9]{4})$", "2025", True),
    ("^(a|)$", "", True),
    ("^(|a)b$", "b", True), ("a||b", "zzz", True), ("^(a(b(c)?)?)?$", "ab", True), ("()", "", True),
    ("^(?<$x_1>a)$", "a", True),
    ("^ab|cd$", "abx", True), ("^ab|cd$", "xcd", True), ("^ab|cd$", "xabcdx", False),
    # quantifiers
    ("^a*$", "", True), ("^a+$", "", False), ("^a?$", "aa", False), ("^a*?$", "aaa", True), ("^a+?b??$", "aab", True),
    ("^a{2}$", "aa", True), ("^a{2}$", "aaa", False), ("^a{2,}$", "aaaa", True), ("^a{2,}$", "a", False),
    ("^a{1,3}$", "aaa", True),
    ("^a{1,3}$", "aaaa", False), ("^a{0}$", "", True), ("^a{0}$", "a", False), ("^a{0,0}b$", "b", True),
    ("^(ab){2,3}?$", "ababab", True),
    ("^(a?){3}$", "aa", True), ("^(a?){3}$", "aaaa", False), ("^(a*){2}b$", "aab", True), ("^(a*)*$", "aaa", True),
    ("^(a|b?){2,}$", "abab", True), (r"^(\b){3}a$", "a", True), (r"^(?:\b|a){2}$", "a", True),
    (r"^(?:\b|a){3}$", "aaaa", False),
    (r"^(?:^|,)a$", "a", True), (r"^(?:(?:^|,)a)+$", "a,a", True), (r"^(?:(?:^|,)a)+$", "aa", False),
    ("a{00002}", "aa", True),
    ("^[01]{1,1000}$", "01" * 500, True), ("^[01]{1,1000}$", "01" * 500 + "0", False), ("^(?:ab?){3,}$", "aabab", True),
    # braces which are no quantifier
    ("^{id}$", "{id}", True), ("a{", "a{", True), ("a{x}", "a{x}", True), ("^{}$", "{}", True),
    ("a{1,2,3}", "a{1,2,3}", True),
    # look-arounds
    ("^(?=.*[A-Z])(?=.*[0-9]).{4,}$", "abC9", True), ("^(?=.*[A-Z])(?=.*[0-9]).{4,}$", "abc9", False),
    ("^(?!.*admin)", "an admin", False), ("^(?!.*admin)", "a user", True), ("a(?=b)", "ab", True),
    ("a(?=b)", "ac", False),
    ("a(?!b)", "ab", False), ("a(?!b)", "aba", True), ("a(?!b)", "a", True), ("(?<=a)b", "ab", True),
    ("(?<=a)b", "cb", False),
    ("(?<!a)b", "ab", False), ("(?<!a)b", "b", True), ("(?<=a.*)b", "axxxb", True), ("(?<=^a+)b", "aab", True),
    ("(?<=^a+)b", "caab", False),
    ("^(?=a$)", "ab", False), ("^(?=a(?!b))", "ab", False), ("^(?=a(?!b))", "ac", True), ("(?=(?<=a)b)", "ab", True),
    ("(?=a)b", "ab", False), ("(?!)", "a", False), ("(?=)", "", True), ("a(?=$)", "ba", True),
    (r"(?<=\b)a", "ba", False),
    (r"^(?:(?!--).)*$", "a-b-c", True), (r"^(?:(?!--).)*$", "a--c", False), ("(?:(?=a)a|(?=b)b){3}$", "xaba", True),
    (r"^P(?!$)(\d+Y)?(T(?=\d)(\d+H)?)?$", "P1YT2H", True), (r"^P(?!$)(\d+Y)?(T(?=\d)(\d+H)?)?$", "P1YT", False),
]


@pytest.mark.parametrize("pattern, text, expected", MATCHES)
def test_pattern_matches_as_ecma_262_says(pattern: str, text: str, expected: bool) -> None:
    """[JSON Schema 2020-12 core §6.4]"""
    compiled = compile(pattern)
    assert compiled.search(text) is expected
    assert compiled.search(text) is expected, "the remembered transitions disagree with the first run"


REFUSED = [
    (r"(a)\1", "back-references"), (r"(?<n>a)\k<n>", "back-references"), (r"\k", "back-references"),
    ("(?P<n>a)", "unknown kind of group"),
    ("(?i)a", "unknown kind of group"), ("(?>a)", "unknown kind of group"), ("(?#x)", "unknown kind of group"),
    ("(a", "not closed"),
    ("a)", "no group is open"), ("(?<n", "not closed"), ("(?<1>a)", "name is malformed"), ("[a", "not closed"),
    ("[a\\", "ECMA-262"),
    ("[", "not closed"), ("a]", "must be escaped"), ("[[:alpha:]]", "must be escaped"), ("[z-a]", "out of order"),
    ("*a", "nothing to repeat"),
    ("a**", "nothing to repeat"), ("a++", "nothing to repeat"), ("^*", "nothing to repeat"),
    (r"\b+", "nothing to repeat"),
    ("(?=a)*", "nothing to repeat"), ("a|*", "nothing to repeat"), ("(*)", "nothing to repeat"),
    ("a{2}{3}", "nothing to repeat"),
    ("{2}", "nothing to repeat"), ("a{3,2}", "out of order"), ("a{,3}", "lower bound"), (r"\a", "ECMA-262"),
    (r"\A", "ECMA-262"),
    (r"\Z", "ECMA-262"), (r"\e", "ECMA-262"), ("a\\", "ECMA-262"), (r"\00", "ECMA-262"), (r"[\1]", "ECMA-262"),
    (r"[\B]", "ECMA-262"),
    (r"\c", "needs a letter"), (r"\c1", "needs a letter"), (r"\x4", "hexadecimal"), (r"\xg0", "hexadecimal"),
    (r"\u12", "hexadecimal"),
    (r"\u{}", "hexadecimal"), (r"\u{110000}", "hexadecimal"), (r"\u{41", "hexadecimal"), (r"\u{+1}", "hexadecimal"),
    (r"\p", "in braces"),
    (r"\pL", "in braces"), (r"\p{L", "in braces"), (r"\p{Foo}", "'Foo' is not supported"),
    (r"\p{gc=Foo}", "not supported"),
    (r"\p{Script=Klingon}", "not supported"), (r"\p{Latin}", "not supported"), (r"\p{}", "not supported"),
    (r"\p{Foo=L}", "not supported"),
]


@pytest.mark.parametrize("pattern, reason", REFUSED)
def test_refusal_says_what_is_wrong(pattern: str, reason: str) -> None:
    with pytest.raises(PatternRefused, match=re.escape(reason)) as refusal:
        compile(pattern)
    assert repr(pattern) in str(refusal.value)


def test_refusal_is_a_value_error_and_points_at_the_place() -> None:
    with pytest.raises(ValueError, match=r"pattern 'ab\[z-a\]' at 2: the range 'z' to 'a' is out of order"):
        compile("ab[z-a]")


OVER_A_LIMIT = [
    ("a" * 10_001, "pattern_length = 10000"), ("(" * 101 + ")" * 101, "nesting = 100"),
    ("a{10001}", "program_size = 10000"),
    ("a{0,99999999999999999999}", "program_size = 10000"), ("a{" + "9" * 5000 + "}", "program_size = 10000"),
    ("(((a{100}){100}){100}){100}", "program_size = 10000"), ("(?:a{9999}){0}" * 600, "program_size = 10000"),
    ("a*b*" * 2400, "program_size = 10000"), ("(?=a)" * 9, "lookarounds = 8"),
]


@pytest.mark.parametrize("pattern, limit", OVER_A_LIMIT, ids=[each[1] + " " + each[0][:12] for each in OVER_A_LIMIT])
def test_expensive_pattern_is_refused_by_the_name_of_the_limit(pattern: str, limit: str) -> None:
    with pytest.raises(PatternRefused, match="over the limit " + limit):
        compile(pattern)


AT_A_LIMIT = ["a" * 10_000, "(" * 100 + "a" + ")" * 100, "a{5000}", "(?:" * 99 + "a*" + ")*" * 99, "(?=a)" * 8,
              "(?:){1000}", r"(?:\b){1000}a", "^" + "a?" * 4900 + "$", "(" * 99 + "a{0,4000}" + ")*" * 99]


@pytest.mark.parametrize("pattern", AT_A_LIMIT, ids=[pattern[:12] for pattern in AT_A_LIMIT])
def test_pattern_just_within_the_limits_compiles_and_runs(pattern: str) -> None:
    assert compile(pattern).search("a" * 500) in (True, False)


def test_limits_can_be_set() -> None:
    small = PatternLimits(pattern_length=5, program_size=3, lookarounds=1)
    for pattern in ("aaaaaa", "a{4}", "(?=)(?=)"):
        compile(pattern)
        with pytest.raises(PatternRefused, match="over the limit"):
            compile(pattern, small)


def test_search_that_works_out_too_much_is_refused_and_leaves_the_pattern_usable() -> None:
    pattern = compile("(a|b)*a(a|b){40}c", PatternLimits(search_work=20_000))
    shuffled = random.Random(1)
    with pytest.raises(PatternRefused, match="over the limit search_work = 20000"):
        pattern.search("".join(shuffled.choice("ab") for _ in range(5_000)))
    assert pattern.search("a" * 41 + "c")
    assert not pattern.search("ab")


# -- time, counted in steps

class Counted(str):
    """A text that counts how many of its characters were looked at."""

    looked_at = 0

    def __iter__(self) -> Iterator[str]:
        for char in str.__iter__(self):
            self.looked_at += 1
            yield char


CATASTROPHES = [
    ("^(a+)+$", "a" * 50_000 + "b", False), ("(a|a)*b", "a" * 50_000, False), ("(.*)*x", "a" * 50_000, False),
    ("(x+x+)+y", "x" * 50_000, False), ("^(a|aa)+$", "a" * 50_000 + "b", False),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 50_000, False),
    ("(a*)*(a*)*(a*)*b", "a" * 50_000, False), (r"^(\w+\s?)*$", "word " * 10_000 + "!", False),
    ("(a?){500}a{500}b", "a" * 50_000, False),
    (r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$",
     "a" * 50_000, False),
    ("a*a*a*a*a*a*a*a*b", "a" * 50_000, False), (".*.*=.*", "x" * 50_000, False),
    ("(ab|a)(bc|c)*$", "ab" * 25_000 + "x", False),
    ("^(a+)+$", "a" * 50_000, True), (r"(\d+)+$", "1" * 49_999 + "x", False), (r"\s+$", " " * 50_000 + "x", False),
]


@pytest.mark.parametrize("pattern, text, expected", CATASTROPHES, ids=[pattern for pattern, _, _ in CATASTROPHES])
def test_patterns_that_ruin_backtracking_take_one_step_per_character(pattern: str, text: str, expected: bool) -> None:
    compiled = compile(pattern)
    counted = Counted(text)
    assert compiled.search(counted) is expected
    assert counted.looked_at <= len(text)
    assert compiled.worked_out < 2_000, "nearly every step is answered from memory"


def test_look_arounds_take_one_pass_each() -> None:
    compiled = compile("^(?!.*b)(?=(a+)+$)(?:(?<!b)a)+$")
    assert compiled.search("a" * 50_000)
    assert not compiled.search("a" * 50_000 + "b")
    assert compiled.worked_out < 100


def test_pattern_whose_full_automaton_has_a_million_states_still_works_out_one_step_per_character() -> None:
    shuffled = random.Random(2)
    text = "".join(shuffled.choice("ab") for _ in range(20_000))
    compiled = compile("(a|b)*a(a|b){20}c", PatternLimits(cached_transitions=1_000))
    assert not compiled.search(text)
    assert compiled.worked_out <= len(text)
    assert compiled.search(text + "a" * 21 + "c")
    assert len(compiled._main._states) <= 1_001


def test_search_stops_reading_at_the_first_match_and_at_the_first_hopeless_character() -> None:
    for pattern, expected in (("a", True), ("^a", True), ("^b", False), ("^(?:b|c)+$", False), ("^a{1,3}$", False)):
        counted = Counted("a" * 1_000)
        assert compile(pattern).search(counted) is expected
        assert counted.looked_at <= 6, pattern


def test_memory_of_characters_and_states_stays_bounded() -> None:
    compiled = compile(r"^[\w\u0100-\u{10ffff}]*!", PatternLimits(cached_transitions=500))
    assert not compiled.search("".join(map(chr, range(0x100, 0xD000))))
    assert len(compiled._main._readers) <= 501
    assert sum(len(state) for state in compiled._main._states.values()) <= 501


def test_threads_may_share_a_pattern() -> None:
    compiled = compile(r"^(?:(?!ab)[abc]|\bx)*$", PatternLimits(cached_transitions=20))
    rng = random.Random(3)
    texts = ["".join(rng.choice("abcx") for _ in range(rng.randrange(30))) for _ in range(200)]
    alone = [compile(compiled.pattern).search(text) for text in texts]
    results: List[List[bool]] = [[] for _ in range(4)]

    def work(mine: List[bool]) -> None:
        mine.extend(map(compiled.search, texts))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert all(mine == alone for mine in results)


# -- against `re`, on what both understand alike

ATOMS = ["a", "b", "_", "-", ".", r"\d", r"\w", r"\W", r"\s", r"\D", "[ab]", "[^a]", r"[^\w]", r"[\s\d]", "[a-b_]",
         r"\x61"]
QUANTIFIERS = ["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}", "*?", "+?", "??"]


class Grammar:
    """Random patterns, in the spelling of ECMA-262 and in that of `re`."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def either(self, depth: int) -> Tuple[str, str]:
        branches = [self.sequence(depth) for _ in range(self.rng.choice([1, 1, 1, 2, 3]))]
        return "|".join(ours for ours, _ in branches), "|".join(theirs for _, theirs in branches)

    def sequence(self, depth: int) -> Tuple[str, str]:
        terms = [self.term(depth) for _ in range(self.rng.choice([0, 1, 2, 2, 3]))]
        return "".join(ours for ours, _ in terms), "".join(theirs for _, theirs in terms)

    def term(self, depth: int) -> Tuple[str, str]:
        choice = self.rng.random()
        if choice < 0.1:
            return self.rng.choice([("^", r"\A"), ("$", r"\Z"), (r"\b", r"\b")])
        quantifier = self.rng.choice(QUANTIFIERS)
        if choice < 0.7 or depth == 0:
            atom = self.rng.choice(ATOMS)
            return atom + quantifier, atom + quantifier
        ours, theirs = self.either(depth - 1)
        if choice < 0.78:
            kind = self.rng.choice(["(?=", "(?!"])
            return kind + ours + ")", kind + theirs + ")"
        return "(" + ours + ")" + quantifier, "(" + theirs + ")" + quantifier

    def text(self) -> str:
        return "".join(self.rng.choice("aaabb_-1 \n") for _ in range(self.rng.randrange(8)))


@pytest.mark.parametrize("seed", range(8))
def test_random_patterns_agree_with_the_backtracking_matcher(seed: int) -> None:
    grammar = Grammar(seed)
    generous = DEFAULT_LIMITS._replace(lookarounds=20)
    for _ in range(250):
        ours, theirs = grammar.either(2)
        if ours.count("(?") > 6:
            continue
        compiled, reference = compile(ours, generous), re.compile(theirs, re.ASCII)
        for _ in range(5):
            text = grammar.text()
            assert compiled.search(text) is (reference.search(text) is not None), (ours, text)


def test_random_garbage_is_compiled_or_refused_and_nothing_else() -> None:
    rng = random.Random(4)
    alphabet = "ab1()[]{}|\\^$.*+?,-=!<>:pPukx" + "\u00e9\ud800\U0001F600"
    for _ in range(3_000):
        pattern = "".join(rng.choice(alphabet) for _ in range(rng.randrange(12)))
        try:
            compile(pattern).search("ab1\ud800")
        except PatternRefused:
            pass
