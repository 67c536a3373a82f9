"""Pieces of texts and of tool calls, as streams carry them."""

import re
from collections.abc import Iterable
from typing import Final, final

from niceeval_expect._parse import ParseProblem, parse_strict

__all__ = ["Arguments", "joined"]

_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def joined(pieces: Iterable[str]) -> str:
    r"""Return the text that pieces make; a character that was cut in its two surrogates is whole again.

    >>> joined(["all ", "good \ud83d", "\ude00"]) == "all good \U0001f600"
    True
    """
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), "".join(pieces))


@final
class Arguments:
    """The arguments of a call that comes in pieces: text, or now and then a value that is whole at once.

    Whether a call goes on is a question where its place, an id or an index, is used again.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._whole: object = None

    @property
    def given(self) -> object:
        """What has come: text, which is empty where nothing has, or a value."""
        return joined(self._pieces) if self._pieces or self._whole is None else self._whole

    def add(self, piece: object) -> None:
        """Take in the arguments of a piece, None where it has none."""
        if isinstance(piece, str):
            self._pieces.append(piece)
        elif piece is not None:
            self._whole = piece

    def has(self, piece: object) -> bool:
        """Whether a piece has nothing to add to arguments that are complete: it is empty, or all of them again."""
        return piece in ("", None) or piece == self.given

    @property
    def complete(self) -> bool:
        """Whether what has come is JSON as it is."""
        given = self.given
        if not isinstance(given, str):
            return True
        return bool(given.strip()) and not isinstance(parse_strict(given), ParseProblem)
