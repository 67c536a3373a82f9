import base64
import html
import itertools
import json
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval import Thinking
from niceeval.codec import decode_subject, encode_subject
from niceeval.redaction import Redactor, ShortSecretWarning, current_redactor, forget_secrets, register_secret
from niceeval_expect import equals
from niceeval_expect._codec import decode, dumps, encode

SECRET = 'sk-test/AB+cd"ef=='


@pytest.fixture(autouse=True)
def _only_secrets_of_the_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in list(os.environ):
        if name.upper().endswith(("KEY", "TOKEN", "SECRET", "PASSWORD")):
            monkeypatch.delenv(name)
    forget_secrets()
    yield
    forget_secrets()


def escaped(text: str, times: int, ascii: bool) -> str:
    for _ in range(times):
        text = json.dumps(text, ensure_ascii=ascii)[1:-1]
    return text


def percent_forms(text: str) -> set[str]:
    data = text.encode("utf-8", "surrogateescape")
    upper = {quote(data, safe="/"), quote(data, safe=""), quote_plus(data), quote(data, safe="!*'()~")}
    return upper | {lower_hex(form) for form in upper}


def lower_hex(text: str) -> str:
    return "".join(part.lower() if index and index % 2 else part for index, part in enumerate(_split_percent(text)))


def _split_percent(text: str) -> list[str]:
    parts = [""]
    index = 0
    while index < len(text):
        if text[index] == "%":
            parts += [text[index : index + 3], ""]
            index += 3
        else:
            parts[-1] += text[index]
            index += 1
    return parts


def base64_forms(text: str) -> set[str]:
    data = text.encode("utf-8", "surrogateescape")
    found = set()
    for before, after in itertools.product(range(3), range(3)):
        longer = b"\xfa" * before + data + b"\xfb" * after
        found |= {base64.b64encode(longer).decode(), base64.urlsafe_b64encode(longer).decode()}
        found.add(base64.b64encode(longer).decode().rstrip("="))
    return found


def forms(text: str) -> list[str]:
    listed = {escaped(text, times, only) for times in (0, 1, 2) for only in (True, False)}
    return sorted(listed | percent_forms(text) | base64_forms(text))


def revealed(tree: Any, secret: str) -> bool:
    """Whether a reader of the stored text finds the secret: by looking, or by decoding what is encoded."""
    text = dumps(tree)
    cores = [form[2:-2].rstrip("=") for form in base64_forms(secret) if len(form) >= 20]
    listed = {escaped(secret, times, only) for times in range(4) for only in (True, False)} | percent_forms(secret)
    return any(form in text for form in listed) or any(core[1:-1] in text for core in cores)


@pytest.mark.parametrize("form", forms(SECRET))
@pytest.mark.parametrize("around", ["{}", "Bearer {}\n", "https://x.y/?token={}&next=1", '{{"authorization": "{}"}}'])
def test_every_listed_form_of_a_secret_is_replaced_in_text(form: str, around: str) -> None:
    redactor = Redactor.of([("API", SECRET)])
    text = around.format(form)
    redacted, names = redactor.redact_text(text)
    assert names == ("API",)
    assert "[redacted:API]" in redacted
    assert redacted.startswith(around.partition("{")[0])
    assert not revealed(redacted, SECRET)
    assert redactor.touches(dumps(encode([text])))
    assert redactor.redact_text(redacted) == (redacted, ())


