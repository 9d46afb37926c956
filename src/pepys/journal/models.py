"""Which model distils an exchange: the cheapest of the session's provider, unless the user names one (spec 4)."""

from __future__ import annotations

from collections.abc import Sequence

from pepys.model.journal import OfferedModel


class NoModel(Exception):
    """The rule names no model; the text says why."""


def chosen(offered: Sequence[OfferedModel], wanted: str, provider: str | None, session_model: str | None) -> str | None:
    """The model to ask, as `provider/id`; None leaves it to a caller that has offered none.

    Args:
        offered: What the host can call.
        wanted: `id`, or `provider/id` up to the first slash (ids hold slashes too); empty: no wish.
        provider: Of the session.
        session_model: The model of the session itself.

    Raises:
        NoModel: What is wanted is not offered, or nothing is wanted and there is no model of the session. Another
            model is never taken instead: memory must not be distilled by one that nobody chose.
    """
    if wanted:
        if not offered:
            return wanted
        before, _, rest = wanted.partition("/")
        for model in offered:
            if (model.provider == before and model.id == rest) if rest else model.id == wanted:
                return model.name
        raise NoModel(f"capture model '{wanted}' not found in the model registry")
    own = [model for model in offered if model.provider == provider]
    if own:
        return min(own, key=lambda model: (model.input + model.output, model.id)).name
    if session_model or not offered:
        return session_model
    raise NoModel("the session has no model")
