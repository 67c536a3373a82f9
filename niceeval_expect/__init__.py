"""Pure, immutable matches: rules that compare one value, compose, and are data.

>>> from niceeval_expect import at, json_text, pattern
>>> order_number = json_text(at("order_number", pattern(r"ORD-[0-9]{6}", full=True)))
>>> order_number.evaluate('{"order_number": "ORD-448192"}').outcome
'matched'
"""

from niceeval_expect._algebra import all_of, any_of, not_
from niceeval_expect._arguments import same_arguments
from niceeval_expect._command import command_succeeded
from niceeval_expect._command_match import command_match
from niceeval_expect._custom import define_score_match, define_value_match, satisfies
from niceeval_expect._evaluation import Absent, Diagnostic, Evaluation
from niceeval_expect._event import EventMatch, event_match
from niceeval_expect._length import length
from niceeval_expect._match import BooleanMatch, Match, ParsingMatch, ScoreMatch, ThresholdedMatch, ValueMatch
from niceeval_expect._origin import arg
from niceeval_expect._path_reference import references_any_path
from niceeval_expect._regex import pattern
from niceeval_expect._schema import matches
from niceeval_expect._spec import from_spec
from niceeval_expect._structure import absent, at, has_keys, json_match, json_text, non_empty
from niceeval_expect._text import excludes, includes, similarity
from niceeval_expect._tool import CountedToolMatch, ToolMatch, tool_match
from niceeval_expect._tool_names import ToolStatus
from niceeval_expect._value import between, equals, is_defined, is_false, is_true, one_of

toolMatch = tool_match
jsonMatch = json_match

__all__ = [
    "Absent",
    "BooleanMatch",
    "CountedToolMatch",
    "Diagnostic",
    "Evaluation",
    "EventMatch",
    "Match",
    "ParsingMatch",
    "ScoreMatch",
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
    "command_match",
    "command_succeeded",
    "define_score_match",
    "define_value_match",
    "equals",
    "event_match",
    "excludes",
    "from_spec",
    "has_keys",
    "includes",
    "is_defined",
    "is_false",
    "is_true",
    "jsonMatch",
    "json_match",
    "json_text",
    "length",
    "matches",
    "non_empty",
    "not_",
    "one_of",
    "pattern",
    "references_any_path",
    "same_arguments",
    "satisfies",
    "similarity",
    "toolMatch",
    "tool_match",
]
