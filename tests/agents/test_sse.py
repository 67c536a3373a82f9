"""Server-sent events: read by the letter of the standard, however the bytes are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval.agents._sse import EventReader, StreamTooLarge


def read(*chunks: bytes, most: int = 10_000) -> list[tuple[str, str]]:
    reader = EventReader(most=most)
    return [(event.name, event.data) for chunk in chunks for event in reader.feed(chunk)]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: one\n\n", [("message", "one")]),
        (b"data:one\n\ndata:  two\n\n", [("message", "one"), ("message", " two")]),
        (b"data: a\ndata:\ndata: b\n\n", [("message", "a\n\nb")]),
        (b"event: token\ndata: x\n\ndata: y\n\n", [("token", "x"), ("message", "y")]),
        (b"data\n\n", [("message", "")]),
        (b"event: alone\n\ndata: x\n\n", [("message", "x")]),
        (b": comment\n\n:\ndata: x\nid: 7\nretry: 10\nother: z\n\n", [("message", "x")]),
        (b"\xef\xbb\xbfdata: bom\n\n", [("message", "bom")]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", [("message", "a"), ("message", "b"), ("message", "c")]),
        ("data: a\u2028b\x0b\x85\n\n".encode(), [("message", "a\u2028b\x0b\x85")]),
        (b"data: a: b\n\n", [("message", "a: b")]),
        (b"data: \xff\n\n", [("message", "\ufffd")]),
        # The end of the stream ends no event.
        (b"data: cut", []),
        (b"data: cut\n", []),
    ],
)
def test_events_are_read_by_the_letter(stream: bytes, events: list[tuple[str, str]]) -> None:
    assert read(stream) == events
    assert read(*(stream[place : place + 1] for place in range(len(stream)))) == events


PIECES = st.sampled_from(["data: x", "data:é😀", "event: e", "\n", "\r", "\r\n", "\n\n", ": c", "data", "\ufeff", ""])


@given(st.lists(PIECES, max_size=30), st.lists(st.integers(0, 200), max_size=8))
def test_where_the_bytes_are_cut_changes_nothing(pieces: list[str], cuts: list[int]) -> None:
    stream = "".join(pieces).encode()
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[start:stop] for start, stop in pairwise(places)]
    assert read(*chunks) == read(stream)


def test_what_is_too_large_to_be_an_event_is_refused() -> None:
    fits = b"data: " + b"x" * 94 + b"\n\n"
    assert len(read(fits * 50, most=100)) == 50
    for stream in (b"data: " + b"x" * 100, b"data: xxxx\n" * 11, b": c\n" * 34):
        with pytest.raises(StreamTooLarge, match="more than 100 characters"):
            read(*(stream[place : place + 7] for place in range(0, len(stream), 7)), most=100)
