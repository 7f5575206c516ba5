"""`python -m tests.content.golden` writes the golden files anew."""

import os

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
    os.environ.setdefault("DEBUG", "true")
    django.setup()

    from tests.content.golden import corpus

    files = dict(map(corpus.make_file, corpus.NAMES))
    for path in corpus.FOLDER.glob("[!.]*"):
        if path.name not in files:
            path.unlink()
    for name, content in files.items():
        (corpus.FOLDER / name).write_bytes(content)


if __name__ == "__main__":
    main()
