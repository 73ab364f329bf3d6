# What decides and applies; to measure in the image, too: --build-arg EXTRA=all,java (needs more than 1 GB).
FROM python:3.11-slim-bookworm AS build
ARG EXTRA=solve
COPY . /source
RUN python3 -m venv /opt/edgeplace && /opt/edgeplace/bin/pip install --no-cache-dir "/source[$EXTRA]"

FROM python:3.11-slim-bookworm
COPY --from=build /opt/edgeplace /opt/edgeplace
RUN useradd --uid 10001 --create-home edgeplace
ENV PATH=/opt/edgeplace/bin:$PATH
USER 10001
WORKDIR /home/edgeplace
ENTRYPOINT ["edgeplace"]
CMD ["--help"]
