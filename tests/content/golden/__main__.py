"""`python -m tests.content.golden`: the digest of every letter, as JSON.

With --write the golden files are written anew.
"""

import argparse
import json
import os
import sys
from hashlib import sha256

import django


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the golden files anew")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
    os.environ.setdefault("DEBUG", "true")
    django.setup()

    from tests.content.golden import corpus, files, specimen

    wires = {name: specimen.wire(corpus.find(name)) for name in corpus.NAMES}
    if options.write:
        files.write(wires)
    json.dump({name: sha256(wire).hexdigest() for name, wire in wires.items()}, sys.stdout)


if __name__ == "__main__":
    main()
