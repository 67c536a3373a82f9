"""A call written as Python text that means the same as the expected one."""

import inspect
from collections.abc import Callable
from typing import Any

import attrs

from niceeval_expect._call_text import Arguments, PythonCall, arrange, read_call, read_signature, without_types
from niceeval_expect._evaluation import MATCHED, MAX_SAMPLES, Diagnostic, Evaluation, mismatched, sample, wrong_type
from niceeval_expect._json import json_equal, unequal
from niceeval_expect._match import ValueMatch
from niceeval_expect._python_code import NoCode, unfenced
from niceeval_expect._same_python import not_read
from niceeval_expect._sources import options, plural, read_flag
from niceeval_expect._spec import register

__all__ = ["same_call"]


@attrs.frozen
class _Reading:
    """How calls are compared."""

    signature: inspect.Signature | None
    defaults: bool
    exact_numbers: bool

    def arguments(self, call: PythonCall) -> Arguments | NoCode:
        arranged = arrange(call, self.signature, self.defaults)
        return without_types(arranged) if self.exact_numbers and isinstance(arranged, dict) else arranged


@attrs.frozen(eq=False, repr=False)
class _SameCall(ValueMatch):
    _spec_name = "same_call"
    family = "referential"
    _expected: str
    _signature: str | Callable[..., Any] | None
    _fenced: bool
    _reading: _Reading
    _call: PythonCall
    _arguments: Arguments

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        args: dict[str, object] = {"expected": self._expected}
        if self._signature is not None:
            args["signature"] = self._signature
        if not self._reading.defaults:
            args["defaults"] = False
        if self._reading.exact_numbers:
            args["exact_numbers"] = True
        if self._fenced:
            args["fenced"] = True
        return args

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        code = unfenced(subject) if self._fenced else subject
        call = code if isinstance(code, NoCode) else read_call(code)
        if isinstance(call, NoCode):
            return self._no_call(call, subject, pointer)
        if call.function != self._call.function:
            message = f"calls {call.function!r}, not {self._call.function!r}"
            return mismatched("function", message, pointer, expected=self._expected, received=subject)
        received = self._reading.arguments(call)
        if isinstance(received, NoCode):
            return self._no_call(received, subject, pointer)
        found = _differences(self._arguments, received, pointer)
        return self._explain(found, received, subject, pointer) if found else MATCHED

    def _no_call(self, problem: NoCode, subject: str, pointer: str) -> Evaluation:
        if problem.code in ("size", "depth"):
            return not_read(problem, subject, pointer)
        return mismatched(
            problem.code, f"the text {problem.message}", pointer, expected=self._expected, received=subject
        )

    def _explain(self, found: list[Diagnostic], received: Arguments, subject: str, pointer: str) -> Evaluation:
        total = len(self._arguments.keys() | received.keys())
        differ = "differs" if len(found) == 1 else "differ"
        hint = ""
        if self._reading.signature is None and _positions(received) != _positions(self._arguments):
            hint = "; to compare positional with named arguments, give signature="
        message = f"{len(found):,} of {plural(total, 'argument')} {differ}: {found[0].message}{hint}"
        return mismatched(
            "arguments",
            message,
            pointer,
            expected=self._expected,
            received=subject,
            children=found[:MAX_SAMPLES],
            truncated=len(found) > MAX_SAMPLES,
        )


def _positions(arguments: Arguments) -> int:
    return sum(isinstance(name, int) for name in arguments)


def _differences(expected: Arguments, received: Arguments, pointer: str) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for name in (*expected, *(name for name in received if name not in expected)):
        label = f"argument {name}" if isinstance(name, int) else name
        if name not in received:
            found.append(Diagnostic("missing", f"{label} is missing", pointer, sample(expected[name])))
        elif name not in expected:
            found.append(Diagnostic("extra", f"{label} is not wanted", pointer, None, sample(received[name])))
        elif not json_equal(expected[name], received[name]):
            wanted, got = expected[name], received[name]
            why = f"expected {wanted!r:.120}, got {got!r:.120}"
            if isinstance(wanted, list | dict) and type(wanted) is type(got):
                why = unequal(wanted, got, "").diagnostic.message
            found.append(Diagnostic("value", f"{label}: {why}", pointer, sample(wanted), sample(got)))
    return found


def same_call(
    expected: str,
    /,
    *,
    signature: str | Callable[..., Any] | None = None,
    defaults: bool = True,
    exact_numbers: bool = False,
    fenced: bool = False,
) -> ValueMatch:
    """Match a text that is the same call as `expected`, both written in Python: ``refund(order_id='A-1', amount=89)``.

    The order of named arguments, quotes, white space and comments make no difference; the order of positional arguments
    does. Literals compare as in `equals` (``89`` is ``89.0``, ``True`` is not ``1``, a tuple is a list), other
    expressions by their syntax tree, the function by how it is written (``client.refund`` is not ``refund``). With a
    signature, an argument may be passed by position or by name. A text that is no call, or more than one, mismatches
    with code ``no-call`` or ``no-code``. Nothing is called.

    It is blind to what names stand for, and to different expressions of one value (``80 + 9``).

    Args:
        expected: The call as text.
        signature: The function that is called, or its parameters as text: ``"(order_id, amount=0)"``. A function is
            code: the stored result cannot be derived again without it; one from a text can.
        defaults: With a signature, whether an omitted argument equals its default.
        exact_numbers: Whether ``89`` and ``89.0`` are different.
        fenced: Whether the call is in a Markdown fence, the only one in the text; what is around it is not read.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `expected` is no call or does not fit the signature, or the signature cannot be read.

    >>> from niceeval_expect import same_call
    >>> refund = same_call("refund(order_id='A-2231', amount=89)", signature="(order_id, amount, note=None)")
    >>> refund.evaluate('refund("A-2231", amount = 89.0)').outcome
    'matched'
    >>> refund.evaluate("refund('A-2231', 98)").diagnostic.message
    '1 of 3 arguments differs: amount: expected 89, got 98'
    >>> refund.evaluate("I will refund it.").code
    'no-code'
    """
    owner = "same_call()"
    if not isinstance(expected, str):
        raise TypeError(f"{owner} takes the expected call as text, got {expected!r:.200}")
    reading = _Reading(
        None if signature is None else read_signature(owner, signature),
        read_flag(owner, "defaults", defaults),
        read_flag(owner, "exact_numbers", exact_numbers),
    )
    call = read_call(str.__str__(expected))
    arguments = call if isinstance(call, NoCode) else reading.arguments(call)
    if isinstance(call, NoCode) or isinstance(arguments, NoCode):
        problem = call if isinstance(call, NoCode) else arguments
        assert isinstance(problem, NoCode)
        raise ValueError(f"{owner} takes one call as text, got {expected!r:.200}, which {problem.message}")
    if signature is None and not defaults:
        raise ValueError(f"{owner} takes defaults=False with a signature only: without one no default is known")
    fence = read_flag(owner, "fenced", fenced)
    return _SameCall(str.__str__(expected), signature, fence, reading, call, arguments)


register("same_call", lambda args: same_call(args["expected"], **options(args, "expected")))
