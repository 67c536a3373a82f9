"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["package_version"]


def package_version() -> str:
    """Return the version of NiceEval, or `unknown` where it is not installed."""
    try:
        return version("niceeval")
    except PackageNotFoundError:
        return "unknown"
