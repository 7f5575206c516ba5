"""Celery's configuration for the broker, whose queues carry only wake-ups."""

from datetime import timedelta

from postledger.lib import queues

# A wake-up that is a minute old is stale: polling has found its work.
WAKE_UP_LIFE = timedelta(seconds=60)


def settings(broker_url: str, prefix: str) -> dict[str, object]:
    """Celery's configuration, without result backend, ETA and retry.

    Due times are stored in the ledger, so Celery needs no delayed messages.
    """
    is_redis = broker_url.startswith("redis")
    exchange = queues.exchange(prefix)
    wake_ups, upkeep = queues.wake_ups(prefix), queues.upkeep(prefix)
    return {
        "broker_url": broker_url,
        "broker_connection_retry_on_startup": True,
        # For ever: Celery would end the worker after a hundred tries, 50 minutes.
        "broker_connection_max_retries": None,
        "broker_connection_timeout": 4,
        "broker_transport_options": (
            {"visibility_timeout": 600, "socket_timeout": 10, "socket_connect_timeout": 4}
            if is_redis
            else {"confirm_publish": True}
        ),
        "task_queues": [wake_ups, upkeep],
        "task_routes": {"postledger.wake": {"queue": wake_ups.name, "routing_key": wake_ups.name}},
        "task_default_queue": upkeep.name,
        "task_default_queue_type": "quorum",
        "task_default_exchange": exchange.name,
        "task_default_exchange_type": exchange.type,
        "task_default_routing_key": upkeep.name,
        "task_create_missing_queues": False,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
        "task_acks_late": True,
        "task_reject_on_worker_lost": False,
        # Beat may forget its last runs: every task may run again at any time.
        "beat_scheduler": "celery.beat:Scheduler",
        "worker_consumer": "postledger.workers.celery_parts:Consumer",
        "worker_pool": "threads",
        "worker_concurrency": 4,
        "worker_prefetch_multiplier": 1,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_send_task_events": False,
        # Signals and the ledger control workers, not the broker.
        "worker_enable_remote_control": False,
        # A lost broker is no reason to end a task: the database is not affected.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "timezone": "UTC",
        "enable_utc": True,
    }
