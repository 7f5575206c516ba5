"""Plans a campaign in chunks, in a process that may die: `python -m … STREAM FIRST COUNT`."""

import os
import sys

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
    django.setup()
    from tools.drill import books

    stream_id, first, count = (int(word) for word in sys.argv[1:])
    for at in range(first, first + count, 20):
        books.plan(stream_id, at, min(20, first + count - at))


if __name__ == "__main__":
    main()
