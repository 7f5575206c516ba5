"""Says a line at once: who watches a long drill sees where it is."""

import sys


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
