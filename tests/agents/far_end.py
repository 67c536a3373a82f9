"""A program that does what a scenario says; run as `python far_end.py SCENARIO`, with a JSON request on standard input."""

import json
import sys
import time
from pathlib import Path


def main() -> None:
    turns = json.loads(Path(sys.argv[1]).read_text())
    turn = turns[json.loads(sys.stdin.readline())["message"]]
    if turn["fault"] == "silent":
        time.sleep(60)
    if turn["fault"] == "bad-request":
        sys.exit(f"400 Bad Request: {turn['sentence']}")
    if turn["fault"] == "page-for-an-answer":
        print("<html>Sorry</html>")
        return
    for line in turn["lines"]:
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