@pytest.mark.parametrize(
    "place",
    [
        lambda secret: secret,
        lambda secret: {"headers": {"Authorization": f"Bearer {secret}"}},
        lambda secret: {secret: 1, "x" + secret: 2},
        lambda secret: f"https://api.test/v1?key={quote(secret, safe='')}",
        lambda secret: json.dumps({"arguments": json.dumps({"key": secret})}),
        lambda secret: f"https://api.test/v1?filter={quote(json.dumps({'key': secret}), safe='')}",
        lambda secret: f"<p>no such key: {html.escape(secret)}</p>",
        lambda secret: b"\x00\xff" + secret.encode() + b"\xfe",
        lambda secret: bytearray(b"1" + secret.encode()),
        lambda secret: (1, {2: secret}, {secret}, frozenset({(secret,)})),
        lambda secret: {(secret, 1): "a"},
        lambda secret: "half \ud83d " + secret,
        lambda secret: Path("/tmp") / secret,
        lambda secret: ValueError(f"401 for {secret}"),
        lambda secret: ["curl", "-u", f"user:{secret}"],
        lambda secret: "Basic " + base64.b64encode(f"user:{secret}".encode()).decode(),
        lambda secret: json.dumps({"data": base64.urlsafe_b64encode(b"x" + secret.encode()).decode()}),
        lambda secret: base64.b64encode(json.dumps({"key": secret}).encode()).decode(),
    ],
)
@pytest.mark.parametrize(
    "secret", [SECRET, "plainalnum0123", "päss wörd/€uro😀x", "C:\\dir\\\\new line\n\tend", "!!!???###"]
)
def test_a_secret_is_found_wherever_a_subject_holds_it(place: Callable[[str], Any], secret: str) -> None:
    redactor = Redactor.of([("API", secret)])
    subject = encode_subject(place(secret))
    assert redactor.touches(subject.text)
    tree, names = redactor.redact_tree(json.loads(subject.text))
    assert names == ("API",)
    assert not revealed(tree, secret)
    assert not redactor.touches(dumps(tree))
    assert "redacted:API" in str(decode(tree)) + str(getattr(decode(tree), "value", ""))


alphabet = st.sampled_from('abcXYZ019-_./+=%&"\\ \n<é€😀')
secrets = st.text(alphabet, min_size=8, max_size=20).filter(lambda text: len(set(text.strip())) > 4)


@given(secrets, st.data())
def test_whatever_the_secret_no_form_of_it_is_left(secret: str, data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(forms(secret)))
    before, after = data.draw(st.text(alphabet, max_size=5)), data.draw(st.text(alphabet, max_size=5))
    value = data.draw(
        st.sampled_from([
            before + form + after,
            {form: before},
            [{"a": (form, after)}],
            {1: {form}},
            before.encode() + secret.encode("utf-8", "surrogateescape") + after.encode(),
            json.dumps({"k": before + form}),
            "\ud800" + form,
        ])
    )  # fmt: skip
    redactor = Redactor.of([("API", secret)])
    text = dumps(encode(value))
    assert redactor.touches(text)
    tree, names = redactor.redact_tree(json.loads(text))
    assert names == ("API",)
    assert not revealed(tree, secret.strip())


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_what_holds_no_secret_is_returned_as_it_is(value: Any) -> None:
    redactor = Redactor.of([("A", "Qx7-Qx7-Qx7-Qx7"), ("N", "8675309867530986")])
    tree = encode(value)
    clean, names = redactor.redact_tree(tree)
    assert names == ()
    assert clean is tree


def test_without_secrets_nothing_is_looked_at() -> None:
    redactor = Redactor.of([])
    assert not redactor.touches("x")
    assert redactor.redact_text("x") == ("x", ())


@pytest.mark.parametrize(
    ("value", "reads_as"),
    [
        (4111111111111111, "[redacted:CARD]"),
        ({"n": -4111111111111111.0}, {"n": "-[redacted:CARD].0"}),
        (Decimal("4111111111111111.50"), "[redacted:CARD].50"),
        (int("4111111111111111" + "0" * 700), "[redacted:CARD]" + "0" * 700),
        ({4111111111111111: True}, {"[redacted:CARD]": True}),
        (True, True),
    ],
)
def test_a_number_that_spells_a_secret_becomes_text(value: Any, reads_as: Any) -> None:
    redactor = Redactor.of([("CARD", "4111111111111111")])
    text = encode_subject(value).text
    assert redactor.touches(text) is (value is not True)
    assert decode(redactor.redact_tree(json.loads(text))[0]) == reads_as


def test_keys_that_become_equal_keep_their_values() -> None:
    redactor = Redactor.of([("A", SECRET)])
    tree, _ = redactor.redact_tree({SECRET: 1, quote(SECRET, safe=""): 2, escaped(SECRET, 1, True): 3})
    assert tree == {"[redacted:A]": 1, "[redacted:A]#2": 2, "[redacted:A]#3": 3}


