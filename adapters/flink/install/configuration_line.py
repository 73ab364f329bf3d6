"""The line of Flink's configuration that starts the agent, and the file it belongs into."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from edgeplace.adapters.flink.rest.release import major_minor
from edgeplace.model import InvalidInputError, load

JAR_NAME = "edgeplace-flink-agent.jar"
KEY = "env.java.opts.jobmanager"
_SHARED_KEYS = ("env.java.opts.all", "env.java.opts")
"""Keys whose options go to every process of Flink; `env.java.opts` is the older name."""
_LEGACY = "flink-conf.yaml"


@dataclass(frozen=True)
class ConfigurationLine:
    """The line that starts the agent, for one configuration file.

    Attributes
    ----------
    file
        The file that Flink reads.
    text
        The required line.
    in_place
        Whether the file has the line.
    replaces
        The current value of the key, None if the file does not have the key.
    everywhere
        The key that makes TaskManagers and clients load the agent too, None if there is none.
    """

    file: Path
    text: str
    in_place: bool
    replaces: str | None
    everywhere: str | None

    @property
    def agent_is_named(self) -> bool:
        """Whether the file names the agent's jar, with any options."""
        return self.everywhere is not None or _agent_in(self.replaces or "") is not None


def configuration_line(home: Path, release: str, option: str) -> ConfigurationLine:
    """Return the line to add to a home's configuration, merged with the existing options.

    Parameters
    ----------
    release
        Release of Flink, which determines the file.
    option
        `-javaagent:...`

    Raises
    ------
    InvalidInputError
        If the file cannot be read, or has the key twice.
    """
    file = configuration_file(home, release)
    legacy = file.name == _LEGACY
    values = _legacy_values(file) if legacy else _yaml_values(file)
    present = values.get(KEY) or None
    named = _agent_in(present or "")
    if present is None:
        merged = option
    elif named:
        merged = present.replace(named, option)
    else:
        merged = f"{present} {option}"
    return ConfigurationLine(
        file=file,
        text=f"{KEY}: {merged if legacy else _scalar(merged)}",
        in_place=named == option,
        replaces=present,
        everywhere=shared_key(values),
    )


def shared_key(configuration: Mapping[str, str]) -> str | None:
    """Return the key that gives the agent to every process of Flink, None if none does."""
    return next((k for k in _SHARED_KEYS if _agent_in(configuration.get(k, ""))), None)


def configuration_file(home: Path, release: str) -> Path:
    """Return the configuration file that a release reads, whether it exists or not."""
    legacy, standard = home / "conf" / _LEGACY, home / "conf" / "config.yaml"
    known = major_minor(release)
    if known and known < (1, 19):
        return legacy
    if known and known < (2, 0) and legacy.exists():
        # Flink 1.19 and 1.20 read the older file if both exist.
        return legacy
    return standard


def _agent_in(options: str) -> str | None:
    """Return the `-javaagent:...edgeplace-flink-agent.jar[=options]` among JVM options."""
    for token in options.replace('"', " ").split():
        jar = token.removeprefix("-javaagent:").partition("=")[0]
        if token.startswith("-javaagent:") and jar.rpartition("/")[2] == JAR_NAME:
            return token
    return None


def _yaml_values(file: Path) -> dict[str, str]:
    # A stock file may contain only comments; the reader of documents refuses such a file.
    if not _text(file).strip():
        return {}
    content = load(file) or {}
    if not isinstance(content, Mapping):
        raise InvalidInputError(f"{file}: expected keys and values", "mend the file")
    values: dict[str, str] = {}
    for key, value in _flat(content):
        if key in values and key in (KEY, *_SHARED_KEYS):
            raise InvalidInputError(f"{file}: {key} is given twice", "keep one of the two")
        values[key] = "" if value is None else str(value)
    return values


def _flat(content: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield full keys, because Flink treats `a: {b: x}`, `a.b: x` and mixtures of both alike."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _legacy_values(file: Path) -> dict[str, str]:
    """Return keys and values as Flink's own parser of flink-conf.yaml splits them."""
    values = {}
    for line in _text(file).splitlines():
        key, found, value = line.partition("#")[0].strip().partition(": ")
        if found:
            # If a key is given twice, the last one counts. The scripts remove quotes around a
            # value.
            values[key.strip()] = re.sub(r'^"(.*)"$', r"\1", value.strip())
    return values


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as e:
        raise InvalidInputError(f"{file}: cannot be read: {e.strerror}", "run as its owner") from e


def _scalar(value: str) -> str:
    """Return a string as YAML, plain if it can be."""
    try:
        plain = yaml.safe_load(f"{KEY}: {value}") == {KEY: value}
    except yaml.YAMLError:
        plain = False
    # A JSON string is a YAML string too.
    return value if plain else json.dumps(value, ensure_ascii=False)
