"""The test function of an eval: what is refused, what it is called, and where it is written."""

import functools
import inspect
import sys

from niceeval.evals.eval import Eval, Site, is_recording

__all__ = ["function_name", "require_test", "site"]


def require_test(name: str, fn: object, *, with_case: bool) -> None:
    """Refuse, with a sentence, what is not an async function of the context, and of the case where there are cases."""
    if inspect.iscoroutine(fn):
        fn.close()
        raise TypeError(f"{name}() got a coroutine; give the async function itself, without calling it")
    if isinstance(fn, Eval):
        raise TypeError(f"{name}() got {fn!r}, which is defined already; give the async function itself")
    if not callable(fn) or inspect.isclass(fn):
        raise TypeError(f"{name}() got {fn!r}; give an async function of t, such as: async def greets(t): ...")
    call = fn if inspect.isroutine(fn) or isinstance(fn, functools.partial) else type(fn).__call__
    if inspect.isasyncgenfunction(call):
        raise TypeError(f"{name}() got the async generator {_called(fn)}; take `yield` out of it")
    if not inspect.iscoroutinefunction(call):
        raise TypeError(f"{name}() got {_called(fn)}, which is not async; write: async def {_called(fn)}(...)")
    try:
        signature = inspect.signature(fn)
    except ValueError:
        return
    wanted, other = (("t", "case"), ("t",)) if with_case else (("t",), ("t", "case"))
    if _accepts(signature, wanted):
        return
    if with_case and _accepts(signature, other):
        remedy = f"cases= is given: write async def {_called(fn)}(t, case), or leave cases= out"
    elif not with_case and _accepts(signature, other):
        remedy = f"no cases= is given: write @{name}(cases=...), or take the second parameter out"
    else:
        remedy = f"it is called as {_called(fn)}({', '.join(wanted)})"
    raise TypeError(f"{name}() got {_called(fn)}{signature}, but {remedy}")


def _accepts(signature: inspect.Signature, arguments: tuple[str, ...]) -> bool:
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def _called(fn: object) -> str:
    inner = fn.func if isinstance(fn, functools.partial) else fn
    return getattr(inner, "__name__", None) or type(inner).__name__


def function_name(name: str, fn: object) -> str:
    """Return the name of a test, which becomes the id of its eval."""
    found = _called(fn)
    if found == "<lambda>":
        raise TypeError(f"{name}() got a lambda, which has no name; give id=")
    return found


def site(fn: object) -> Site:
    """Where an eval is written: the line of the collected file that makes it, else the line of its test."""
    if is_recording():
        frame = sys._getframe(1)
        while frame.f_code.co_name != "<module>" and frame.f_back is not None:
            frame = frame.f_back
        return Site(frame.f_code.co_filename, frame.f_lineno)
    inner = fn.func if isinstance(fn, functools.partial) else fn
    code = getattr(inner, "__code__", None) or type(inner).__call__.__code__
    return Site(code.co_filename, code.co_firstlineno)
