"""Names of files for names that are none."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval.record.names import safe_file_name

ANY = st.text(st.characters(codec=None))
CLOSE = st.text(st.sampled_from("aAéÉßſsKkİi\u0301\u212a./\\~:-_ \x00\ud800"), max_size=6)


@pytest.mark.parametrize("text", ["greets", "order_status", "a-b", "v1.2", "0"])
def test_what_is_a_good_name_stays(text: str) -> None:
    assert safe_file_name(text) == text


@pytest.mark.parametrize(
    "text",
    ["CON", "con", "nul.txt", "com1", "lpt9.x.y", "../x", "..", ".", "", " ", "a:b?*", "a/b", "a\\b", "a.", ".a", "-rf",
     "Foo", "é", "e\u0301", "x" * 300, "\ud800", "a\nb", "a\x00b", "progra~1", "C:x"],
)  # fmt: skip
def test_what_is_none_gets_another_one(text: str) -> None:
    name = safe_file_name(text)
    assert name != text
    stem, _, digest = name.rpartition("~")
    assert stem
    assert len(digest) == 16


@given(ANY | CLOSE)
def test_a_name_is_safe_on_every_file_system(text: str) -> None:
    name = safe_file_name(text)
    assert name == safe_file_name(text)
    assert 1 <= len(name) <= 80
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-.~")
    assert name[0] not in ".-~"
    assert name[-1] != "."
    device = name.partition(".")[0]
    assert device not in {"con", "prn", "aux", "nul"}
    assert not (device[:3] in ("com", "lpt") and device[3:].isdigit() and len(device) == 4)


@given(st.lists(ANY | CLOSE, unique=True, max_size=30))
def test_different_texts_never_share_a_file(texts: list[str]) -> None:
    names = {unicodedata.normalize("NFC", safe_file_name(text)).casefold() for text in texts}
    assert len(names) == len(texts)


@given(ANY | CLOSE)
def test_a_name_is_not_the_name_of_a_name(text: str) -> None:
    name = safe_file_name(text)
    assert name == text or safe_file_name(name) != name
