"""A model behind an endpoint that the user configured. Without one, nothing leaves the machine but through a host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pepys.errors import InvalidConfiguration

if TYPE_CHECKING:
    from pepys.config import Journal

MAX_TOKENS = 4096

_ERROR_CHARS = 200


class Api(NamedTuple):
    """What an endpoint speaks."""

    base: str
    path: str
    key_variable: str
    default_model: str  # where memsearch's configuration names none


APIS: Mapping[str, Api] = {
    "openai": Api("https://api.openai.com/v1", "/chat/completions", "OPENAI_API_KEY", "gpt-4o-mini"),
    "anthropic": Api("https://api.anthropic.com", "/v1/messages", "ANTHROPIC_API_KEY", "claude-3-5-haiku-latest"),
}


class _StaysThere(HTTPRedirectHandler):
    """Follows no redirection: the key would go along, to whatever address an answer names."""

    def redirect_request(self, *_: object) -> None:
        """Refuse."""


class Endpoint:
    """One of those, as a completion."""

    def __init__(self, api: str, url: str, model: str, key: str) -> None:
        self.api, self.url, self.model, self._key = api, url, model, key

    def __call__(self, model: str | None, system: str, prompt: str, timeout_s: float) -> str:
        """The model's answer.

        Raises:
            TimeoutError: There was none in time.
            OSError: There was none, or none that can be read. The key is in no message.
        """
        name = (model or self.model).removeprefix(f"{self.api}/")
        body = json.dumps(self._body(name, system, prompt)).encode()
        request = Request(self.url, body, {"Content-Type": "application/json", **self._headers()})  # noqa: S310
        try:
            with build_opener(_StaysThere).open(request, timeout=timeout_s) as response:
                answer = json.load(response)
        except HTTPError as error:
            with error:
                said = error.read(2000).decode("utf-8", "replace")
            raise OSError(
                f"{name} at {self.url} answered {error.code}: {' '.join(said.split())[:_ERROR_CHARS]}"
            ) from None
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise error.reason from None
            raise OSError(f"{self.url} cannot be reached: {error.reason}") from None
        except ValueError:
            raise OSError(f"{self.url} answered with something that is not JSON") from None
        return self._text(answer)

    def _body(self, model: str, system: str, prompt: str) -> dict[str, Any]:
        if self.api == "anthropic":
            messages = [{"role": "user", "content": prompt}]
            return {"model": model, "max_tokens": MAX_TOKENS, "system": system, "messages": messages}
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        return {"model": model, "messages": messages}

    def _headers(self) -> dict[str, str]:
        if not self._key:
            return {}
        if self.api == "anthropic":
            return {"x-api-key": self._key, "anthropic-version": "2023-06-01"}
        return {"Authorization": f"Bearer {self._key}"}

    def _text(self, answer: object) -> str:
        match answer:
            case {"content": [*blocks]}:
                return "".join(block["text"] for block in blocks if isinstance(block, dict) and "text" in block)
            case {"choices": [{"message": {"content": str(text)}}, *_]}:
                return text
            case _:
                raise OSError(f"{self.url} answered without a text")


def configured(settings: Journal, env: Mapping[str, str]) -> Endpoint | None:
    """The endpoint of the configuration; None when there is none.

    Raises:
        InvalidConfiguration: It names no model, or its address is none.
    """
    if settings.model_api == "none":
        return None
    if not settings.model:
        raise InvalidConfiguration("journal.modelApi is set, and journal.model is not.", hint="Name the model.")
    api = APIS[settings.model_api]
    base = (settings.model_url or api.base).rstrip("/")
    if not base.startswith(("https://", "http://")):
        raise InvalidConfiguration(f"journal.modelUrl is no web address: {base}.")
    key = env.get(settings.model_key_variable or api.key_variable, "")
    return Endpoint(settings.model_api, base + api.path, settings.model, key)
