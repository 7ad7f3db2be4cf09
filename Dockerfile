# deident in a small image: a user without rights, no network at run time, a root file system that may be read-only.
# docker build -t deident . ; how it is run stands in docs/install.md
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
# what is installed is pinned by pyproject.toml, not here
# hadolint ignore=DL3013
RUN pip install --no-cache-dir --no-compile --prefix=/opt/deident ".[service,tables,vault,stats,office]"

FROM python:3.13-slim
COPY --from=build /opt/deident /usr/local
# numba keeps what it compiled; where the file system is read-only, under the tmpfs of /tmp
ENV PYTHONDONTWRITEBYTECODE=1 NUMBA_CACHE_DIR=/tmp/numba HOME=/tmp
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin deident
USER 10001:10001
WORKDIR /tmp
EXPOSE 8642
ENTRYPOINT ["deident"]
CMD ["--help"]
