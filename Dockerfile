# The image of all processes: `docker build --tag postledger .`
# Both stages need the same Python in the same folder.
ARG PYTHON_IMAGE=docker.io/library/python:3.13-slim-trixie

FROM ${PYTHON_IMAGE} AS build
RUN pip install --no-cache-dir uv==0.13.7
WORKDIR /build
ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_NO_CACHE=1 \
    UV_PROJECT_ENVIRONMENT=/opt/postledger \
    UV_PYTHON_DOWNLOADS=never
# Dependencies change less often than the code, so they have a layer of their own.
COPY pyproject.toml uv.lock ./
RUN uv sync --locked --no-dev --no-install-project
COPY LICENSE ./
COPY src src
RUN uv sync --locked --no-dev --no-editable

FROM ${PYTHON_IMAGE}
RUN groupadd --gid 10001 postledger \
    && useradd --uid 10001 --gid postledger --home-dir /var/lib/postledger --no-create-home \
        --shell /usr/sbin/nologin postledger \
    && install --directory --owner postledger --group postledger --mode 0700 /var/lib/postledger
COPY --from=build /opt/postledger /opt/postledger
ENV PATH=/opt/postledger/bin:$PATH \
    STATE_FOLDER=/var/lib/postledger
# As numbers: Kubernetes cannot tell from a name that it is not root.
USER 10001:10001
WORKDIR /var/lib/postledger
# With it, and with a temporary file system at /tmp, the root may be read-only.
VOLUME /var/lib/postledger
EXPOSE 8000
ENTRYPOINT ["postledger"]
CMD ["serve", "--host", "0.0.0.0"]
