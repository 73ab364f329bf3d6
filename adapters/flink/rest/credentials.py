"""Credentials for Flink or Prometheus, from the environment or a private file; never shown."""

import base64
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from edgeplace.model import InvalidInputError

FLINK_VARIABLES = "EDGEPLACE_FLINK"
"""The start of the names of the variables with the credentials for Flink: `…_TOKEN`, or `…_USER`
and `…_PASSWORD`.
"""


@dataclass(frozen=True)
class Credentials:
    """The value of an Authorization header, and its origin."""

    authorization: str = field(repr=False)
    origin: str
    """The origin, for messages; never the secret itself."""


def find_credentials(
    file: str | Path | None = None,
    environment: Mapping[str, str] = os.environ,
    variables: str = FLINK_VARIABLES,
) -> Credentials | None:
    """Return the credentials of a file, else those of the environment, else None.

    Parameters
    ----------
    file
        YAML file with `token`, or with `user` and `password`. Only its owner may have read
        permission.
    variables
        The start of the names of the variables.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, is open to others, or if credentials are incomplete.
    """
    if file is not None:
        return _of_file(Path(file))
    of_token, of_user, of_password = (f"{variables}_{x}" for x in ("TOKEN", "USER", "PASSWORD"))
    token = environment.get(of_token)
    user, password = environment.get(of_user), environment.get(of_password)
    if token:
        return _bearer(token, f"the environment ({of_token})")
    if user is None and password is None:
        return None
    if not user or password is None:
        raise InvalidInputError(
            f"only one of {of_user} and {of_password} is set", "set both, or none"
        )
    return _basic(user, password, f"the environment ({of_user}, {of_password})")


def _of_file(path: Path) -> Credentials:
    shape = "write `token: ...`, or `user: ...` and `password: ...` on two lines"
    try:
        with path.open(encoding="utf-8") as f:
            if os.fstat(f.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise InvalidInputError(
                    f"{path}: others than its owner can read or write it", f"chmod 600 {path}"
                )
            # All values are read as text: the password `0123` is not a number, and `yes` is not a
            # boolean.
            content = yaml.load(f, Loader=yaml.BaseLoader)  # noqa: S506 - it makes nothing else
    except OSError as e:
        raise InvalidInputError(f"{path}: cannot be read: {e.strerror}", "check the path") from e
    except (yaml.YAMLError, UnicodeDecodeError):
        # The parser's message would quote the line, which contains a secret.
        raise InvalidInputError(f"{path}: not valid YAML", shape) from None
    known = content if isinstance(content, dict) else {}
    texts = {k: v for k, v in known.items() if isinstance(v, str)}
    if set(known) == {"token"} and texts.get("token"):
        return _bearer(texts["token"], str(path))
    if set(known) == {"user", "password"} and len(texts) == 2:
        return _basic(texts["user"], texts["password"], str(path))
    raise InvalidInputError(f"{path}: these are no credentials", shape)


def _bearer(token: str, origin: str) -> Credentials:
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidInputError(
            f"the token of {origin} has blanks, line ends or other characters that no token has",
            "set the token alone",
        )
    return Credentials(f"Bearer {token}", origin)


def _basic(user: str, password: str, origin: str) -> Credentials:
    if ":" in user:
        raise InvalidInputError(f"the user of {origin} has a colon", "use another user")
    pair = base64.b64encode(f"{user}:{password}".encode()).decode()
    return Credentials(f"Basic {pair}", origin)
