"""memsearch's provider `onnx`, with a model of a few words in the cache of Hugging Face."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from pepys.journal.embedders.base import EmbedderFailed
from pepys.journal.milvus import embedding
from pepys.journal.milvus.onnx import Onnx

DATA = Path(__file__).parents[1] / "data" / "onnx"
MODEL = "gpahal/bge-m3-onnx-int8"


def cached(hub: Path) -> None:
    """Put the model where Hugging Face's libraries keep it."""
    repository = hub / f"models--{MODEL.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("c0ffee")
    shutil.copytree(DATA, repository / "snapshots" / "c0ffee")


def named(env: dict[str, str]) -> Onnx:
    found = embedding.named({"embedding.provider": "onnx"}, env)
    assert isinstance(found, Onnx)
    return found


@pytest.fixture
def runtime() -> None:
    for package in ("onnxruntime", "tokenizers"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install 'pepys[milvus-onnx]'")


def test_the_usual_model_is_that_of_memsearch(tmp_path: Path) -> None:
    assert (named({}).model, named({}).name) == (MODEL, f"onnx {MODEL}")


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize(
    ("variable", "below"),
    [
        (None, ".cache/huggingface/hub"),
        ("HF_HUB_CACHE", "here"),
        ("HUGGINGFACE_HUB_CACHE", "here"),
        ("HF_HOME", "here/hub"),
        ("XDG_CACHE_HOME", "here/huggingface/hub"),
    ],
)
def test_a_model_is_found_wherever_its_cache_is(variable: str | None, below: str, tmp_path: Path) -> None:
    cached(tmp_path / below)
    env = {"HOME": str(tmp_path), **({variable: str(tmp_path / "here")} if variable else {})}

    (vector,) = named(env).vectors(["moved the hot cache"])

    assert len(vector) == 8
    assert sum(value * value for value in vector) == pytest.approx(1)


@pytest.mark.usefixtures("runtime")
def test_a_text_has_the_same_vector_whatever_stands_beside_it(tmp_path: Path) -> None:
    cached(tmp_path / ".cache" / "huggingface" / "hub")
    model = named({"HOME": str(tmp_path)})

    together = model.vectors(["varnish", "moved the hot cache to redis", "\ud800 varnish"])

    for text, vector in zip(["varnish", "moved the hot cache to redis", "? varnish"], together, strict=True):
        assert model.vectors([text])[0] == pytest.approx(vector, abs=1e-6)


@pytest.mark.usefixtures("runtime")
def test_a_damaged_model_gives_no_vectors(tmp_path: Path) -> None:
    hub = tmp_path / ".cache" / "huggingface" / "hub"
    cached(hub)
    (path,) = hub.rglob("model_quantized.onnx")
    path.write_bytes(b"damaged")

    with pytest.raises(EmbedderFailed, match=MODEL):
        named({"HOME": str(tmp_path)}).vectors(["varnish"])


@pytest.mark.usefixtures("runtime")
def test_a_model_that_was_never_downloaded_is_not_downloaded(tmp_path: Path) -> None:
    with pytest.raises(EmbedderFailed, match="was not downloaded yet"):
        named({"HOME": str(tmp_path)}).vectors(["varnish"])

    assert list(tmp_path.iterdir()) == []


def test_what_it_needs_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(EmbedderFailed, match=r"pip install 'pepys\[milvus-onnx\]'"):
        named({"HOME": str(tmp_path)}).vectors(["varnish"])
