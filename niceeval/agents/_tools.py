"""Python functions as tools of a model: a name, a description, a JSON Schema of the arguments, and a result."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final, final, get_type_hints

import attrs
import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError

from niceeval.agents._threads import run_blocking
from niceeval.errors import AgentUnavailable, told
from niceeval_expect._evaluation import Absent

__all__ = ["LocalTool", "Outcome", "Tools"]

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What providers take as a name."""
_IN_SCHEMAS: Final = (type(None), str, bool, int, float)
_REFUSED: Final = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional only, and models give arguments by name",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of arguments, which no schema can name",
    inspect.Parameter.VAR_KEYWORD: "takes arguments of any name, which no schema can name",
}


@final
@attrs.frozen
class Outcome:
    """What became of a call: the result as it was, the text that the model is given for it, whether it failed."""

    output: Any
    text: str
    failed: bool = False


@final
@attrs.frozen(eq=False)
class LocalTool:
    """One function that a model may call.

    Attributes:
        name: Its name, as the model knows it.
        description: Its docstring.
        parameters: The JSON Schema of its arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    _function: Callable[..., Any]
    _arguments: type[BaseModel]
    _names: Mapping[str, str]

    @classmethod
    def of(cls, function: Callable[..., Any], owner: str) -> "LocalTool":
        """Return the tool that a function is.

        Raises:
            TypeError: It is none; the sentence says why.
        """
        name = _name(function, owner)
        place = f"{owner}() tool {name}"
        fields: dict[str, Any] = {}
        names: dict[str, str] = {}
        hints = _hints(function, place)
        for number, parameter in enumerate(inspect.signature(function).parameters.values()):
            if parameter.kind in _REFUSED:
                raise TypeError(f"{place}: its parameter {parameter.name!r} {_REFUSED[parameter.kind]}")
            # Fields under names of their own: a parameter may be called `schema`, or begin with an underscore.
            fields[f"p{number}"] = (hints.get(parameter.name, Any), _field(parameter))
            names[f"p{number}"] = parameter.name
        try:
            model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
            schema = model.model_json_schema()
        except PydanticUserError as error:
            reason = str(error).partition("\n")[0]
            raise TypeError(f"{place}: its arguments have no JSON Schema: {reason}") from error
        return cls(name, inspect.getdoc(function) or "", _plain(schema), function, model, names)

    async def run(self, arguments: Any) -> Outcome:
        """Call the function: in the event loop if it is async, else in a thread. What it raises is a failed outcome.

        Raises:
            AgentUnavailable: The function raised it: what it needs could not be reached.
        """
        if not isinstance(arguments, Mapping):
            return _failed(f"the arguments are to be a JSON object, got {_json(arguments)}")
        try:
            # A copy: what a function does to its arguments is not what the model asked for.
            given = self._arguments.model_validate(deepcopy(dict(arguments)))
        except ValidationError as error:
            return _failed(f"the arguments do not fit: {_told(error)}")
        except RecursionError:
            return _failed("the arguments are nested too deeply")
        values = {self._names[field]: getattr(given, field) for field in given.model_fields_set}
        try:
            if _is_async(self._function):
                output = await self._function(**values)
            else:
                output = await run_blocking(lambda: self._function(**values))
                if inspect.isawaitable(output):
                    output = await output
        except AgentUnavailable:
            raise
        except (Exception, SystemExit) as error:
            return _failed(told(error))
        return Outcome(output, _text(output))


@final
class Tools:
    """The tools of one agent.

    Args:
        functions: The functions.
        owner: The class that was given them, for the sentences.

    Raises:
        TypeError: One of them is no tool.
        ValueError: Two have the same name.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]], owner: str) -> None:
        if isinstance(functions, str | Mapping) or not isinstance(functions, Iterable):
            raise TypeError(f"{owner}() tools is a list of functions, got {functions!r:.80}: write tools=[function]")
        found: dict[str, LocalTool] = {}
        for function in functions:
            tool = LocalTool.of(function, owner)
            if tool.name in found:
                raise ValueError(f"{owner}() has two tools named {tool.name!r}: the model could not tell them apart")
            found[tool.name] = tool
        self._tools: Final[Mapping[str, LocalTool]] = MappingProxyType(found)

    def __iter__(self) -> Iterator[LocalTool]:
        """Go through the tools in the order they were given."""
        return iter(self._tools.values())

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._tools)

    async def run(self, name: str, arguments: Any) -> Outcome:
        """Call a tool by its name, with arguments as the model gave them, or `Absent` where they cannot be read.

        Raises:
            AgentUnavailable: What the tool needs could not be reached.
        """
        tool = self._tools.get(name)
        if tool is None:
            known = f"there are {', '.join(self._tools)}" if self._tools else "there are none"
            return _failed(f"there is no tool {name!r}; {known}")
        if isinstance(arguments, Absent):
            return _failed(f"{arguments.reason}; give the arguments as one JSON object")
        return await tool.run(arguments)


def _failed(text: str) -> Outcome:
    return Outcome(text, text, failed=True)


def _name(function: object, owner: str) -> str:
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"{owner}() tools are functions, got {function!r:.80}")
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise TypeError(f"{owner}() tool {function!r:.80} has no name that a model can call: define it with def")
    return name


def _field(parameter: inspect.Parameter) -> Any:
    default = parameter.default
    if default is inspect.Parameter.empty:
        return Field(alias=parameter.name)
    if isinstance(default, _IN_SCHEMAS):
        return Field(default, alias=parameter.name)
    # A default that JSON cannot say: the model may leave the argument out, and the function knows its own default.
    return Field(default_factory=lambda: default, alias=parameter.name)


def _hints(function: Callable[..., Any], place: str) -> Mapping[str, Any]:
    try:
        return get_type_hints(inspect.unwrap(function), include_extras=True)
    except (NameError, TypeError) as error:
        raise TypeError(f"{place}: its annotations cannot be read: {error}") from error


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _plain(schema: dict[str, Any]) -> Mapping[str, Any]:
    """Return the schema without the titles that pydantic makes up."""
    properties = {
        name: {key: value for key, value in each.items() if key != "title"}
        for name, each in schema.get("properties", {}).items()
    }
    return {**{key: value for key, value in schema.items() if key != "title"}, "properties": properties}


def _text(output: object) -> str:
    """Return what a model is given for a result: as a request can have it, with no half of a character."""
    try:
        text = output if isinstance(output, str) else _json(output)
    except Exception:
        # Bytes that are no text, a list in itself: the function has done its part.
        text = _shown(output)
    return text.encode("utf-8", "backslashreplace").decode()


def _shown(output: object) -> str:
    try:
        return repr(output)
    except Exception:
        return object.__repr__(output)


def _json(value: object) -> str:
    return pydantic_core.to_json(value, fallback=repr, inf_nan_mode="constants").decode("utf-8", "replace")


def _told(error: ValidationError) -> str:
    problems = (
        (".".join(map(str, each["loc"])), each["msg"])
        for each in error.errors(include_url=False, include_context=False, include_input=False)
    )
    return "; ".join(f"{place}: {message}" if place else message for place, message in problems)