def test_where_secrets_overlap_everything_they_cover_is_replaced() -> None:
    redactor = Redactor.of([("SHORT", "abcdefgh"), ("LONG", "efgh-ijkl-mnop"), ("INNER", "ijkl-mno")])
    assert redactor.redact_text("<abcdefgh-ijkl-mnop> abcdefgh") == (
        "<[redacted:LONG]> [redacted:SHORT]",
        ("INNER", "LONG", "SHORT"),
    )


@pytest.mark.parametrize("at", range(1, len(SECRET)))
@pytest.mark.parametrize(
    "stream",
    [
        lambda pieces: pieces,
        lambda pieces: {"lines": ["start", *pieces, "end"]},
        lambda pieces: [{"kind": "thinking", "text": piece} for piece in pieces],
        lambda pieces: [{"choices": [{"delta": {"content": piece}}], "n": 1} for piece in pieces],
        lambda pieces: [Thinking(piece) for piece in pieces],
    ],
)
def test_a_secret_that_only_the_pieces_of_a_stream_spell_is_found(stream: Callable[[list[str]], Any], at: int) -> None:
    redactor = Redactor.of([("API", SECRET)])
    pieces = [f"key {SECRET[:at]}", f"{SECRET[at:]} and"]
    subject = encode_subject(stream(pieces))
    assert redactor.touches(subject.text)
    tree, names = redactor.redact_tree(json.loads(subject.text))
    assert names == ("API",)
    assert "key [redacted:API]" in json.dumps(tree)
    assert not redactor.touches(dumps(tree))
    assert (tree, ()) == redactor.redact_tree(tree)


def test_a_stream_is_left_as_it_is_where_it_spells_no_secret() -> None:
    redactor = Redactor.of([("API", SECRET)])
    for pieces in ([SECRET[:9], "-", SECRET[9:]], [SECRET[9:], SECRET[:9]], [SECRET[:9]], [[SECRET[:9]], "", 1]):
        assert redactor.redact_tree(pieces) == (pieces, ())
    many = ["x", *SECRET, "y", SECRET[:10], "", SECRET[10:]]
    assert redactor.redact_tree(many) == (["x", "[redacted:API]", *[""] * 17, "y", "[redacted:API]", "", ""], ("API",))


def test_a_secret_read_from_a_file_is_found_without_its_line_end() -> None:
    assert Redactor.of([("A", "s3cr3t-value\n")]).redact_text("s3cr3t-value,")[0] == "[redacted:A],"


def test_a_secret_that_is_no_unicode_is_found() -> None:
    secret = "key-\udcff\udcfe-0123456"
    redactor = Redactor.of([("A", secret)])
    for value in (secret, b"x" + secret.encode("utf-8", "surrogateescape")):
        text = dumps(encode(value))
        assert redactor.touches(text)
        assert redactor.redact_tree(json.loads(text))[1] == ("A",)


def test_a_picture_without_the_secret_stays_as_it_is_and_costs_little() -> None:
    picture = bytes(range(256)) * 8_192
    redactor = Redactor.of([("API", SECRET), ("OTHER", "0123456789abcdef")])
    text = encode_subject({"png": picture, "url": "data:image/png;base64," + base64.b64encode(picture).decode()}).text
    begun = time.process_time()
    assert not redactor.touches(text)
    tree, names = redactor.redact_tree({**json.loads(text), "note": f"key {SECRET}"})
    assert time.process_time() - begun < 2
    assert names == ("API",)
    assert decode(tree) == {**decode_subject(text), "note": "key [redacted:API]"}


@pytest.mark.parametrize(
    "hostile", ["\\" * 200_000, "%25" * 100_000, "sk-test" * 50_000, "\\u002f" * 40_000, "a" * 500_000]
)
@pytest.mark.parametrize("secret", [SECRET, "\\" * 30 + "x1234567", '"' * 12, "a" * 40 + "-b", "%%%%%%%%%"])
def test_hostile_text_takes_linear_time(hostile: str, secret: str) -> None:
    redactor = Redactor.of([("A", secret)])
    begun = time.process_time()
    redactor.touches(hostile)
    redactor.redact_text(hostile)
    assert time.process_time() - begun < 5


