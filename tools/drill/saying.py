"""Prints a line at once, so that a person sees how far a long drill is."""

import sys


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
