"""What Python's `re` means by its character classes, in the vocabulary of `regex`."""

import re
from typing import Final

__all__ = ["ANY", "BOUNDARY", "NOT_IF_EMPTY", "NOT_SPACE", "NOT_WORD", "NO_BOUNDARY", "SPACE", "WORD"]

ANY: Final = r"\x00-\U0010ffff"
# What str.isspace() and str.isalnum() say, which is what `re` means, in the vocabulary of `regex`.
SPACE: Final = r"\s\x1c-\x1f"
NOT_SPACE: Final = r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}\p{Cs}\p{Cn}\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
WORD: Final = r"\p{L}\p{N}_"
NOT_WORD: Final = (
    r"\p{M}\p{Z}\p{C}\p{S}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}\u203f\u2040\u2054\ufe33\ufe34\ufe4d-\ufe4f\uff3f"
)
BOUNDARY: Final = f"(?:(?<=[{WORD}])(?![{WORD}])|(?<![{WORD}])(?=[{WORD}]))"
NO_BOUNDARY: Final = f"(?:(?<=[{WORD}])(?=[{WORD}])|(?<![{WORD}])(?![{WORD}]))"
# Whether \B matches the empty text changed in Python 3.14.
NOT_IF_EMPTY: Final = r"(?!\A\Z)" if re.search(r"\B", "") is None else ""
