"""The broker's side: queues that carry nothing but bells, and how Celery is to treat them."""

from datetime import timedelta

from kombu import Exchange, Queue

# A bell that nobody heard for a minute is stale: looking has found its work long ago.
BELL_LIFE = timedelta(seconds=60)


def _queue(name: str, exchange: Exchange) -> Queue:
    # Quorum queues survive the loss of a broker's node. A full one drops its oldest bells: in a
    # queue of thousands, one more says nothing new. Redis ignores all of these.
    arguments = {
        "x-queue-type": "quorum",
        "x-max-length": 10_000,
        "x-overflow": "drop-head",
        "x-delivery-limit": 5,
    }
    return Queue(name, exchange, routing_key=name, queue_arguments=arguments)


def settings(broker_url: str, prefix: str) -> dict[str, object]:
    """Celery's configuration; no result backend, no ETA, no retry: time lives in the ledger.

    Names begin with the prefix, so that installations can share a broker.
    """
    is_redis = broker_url.startswith("redis")
    exchange = Exchange(prefix, type="topic", durable=True)
    bells, upkeep = f"{prefix}.bells", f"{prefix}.upkeep"
    return {
        "broker_url": broker_url,
        "broker_connection_retry_on_startup": True,
        # For ever: after a hundred tries, 50 minutes, Celery would end the worker.
        "broker_connection_max_retries": None,
        "broker_connection_timeout": 4,
        "broker_transport_options": (
            {"visibility_timeout": 600, "socket_timeout": 10, "socket_connect_timeout": 4}
            if is_redis
            else {"confirm_publish": True}
        ),
        "task_queues": [_queue(bells, exchange), _queue(upkeep, exchange)],
        "task_routes": {"postledger.bell": {"queue": bells, "routing_key": bells}},
        "task_default_queue": upkeep,
        "task_default_queue_type": "quorum",
        "task_default_exchange": exchange.name,
        "task_default_exchange_type": exchange.type,
        "task_default_routing_key": upkeep,
        "task_create_missing_queues": False,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
        "task_acks_late": True,
        "task_reject_on_worker_lost": False,
        # Beat may forget its last runs: everything it rings for may be rung for again.
        "beat_scheduler": "celery.beat:Scheduler",
        "worker_consumer": "postledger.workers.consumer:Consumer",
        "worker_pool": "threads",
        "worker_concurrency": 4,
        "worker_prefetch_multiplier": 1,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_send_task_events": False,
        # Nobody steers a worker through the broker; signals and the ledger do that.
        "worker_enable_remote_control": False,
        # Ending a task for a lost broker would only end what the database goes on counting.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "timezone": "UTC",
        "enable_utc": True,
    }
