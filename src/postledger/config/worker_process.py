"""A worker without its supervisor: `python -m postledger.config.worker_process`.

`postledger worker` starts it, and replaces it when it hangs.
"""

import os
import signal
from argparse import ArgumentParser


def main() -> None:
    # Until Celery handles them: nothing is under way yet, also while it is loaded. Not sys.exit: an
    # exception may be raised where nobody lets it pass, as in a destructor.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    from postledger.config import celery_worker

    parser = ArgumentParser()
    parser.add_argument("--beat", action="store_true")
    celery_worker.run(with_beat=parser.parse_args().beat)


if __name__ == "__main__":
    main()
