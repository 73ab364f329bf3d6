"""Find the agent's folder of plans in the JVM options of the JobManager."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from edgeplace.adapters.flink.errors import AgentMissingError
from edgeplace.adapters.flink.plans.folder import PlansFolder
from edgeplace.adapters.flink.rest.live import LiveFlink
from edgeplace.model import InvalidInputError

_AGENT = re.compile(r"-javaagent:(?P<jar>[^=]*edgeplace-flink-agent[^=/]*\.jar)(?:=(?P<rest>.*))?")


@dataclass(frozen=True)
class AgentOption:
    """The JVM option that loads the agent."""

    jar: str
    settings: Mapping[str, str]


def agent_option(environment: Any) -> AgentOption | None:
    """Find the agent among the JVM's options; None: this JVM was started without it.

    Parameters
    ----------
    environment
        Answer to `GET /jobmanager/environment`.
    """
    for option in jvm_options(environment):
        hit = _AGENT.fullmatch(option)
        if hit:
            pairs = (part.partition("=") for part in (hit["rest"] or "").split(",") if part)
            return AgentOption(hit["jar"], {k: v for k, _, v in pairs})
    return None


def jvm_options(environment: Any) -> list[str]:
    """Return the JVM's options; empty where Flink does not tell them."""
    jvm = environment.get("jvm") if isinstance(environment, Mapping) else None
    options = jvm.get("options") if isinstance(jvm, Mapping) else None
    return [str(o) for o in options] if isinstance(options, list) else []


def find_plans_folder(live: LiveFlink, given: str | Path | None = None) -> PlansFolder:
    """Return the folder of plans: the one given, else the one that Flink's JVM options tell.

    Raises
    ------
    AgentMissingError
        If the agent is not loaded.
    InvalidInputError
        If its folder cannot be told, or is not on this machine.
    FlinkUnreachableError
        If Flink does not answer.
    """
    if given is not None:
        return PlansFolder(given)
    environment = live.environment()
    option = agent_option(environment)
    if option is None:
        raise AgentMissingError(
            f"the JobManager at {live.url} runs without edgeplace's agent",
            "install it (`edgeplace flink install FLINK_HOME`) and restart the JobManager; where "
            "Flink does not tell its JVM options, give --plans DIR",
        )
    stated = option.settings.get("plans")
    folder = Path(stated) if stated else _default_folder(environment)
    if folder is None or not folder.is_absolute():
        raise InvalidInputError(
            f"where the agent of {live.url} looks for plans cannot be told from here",
            "give --plans DIR; the JobManager's log names it",
        )
    return PlansFolder(folder)


def _default_folder(environment: Any) -> Path | None:
    # Flink's scripts tell the folder of its configuration only in the options of the logging.
    for option in jvm_options(environment):
        name, _, value = option.partition("=")
        if name in ("-Dlog4j.configurationFile", "-Dlogback.configurationFile") and value:
            return Path(unquote(urlsplit(value).path)).parent / "edgeplace"
    return None
