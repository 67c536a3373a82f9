"""What can go wrong, as a tree.

NiceEvalError
├── AuthoringError        the eval itself is written wrongly
├── AgentUnavailable      the agent could not be reached: not a result
├── AgentFailed           the agent broke: a result
├── AgentReferenceError   `module:attr` does not lead to an agent
├── ConfigError           `[tool.niceeval]` or an option is wrong
├── EvalLoadError         an eval file, an id or a dataset row cannot be used
└── RecordError           the record cannot be read or written
(RecordWarning        something was skipped while reading; the rest is there)
(JudgeWarning         a judge cannot be asked, or its cache cannot be used)
"""

__all__ = [
    "AgentFailed",
    "AgentReferenceError",
    "AgentUnavailable",
    "AuthoringError",
    "ConfigError",
    "EvalLoadError",
    "JudgeWarning",
    "NiceEvalError",
    "RecordError",
    "RecordWarning",
    "message_of",
    "told",
]


class NiceEvalError(Exception):
    """Base of every error that NiceEval raises on purpose, author mistakes at a call aside."""


class AuthoringError(NiceEvalError):
    """An eval uses a handle, a scope or the context in a way that the contract rules out."""


class AgentUnavailable(NiceEvalError):
    """The agent could not be reached: transport, rate limit, 5xx or timeout. The attempt is errored.

    Args:
        message: What happened.
        retry_after: Seconds after which the agent asks to be tried again, 0 or more, such as a ``Retry-After`` header
            says; None where it does not say.
        retryable: Whether trying again can help: true of a rate limit, a lost connection and a 5xx, false of a timeout
            that the eval set itself and of a key that is refused.

    >>> AgentUnavailable("429 Too Many Requests", retry_after=2).retry_after
    2
    """

    def __init__(self, message: str = "", /, *, retry_after: float | None = None, retryable: bool = True) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.retryable = retryable


class AgentFailed(NiceEvalError):
    """The agent raised an exception of its own, which is chained as the cause. Uncaught, the attempt is failed."""


class AgentReferenceError(NiceEvalError):
    """A reference such as ``module:attr`` does not lead to something that can be used as an agent."""


class ConfigError(NiceEvalError):
    """A value in ``[tool.niceeval]`` or on the command line cannot be used."""


class EvalLoadError(NiceEvalError):
    """An eval file, an eval id or a dataset row cannot be used."""


class RecordError(NiceEvalError):
    """A record cannot be read or written."""


def told(error: BaseException) -> str:
    """Return type and message of an exception as one text; an exception that cannot be printed has no message.

    >>> told(ValueError("no such order"))
    'ValueError: no such order'
    """
    text = message_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def message_of(error: BaseException) -> str:
    """Return the message of an exception, which its own code may fail to give.

    >>> message_of(KeyError("id"))
    "'id'"
    """
    try:
        return str(error)
    except Exception as broken:
        return f"<its message raised {type(broken).__name__}>"


class RecordWarning(UserWarning):
    """Part of a record was skipped while reading; everything else is there."""


class JudgeWarning(UserWarning):
    """A judge cannot be asked, so that its checks are unavailable, or its cache cannot be used."""
