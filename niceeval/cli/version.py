"""The version that this is."""

from importlib.metadata import PackageNotFoundError, version

from niceeval import __version__

__all__ = ["package_version"]


def package_version() -> str:
    """Return the version of the installed package, or of this checkout where none is installed."""
    try:
        return version("niceeval")
    except PackageNotFoundError:
        return __version__
