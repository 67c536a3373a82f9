"""`python -m niceeval` is `niceeval`."""

from niceeval.cli import main

if __name__ == "__main__":
    main()
