"""A pattern means what Python's re says, whatever the engine that runs it would read in it."""

import re
import sys
import unicodedata
import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from niceeval_expect import pattern


def outcome(regex: str, text: str, *, full: bool = False) -> str:
    return pattern(regex, full=full, budget=5.0).evaluate(text).outcome


CLASSES = [r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"[^\w]", r"[^\W]", r"[^\S]", r"[\W\d]", r"[\S ]", r"[^\D5]", "."]


@pytest.mark.parametrize("text_is_ascii", [True, False])
@pytest.mark.parametrize("cls", CLASSES)
def test_a_character_class_holds_exactly_the_characters_it_holds_in_re(cls: str, text_is_ascii: bool) -> None:
    size = 0x80 if text_is_ascii else sys.maxunicode + 1
    text = "".join(chr(code) for code in range(size) if unicodedata.category(chr(code)) != "Cn")
    outside, inside = re.sub(cls, "", text), "".join(re.findall(cls, text))
    assert outcome(cls, outside) == "mismatched"
    assert outcome(f"(?:{cls})+", inside, full=True) == "matched"


EXAMPLES = [
    (r"a{e}", "a{e}"),
    (r"a{e}", "b"),
    (r"(?:ab){i}", "ab{i}"),
    (r"a{e<=1}", "ac"),
    (r"a{,2}b", "aab"),
    (r"x{,}y", "xxy"),
    (r"{}", "{}"),
    (r"a{1, 2}", "aa"),
    (r"(?x)a {2} # comment (", "aa"),
    (r"(?x)a\ b [ ] c", "a b c"),
    (r"[a&&b]", "&"),
    (r"[!--a]", "-"),
    (r"[a||b]", "|"),
    (r"[a~~b]", "~"),
    (r"[[:alpha:]]", "a]"),
    (r"[[:alpha:]]", "z]"),
    (r"[]a]", "]"),
    (r"[^]a]", "]"),
    (r"[^\D\d]", "5"),
    (r"[^\w\W]", "a"),
    (r"\B", ""),
    (r"\b\w+\b", "\u0939\u093f\u0928\u094d\u0926\u0940"),
    (r"\w+$", "cafe\u0301"),
    (r"\w", "\u00b2"),
    (r"\w", "\u203f"),
    (r"\s", "\x1c"),
    (r"\S", "\x1f"),
    (r"[^\s]", "\x1d"),
    (r"(?i)i", "\u0131"),
    (r"(?i)I", "\u0130"),
    (r"(?i)\u0130", "I"),
    (r"(?i)[a-z]", "\u0131"),
    (r"(?i)[^i]", "\u0131"),
    (r"(?i)s", "\u017f"),
    (r"(?i)k", "\u212a"),
    (r"(?ia)k", "\u212a"),
    (r"(?i)ss", "\u00df"),
    (r"(?i:x)|[^I]", "i"),
    (r"(?a)(?i:-\d*|q)|{}|[^\s^I]", "i"),
    (r"(a)\1", "aa"),
    (r"(a)\1\0600", "aa00"),
    (r"\0", "\0"),
    (r"\012", "\n"),
    (r"[\12\b]", "\b"),
    (r"\x41\u0042\U00000043\N{LATIN SMALL LETTER D}", "ABCd"),
    (r"(?P<q>['\"]).*?(?P=q)", "'it'"),
    (r"(?P<q>a)?(?(q)b|c)", "c"),
    (r"(a)?(?(1)b|c)", "ab"),
    ("(?#a comment (with a bracket)b", "b"),
    (r"(?<=a)b(?!c)(?=d)", "abd"),
    (r"(?>a+)b", "aab"),
    (r"a++a", "aa"),
    ("\ud800", "\ud800"),
    ("[\ud800-\udfff]", "\udc00"),
    (r"^a$", "a\n"),
    (r"a\Z", "a\n"),
    (r"(?s-i:a.)", "a\n"),
]


@pytest.mark.parametrize(("regex", "text"), EXAMPLES)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("suffix", ["", "\u00e9"])
def test_what_the_two_engines_read_differently_means_what_re_says(
    regex: str, text: str, full: bool, suffix: str
) -> None:
    agree(regex, text + suffix, full)


def agree(regex: str, text: str, full: bool) -> None:
    with warnings.catch_warnings():
        # `re` warns about what may become a set operation one day; today it is not.
        warnings.simplefilter("ignore", FutureWarning)
        compiled = re.compile(regex)
        found = compiled.fullmatch(text) if full else compiled.search(text)
        groups: dict[str | int, object] | None = None
        if found:
            groups = dict(enumerate((found[0], *found.groups())))
        evaluation = pattern(regex, full=full, groups=groups, budget=5.0).evaluate(text)
    assert evaluation.outcome == ("matched" if found else "mismatched")


CHARACTERS = (
    "aAbkKsSiI01_ -\n#{}[]&|~^é\u00dfſ\u212a\u0130\u0131\u03c3\u03c2\u03a3µ²½\u0664\u0301\u00a0\x1c\u203f一\ud800"
)
literals = st.sampled_from("aAbksiI01_-é\u00dfſ\u0130\u0131µ²\u0664\u0301\x1c").map(re.escape)
categories = st.sampled_from([r"\w", r"\W", r"\d", r"\D", r"\s", r"\S"])
members = st.one_of(
    literals, categories, st.sampled_from(["a-z", "A-Z", "0-9", "à-ÿ", "h-k", "&&", "||", "~~", ".", "{", r"\^", "#"])
)
sets = st.builds(lambda no, of: f"[{no}{''.join(of)}]", st.sampled_from(["", "^"]), st.lists(members, min_size=1))
edges = st.sampled_from([r"\b", r"\B", "^", "$", r"\A", r"\Z", "{e}", "{i}", "{", "{1", "{,", "{e<=1}"])
wrappers = ["(%s)", "(?:%s)", "(?=%s)", "(?!%s)", "(?i:%s)", "(?-i:%s)", "(?s:%s)", "(?x: %s )", "(?>%s)", "(?m-s:%s)"]
quantifiers = st.sampled_from(["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}", "*+", "?+"])


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    groups = st.builds(lambda wrapper, text: wrapper % text, st.sampled_from(wrappers), inner)
    pieces = st.builds(lambda text, times: text + times, st.one_of(literals, sets, categories, groups), quantifiers)
    return st.lists(st.one_of(pieces, edges), max_size=4).map("".join) | st.lists(inner, min_size=2, max_size=2).map(
        "|".join
    )


regexes = st.builds(
    lambda flags, body: (f"(?{''.join(sorted(flags))})" if flags else "") + body,
    st.sets(st.sampled_from("imsxa"), max_size=2),
    st.recursive(st.one_of(literals, sets, categories), combined, max_leaves=8),
)


@settings(max_examples=200)
@given(regexes, st.lists(st.text(CHARACTERS, max_size=8), min_size=4, max_size=4))
def test_any_expression_matches_and_captures_what_it_does_in_re(regex: str, texts: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            re.compile(regex)
        except re.error:
            assume(False)
    assume(regex.strip())
    for text in texts:
        agree(regex, text, full=False)
        agree(regex, text, full=True)
