"""Caddy, nginx and Apache in front of a web process, as docs/reference/proxy.md sets them up.

Without TLS, on ports of loopback, and with all their files in one folder.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

type Configure = Callable[[Path, int, int], str]

_APACHE_MODULES = ("mpm_event", "authz_core", "proxy", "proxy_http", "reqtimeout")


def _caddy(_folder: Path, port: int, upstream: int) -> str:
    return f"""
{{
    admin off
    auto_https off
}}
http://127.0.0.1:{port} {{
    reverse_proxy 127.0.0.1:{upstream}
}}
"""


def _nginx(folder: Path, port: int, upstream: int) -> str:
    return f"""
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        client_max_body_size 50m;
        location / {{
            proxy_pass http://127.0.0.1:{upstream};
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
        }}
    }}
}}
"""


def _apache(folder: Path, port: int, upstream: int) -> str:
    modules = "\n".join(
        f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so"
        for name in _APACHE_MODULES
    )
    return f"""
ServerRoot {folder}
PidFile {folder}/apache.pid
ErrorLog {folder}/apache.log
Listen 127.0.0.1:{port}
ServerName 127.0.0.1
User nobody
Group nogroup
{modules}
ServerLimit 6
StartServers 6
ThreadLimit 250
ThreadsPerChild 250
MaxRequestWorkers 1500
MaxSpareThreads 1500
LimitRequestBody 52428800
ProxyPreserveHost On
ProxyPass / http://127.0.0.1:{upstream}/
ProxyPassReverse / http://127.0.0.1:{upstream}/
"""


_PROXIES: Mapping[str, tuple[Configure, str, tuple[str, ...]]] = {
    "caddy": (_caddy, "caddy", ("run", "--adapter", "caddyfile", "--config")),
    "nginx": (_nginx, "nginx", ("-c",)),
    "apache": (_apache, "apache2", ("-DFOREGROUND", "-f")),
}
NAMES = tuple(_PROXIES)


def is_installed(name: str) -> bool:
    return shutil.which(_PROXIES[name][1]) is not None


@contextmanager
def running(name: str, folder: Path, *, port: int, upstream: int) -> Iterator[None]:
    configure, program, options = _PROXIES[name]
    config = folder / f"{name}.conf"
    config.write_text(configure(folder, port, upstream))
    with (folder / f"{name}.out").open("wb") as output:
        process = subprocess.Popen(
            [program, *options, str(config)], stdout=output, stderr=subprocess.STDOUT, cwd=folder
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)
