"""Postledger: a self-hosted platform that delivers email and keeps the books of it."""

import gc

# A process loads some hundred thousand objects and keeps them. At Python's own threshold of 2,000
# the collector looks through them again and again: a tenth of the time of every start.
gc.set_threshold(10_000, *gc.get_threshold()[1:])
