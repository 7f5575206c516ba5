"""`just bench render`: what it costs to make one recipient's mail, beside other ways to make it."""

import argparse
import os
import time

import django


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipients", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
    os.environ.setdefault("DEBUG", "true")
    django.setup()
    _measure(options.recipients, options.rounds)


def _measure(count: int, rounds: int) -> None:
    from postledger.content.rendering.letter import Letter
    from tools.bench import newsletter

    to = newsletter.recipients(count)
    few = to[:100]
    for name, has_conditions in (("substituting", False), ("with conditions", True)):
        made = newsletter.script(has_conditions=has_conditions)
        began = time.process_time()
        letter = Letter(made)
        compiling = (time.process_time() - began) * 1000
        ours = newsletter.microseconds(newsletter.composing(letter, to), len(to), rounds)
        stdlib = newsletter.microseconds(newsletter.by_stdlib(letter, few), len(few), rounds)
        bare = newsletter.microseconds(newsletter.by_join(to), len(to), rounds)
        print(
            f"{name:16} {len(made.html) / 1000:4.1f} KB: {ours:7.1f} µs a recipient;"
            f" EmailMessage {stdlib:7.1f} µs, bare join {bare:5.1f} µs;"
            f" compiled once in {compiling:.1f} ms"
        )
    times, seconds = newsletter.assembling(100_000, 500)
    print(f"slices: 100,000 recipients over 500 sets assembled {times} times in {seconds:.2f} s")


if __name__ == "__main__":
    main()
