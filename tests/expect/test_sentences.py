"""The sentences of a text."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect._sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n\n ", []),
        ("No end", ["No end"]),
        (
            "Dr. Smith paid $3.50 at 5 p.m. on Jan. 5. He left.",
            ["Dr. Smith paid $3.50 at 5 p.m. on Jan. 5.", "He left."],
        ),
        ("Version 1.2.3 is out... And then? Yes!", ["Version 1.2.3 is out...", "And then?", "Yes!"]),
        ("See https://a.example/c?d=1. Done.", ["See https://a.example/c?d=1.", "Done."]),
        ("It shipped [1]. It arrives on Tuesday [2][3].", ["It shipped [1].", "It arrives on Tuesday [2][3]."]),
        ("First part\n\nSecond part", ["First part", "Second part"]),
        ("One line\nwrapped. Next.", ["One line\nwrapped.", "Next."]),
        ("Fin.\r\n\r\nNext.", ["Fin.", "Next."]),
        ("总价是42。谢谢！", ["总价是42。", "谢谢！"]),
        ("😀 smiles. 😀 laughs.", ["😀 smiles.", "😀 laughs."]),
        ("Half \ud83d here. And there.", ["Half \ud83d here.", "And there."]),
    ],
)
def test_the_sentences_of_a_text(text: str, sentences: list[str]) -> None:
    assert [span.text for span in split_sentences(text)] == sentences


@given(st.text(alphabet=st.sampled_from("aB .?!\n\r\t1([\"'。😀é\u0301\ud800\u2028"), max_size=60))
def test_every_sentence_is_where_it_says_it_is_and_nothing_but_white_space_is_left_out(text: str) -> None:
    spans = split_sentences(text)
    position = 0
    for span in spans:
        assert text[span.start : span.end] == span.text
        assert span.text.strip() == span.text != ""
        assert text[position : span.start].strip() == ""
        position = span.end
    assert text[position:].strip() == ""


def test_a_text_of_a_million_characters_takes_time_in_proportion() -> None:
    assert len(split_sentences("It takes a while. " * 50_000)) == 50_000


@pytest.mark.parametrize("unit", ["`", "“", "„", "«", "‹", "'", "‘", "“a. ", "«a. "])
def test_marks_that_are_never_closed_take_time_in_proportion(unit: str) -> None:
    begun = process_time()
    spans = split_sentences(unit * (400_000 // len(unit)))
    assert process_time() - begun < 4
    assert spans[0].start == 0
