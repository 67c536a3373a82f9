"""Pure, immutable matches: rules that compare one value, compose, and are data.

Names are loaded when they are first used, so that a script pays for the matches it needs.

>>> from niceeval_expect import at, json_text, pattern
>>> order_number = json_text(at("order_number", pattern(r"ORD-[0-9]{6}", full=True)))
>>> order_number.evaluate('{"order_number": "ORD-448192"}').outcome
'matched'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from niceeval_expect._algebra import all_of, any_of, not_
    from niceeval_expect._arguments import same_arguments
    from niceeval_expect._citations import cites_only
    from niceeval_expect._claims import every_claim_cited
    from niceeval_expect._collection import contains, every, keys_exactly
    from niceeval_expect._command import command_succeeded
    from niceeval_expect._command_match import command_match
    from niceeval_expect._custom import define_score_match, define_value_match, satisfies
    from niceeval_expect._date import same_date, same_instant
    from niceeval_expect._evaluation import Absent, Diagnostic, Evaluation
    from niceeval_expect._event import EventMatch, event_match
    from niceeval_expect._judge import closed_qa, define_judge, factuality, summarizes
    from niceeval_expect._leaks import reveals_nothing_of
    from niceeval_expect._length import length
    from niceeval_expect._literals import forbids, includes_all, includes_any
    from niceeval_expect._markup import has_sections, includes_url
    from niceeval_expect._match import BooleanMatch, Match, ParsingMatch, ValueMatch
    from niceeval_expect._normalize import TEXT_RULES, TextRule, normalized
    from niceeval_expect._number import close_to, number_in_text
    from niceeval_expect._numbers_from import numbers_from, preserves_digits
    from niceeval_expect._occurs import OccursMatch, occurs
    from niceeval_expect._origin import arg
    from niceeval_expect._path_reference import references_any_path
    from niceeval_expect._quotes import quotes_from
    from niceeval_expect._regex import pattern
    from niceeval_expect._same_call import same_call
    from niceeval_expect._same_python import same_python
    from niceeval_expect._same_sql import same_sql
    from niceeval_expect._schema import matches
    from niceeval_expect._score import ScoreMatch, ThresholdedMatch
    from niceeval_expect._shape import field_order, is_instance, semantic
    from niceeval_expect._spec import from_spec
    from niceeval_expect._structure import absent, at, has_keys, json_match, json_text, non_empty
    from niceeval_expect._text import excludes, includes, similarity
    from niceeval_expect._text_more import ends_with, starts_with
    from niceeval_expect._tool import CountedToolMatch, ToolMatch, tool_match
    from niceeval_expect._tool_names import ToolStatus
    from niceeval_expect._unordered import unordered
    from niceeval_expect._value import between, equals, is_defined, is_false, is_true, one_of
    from niceeval_expect.custom import register_match

    toolMatch = tool_match
    jsonMatch = json_match

__all__ = [
    "TEXT_RULES",
    "Absent",
    "BooleanMatch",
    "CountedToolMatch",
    "Diagnostic",
    "Evaluation",
    "EventMatch",
    "Match",
    "OccursMatch",
    "ParsingMatch",
    "ScoreMatch",
    "TextRule",
    "ThresholdedMatch",
    "ToolMatch",
    "ToolStatus",
    "ValueMatch",
    "absent",
    "all_of",
    "any_of",
    "arg",
    "at",
    "between",
    "cites_only",
    "close_to",
    "closed_qa",
    "command_match",
    "command_succeeded",
    "contains",
    "define_judge",
    "define_score_match",
    "define_value_match",
    "ends_with",
    "equals",
    "event_match",
    "every",
    "every_claim_cited",
    "excludes",
    "factuality",
    "field_order",
    "forbids",
    "from_spec",
    "has_keys",
    "has_sections",
    "includes",
    "includes_all",
    "includes_any",
    "includes_url",
    "is_defined",
    "is_false",
    "is_instance",
    "is_true",
    "jsonMatch",
    "json_match",
    "json_text",
    "keys_exactly",
    "length",
    "matches",
    "non_empty",
    "normalized",
    "not_",
    "number_in_text",
    "numbers_from",
    "occurs",
    "one_of",
    "pattern",
    "preserves_digits",
    "quotes_from",
    "references_any_path",
    "register_match",
    "reveals_nothing_of",
    "same_arguments",
    "same_call",
    "same_date",
    "same_instant",
    "same_python",
    "same_sql",
    "satisfies",
    "semantic",
    "similarity",
    "starts_with",
    "summarizes",
    "toolMatch",
    "tool_match",
    "unordered",
]

_HOMES = {
    "_algebra": ("all_of", "any_of", "not_"),
    "_arguments": ("same_arguments",),
    "_citations": ("cites_only",),
    "_claims": ("every_claim_cited",),
    "_collection": ("contains", "every", "keys_exactly"),
    "_command": ("command_succeeded",),
    "_command_match": ("command_match",),
    "_custom": ("define_score_match", "define_value_match", "satisfies"),
    "_date": ("same_date", "same_instant"),
    "_evaluation": ("Absent", "Diagnostic", "Evaluation"),
    "_event": ("EventMatch", "event_match"),
    "_judge": ("closed_qa", "define_judge", "factuality", "summarizes"),
    "_leaks": ("reveals_nothing_of",),
    "_length": ("length",),
    "_literals": ("forbids", "includes_all", "includes_any"),
    "_markup": ("has_sections", "includes_url"),
    "_match": ("BooleanMatch", "Match", "ParsingMatch", "ValueMatch"),
    "_score": ("ScoreMatch", "ThresholdedMatch"),
    "_normalize": ("TEXT_RULES", "TextRule", "normalized"),
    "_number": ("close_to", "number_in_text"),
    "_numbers_from": ("numbers_from", "preserves_digits"),
    "_occurs": ("OccursMatch", "occurs"),
    "_origin": ("arg",),
    "_path_reference": ("references_any_path",),
    "_quotes": ("quotes_from",),
    "_regex": ("pattern",),
    "_same_call": ("same_call",),
    "_same_python": ("same_python",),
    "_same_sql": ("same_sql",),
    "_schema": ("matches",),
    "_shape": ("field_order", "is_instance", "semantic"),
    "_spec": ("from_spec",),
    "_structure": ("absent", "at", "has_keys", "json_match", "json_text", "non_empty"),
    "_text": ("excludes", "includes", "similarity"),
    "_text_more": ("ends_with", "starts_with"),
    "_tool": ("CountedToolMatch", "ToolMatch", "tool_match"),
    "_tool_names": ("ToolStatus",),
    "_unordered": ("unordered",),
    "_value": ("between", "equals", "is_defined", "is_false", "is_true", "one_of"),
    "custom": ("register_match",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_ALIASES = {"toolMatch": "tool_match", "jsonMatch": "json_match"}


def __getattr__(name: str) -> Any:
    own = _ALIASES.get(name, name)
    home = _HOME_OF.get(own)
    if home is None:
        raise AttributeError(f"module 'niceeval_expect' has no attribute {name!r}")
    value = getattr(import_module(f"niceeval_expect.{home}"), own)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
