"""Made-up credentials of every form, put together here so that no file holds anything that looks like one."""

from __future__ import annotations

import random
import string
from base64 import urlsafe_b64encode
from collections.abc import Mapping

_WORD = string.ascii_letters + string.digits
_LOWER = string.ascii_lowercase + string.digits
_UPPER = string.ascii_uppercase + string.digits
_HEX = "0123456789abcdef"


def _some(alphabet: str, count: int) -> str:
    return "".join(random.Random(f"{alphabet}{count}").choices(alphabet, k=count))  # the same in every run


def _json(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


TOKENS: Mapping[str, str] = {
    "age": "AGE-SECRET-KEY-" + "1" + _some(_UPPER, 58),
    "anthropic": "sk-" + "ant-api03-" + _some(_WORD + "-_", 93) + "AA",
    "aws key id": "AK" + "IA" + _some(_UPPER, 16),
    "aws session key id": "AS" + "IA" + _some(_UPPER, 16),
    "azure": _some(_WORD + "+/", 86) + "==",
    "digitalocean": "dop" + "_v1_" + _some(_HEX, 64),
    "discord": "M" + _some(_WORD, 25) + "." + _some(_WORD, 6) + "." + _some(_WORD, 27),
    "github": "gh" + "p_" + _some(_WORD, 36),
    "github app": "gh" + "s_" + _some(_WORD, 36),
    "github fine-grained": "github" + "_pat_" + _some(_WORD, 22) + "_" + _some(_WORD, 59),
    "gitlab": "gl" + "pat-" + _some(_WORD, 20),
    "gitlab runner": "GR" + "1348941" + _some(_WORD, 20),
    "google": "AI" + "za" + _some(_WORD + "-_", 35),
    "google client": "GOC" + "SPX-" + _some(_WORD, 28),
    "groq": "gs" + "k_" + _some(_WORD, 52),
    "hugging face": "h" + "f_" + _some(string.ascii_letters, 34),
    "jwt": ".".join(
        [_json('{"alg":"HS256","typ":"JWT"}'), _json('{"sub":"1234567890","name":"kim"}'), _some(_WORD, 43)]
    ),
    "mailchimp": _some(_LOWER, 32) + "-us" + "12",
    "npm": "np" + "m_" + _some(_WORD, 36),
    "openai": "sk" + "-" + _some(_WORD, 20) + "T3Blbk" + "FJ" + _some(_WORD, 20),
    "openai project": "sk" + "-proj-" + _some(_WORD, 74) + "T3Blbk" + "FJ" + _some(_WORD, 74),
    "openrouter": "sk" + "-or-v1-" + _some(_HEX, 64),
    "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + _some(_WORD, 120),
    "sendgrid": "S" + "G." + _some(_WORD, 22) + "." + _some(_WORD, 43),
    "slack": "xo" + "xb-" + "123456789012-123456789012-" + _some(_WORD, 24),
    "slack app": "xa" + "pp-1-A012BCDEF-1234567890123-" + _some(_HEX, 64),
    "slack hook": "T" + _some(_UPPER, 8) + "/B" + _some(_UPPER, 8) + "/" + _some(_WORD, 24),
    "square": "sq" + "0csp-" + _some(_WORD, 43),
    "stripe": "sk" + "_live_" + _some(_WORD, 24),
    "telegram": "123456789" + ":AA" + _some(_WORD, 33),
    "twilio": "A" + "C" + _some(_HEX, 32),
    "xai": "x" + "ai-" + _some(_WORD, 80),
    "aws secret": _some(_WORD + "/+", 40),
}

LEADS: Mapping[str, str] = {
    "azure": "AccountName=shop;AccountKey=",
    "aws secret": "AWS_SECRET_ACCESS_KEY=",
    "slack hook": "https://hooks.slack.com/services/",
}
"""What stands before a credential that is known by it."""


def private_key(kind: str = "RSA ", lines: int = 12, newline: str = "\n") -> str:
    """A private key block, without a line break at its end."""
    body = [_some(_WORD + "+/", 64 - at % 2) for at in range(lines)]
    return newline.join([f"-----BEGIN {kind}PRIV" + "ATE KEY-----", *body, f"-----END {kind}PRIV" + "ATE KEY-----"])