def test_a_tree_deeper_than_the_stack_that_is_left_is_kept_as_redacted_text() -> None:
    tree: Any = SECRET
    for _ in range(900):
        tree = [tree]
    redactor = Redactor.of([("A", SECRET)])
    assert not revealed(redactor.redact_tree(tree)[0], SECRET)


def test_the_decision_is_made_on_the_real_value() -> None:
    register_secret("API", SECRET)
    evaluation = equals({"key": SECRET}).evaluate({"key": SECRET})
    assert evaluation.outcome == "matched"


def test_tracebacks_and_file_names_are_text_like_any_other() -> None:
    register_secret("API", SECRET)
    try:
        raise RuntimeError(f"GET /{quote(SECRET)} failed")
    except RuntimeError:
        text = traceback.format_exc()
    assert not revealed(current_redactor().redact_text(text)[0], SECRET)
    assert current_redactor().redact_text(f"report-{SECRET}.json")[0] == "report-[redacted:API].json"


@pytest.mark.parametrize("value", ["", "   ", "\n"])
def test_an_empty_secret_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="'API' is empty"):
        register_secret("API", value)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("", "long-enough", ValueError),
        ("a]b", "long-enough", ValueError),
        (1, "long-enough", TypeError),
        ("A", b"x", TypeError),
    ],
)
def test_a_bad_registration_is_refused_without_showing_the_value(name: Any, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="secret") as caught:
        register_secret(name, value)
    assert "long-enough" not in str(caught.value)


def test_a_short_secret_is_registered_with_a_warning() -> None:
    with pytest.warns(ShortSecretWarning, match="'TINY' has fewer than 8 characters"):
        register_secret("TINY", "abc")
    redactor = current_redactor((), {})
    assert redactor.redact_text("xabcx")[0] == "x[redacted:TINY]x"
    text = dumps(encode(b"..abc.."))
    assert redactor.touches(text)
    assert decode(redactor.redact_tree(json.loads(text))[0]) == b"..[redacted:TINY].."


def test_the_environment_is_read_by_the_rule() -> None:
    environ = {
        "OPENAI_API_KEY": "value-one-1",
        "GH_TOKEN": "value-two-2",
        "APP_SECRET": "value-three-3",
        "DB_PASSWORD": "value-four-4",
        "SHORT_KEY": "short",
        "COUNT_KEY": "1234567890",
        "RATIO_TOKEN": "0.123456789",
        "ON_SECRET": "   true   ",
        "KEY_NAME": "value-five-5",
        "DATABASE_URL": "value-six-6",
    }
    text = " ".join(environ.values())
    assert current_redactor((), environ).redact_text(text)[1] == (
        "APP_SECRET",
        "DB_PASSWORD",
        "GH_TOKEN",
        "OPENAI_API_KEY",
    )
    assert "DATABASE_URL" in current_redactor(("DATABASE_URL", "NOT_SET"), environ).redact_text(text)[1]


def test_the_environment_counts_as_it_is_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "first-value-1")
    first = current_redactor()
    assert current_redactor() is first
    monkeypatch.setenv("MY_SERVICE_TOKEN", "second-value-2")
    second = current_redactor()
    assert first.redact_text("first-value-1 second-value-2")[0] == "[redacted:MY_SERVICE_TOKEN] second-value-2"
    assert second.redact_text("first-value-1 second-value-2")[0] == "first-value-1 [redacted:MY_SERVICE_TOKEN]"
    register_secret("MINE", "third-value-3")
    assert current_redactor().redact_text("third-value-3")[1] == ("MINE",)


def test_secrets_registered_from_many_threads_are_all_known() -> None:
    threads = [threading.Thread(target=register_secret, args=(f"T{n}", f"thread-secret-{n:03}")) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    redactor = current_redactor()
    assert all(redactor.redact_text(f"thread-secret-{n:03}")[1] == (f"T{n}",) for n in range(40))


def test_a_redactor_does_not_show_what_it_looks_for() -> None:
    assert "sk-test" not in repr(Redactor.of([("API", SECRET)]))
