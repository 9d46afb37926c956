"""One pass over one source: bytes in, entries and diagnostics out, and the digests that prove what was read."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from pepys.hosts.base import Host
from pepys.hosts.discovery import stamp
from pepys.hosts.jsonl import CHUNK_BYTES, MAX_LINE_BYTES, Decode, Line, bulk, decode, lines
from pepys.model.entry import Entry, Record
from pepys.model.source import Diagnostic, Header, Stamp, Title, diagnostic

if TYPE_CHECKING:
    import hashlib

Item = Header | Title | Entry | Diagnostic

HEAD_BYTES = 64 << 10
"""What is read of a source of which only the header is asked for."""


class Checkpoint(NamedTuple):
    """How far a source was read: whole lines only."""

    offset: int  # bytes (of an archive: of the decompressed stream)
    sha256: str  # hex digest of the bytes before


def open_source(path: str) -> BinaryIO:
    """Open a source for reading; an archive is decompressed on the way. Spans count the bytes that this returns.

    Raises:
        OSError: It cannot be opened.
    """
    if _is_compressed(path):
        import gzip

        return cast(BinaryIO, gzip.open(path, "rb"))
    return open(path, "rb", buffering=0)


def examine(host: Host, path: str, previous: Checkpoint | None = None) -> Reading:
    """Begin to read a source, from *previous* on if it still starts with the bytes that were read then.

    Raises:
        OSError: It cannot be opened or read.
    """
    stream = open_source(path)
    try:
        return Reading(host, path, stream, previous)
    except BaseException:
        stream.close()
        raise


class Reading:
    """A source that is being read. Take `items` once, to their end; all but `stamp` and `grown` is known only then.

    Attributes:
        stamp: Taken before the first byte was read.
        grown: Items are those after the previous checkpoint; without it, they are all.
        derived_ids: Some entries had no id of their own.
        sha256: Hex digest of the whole source as it lies on disk.
        checkpoint: After the last whole line. An unfinished last line is a diagnostic and never decoded.
        changed: The source was rewritten, not only appended to, while it was read.
    """

    stamp: Stamp
    grown: bool
    derived_ids: bool
    sha256: str
    checkpoint: Checkpoint
    changed: bool

    def __init__(self, host: Host, path: str, stream: BinaryIO, previous: Checkpoint | None) -> None:
        self._host, self._path, self._stream = host, path, stream
        self._decode = bulk()
        self.stamp = self._stamp()
        self.derived_ids = False
        self._hash, self._whole_lines = _sha256(), _sha256()
        self._start = 0
        self._header = False  # one was seen
        self._missing = False  # it was said that there is none
        self.grown = previous is not None and not _is_compressed(path) and self._holds(previous)
        if not self.grown:
            stream.seek(0)
            self._hash = _sha256()

    def close(self) -> None:
        """Let go of the file; done by itself after the last item."""
        self._stream.close()

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def items(self) -> Iterator[Item]:
        """Every line as a header, a title or an entry, or else as a diagnostic; blank lines aside.

        A title that stands before the header comes after it, so that of all names the last one counts.

        Raises:
            OSError: Reading failed; nothing but what was yielded is known.
        """
        try:
            offset = self._start
            self._whole_lines = self._hash.copy()
            names = _Names(self._replayed)
            waiting: list[Title] = []
            try:
                stream = _Eager(self._stream) if _is_compressed(self._path) else self._stream
                for line in lines(cast(BinaryIO, stream), self._start, self._taken):
                    if line.torn:
                        if line.data is None or line.data.strip():
                            yield diagnostic(line.start, "torn_tail")
                        continue
                    offset = line.end
                    if line.data is None:
                        yield diagnostic(line.start, "record_too_large")
                        continue
                    for item in _decoded(self._host, self._decode, line):
                        if type(item) is Entry:
                            if not self._header and not self._missing:
                                self._missing = True
                                yield diagnostic(line.start, "missing_header")
                                yield from waiting
                                waiting.clear()
                            yield item if item.id is not None else names.named(item, line.data)
                        elif type(item) is Title and not self._header and not self._missing:
                            waiting.append(item)
                        elif type(item) is Header:
                            if self._header:
                                yield diagnostic(line.start, "repeated_header")
                            else:
                                self._header = True
                                yield item
                                yield from waiting
                                waiting.clear()
                        else:
                            yield item
            except EOFError:
                yield diagnostic(offset, "torn_tail")  # an archive that was cut off
            except zlib.error as error:
                raise OSError(str(error)) from error
            yield from waiting
            self.derived_ids = names.used
            self.checkpoint = Checkpoint(offset, self._whole_lines.hexdigest())
            self.sha256 = self._compressed_sha256() if _is_compressed(self._path) else self._hash.hexdigest()
            after = self._stamp()
            self.changed = after != self.stamp and after.size <= self.stamp.size
        finally:
            self.close()

    def _taken(self, chunk: bytes) -> None:
        end = chunk.rfind(b"\n") + 1
        if end:
            view = memoryview(chunk)
            self._hash.update(view[:end])
            self._whole_lines = self._hash.copy()
            self._hash.update(view[end:])
        else:
            self._hash.update(chunk)

    def _holds(self, previous: Checkpoint) -> bool:
        """Whether the source still starts with what was read; then its state there is known."""
        if previous.offset > self.stamp.size:
            return False
        prefix = _Limited(self._stream, previous.offset)
        entries = False
        for line in lines(cast(BinaryIO, prefix), 0, self._hash.update):
            for item in _decoded(self._host, self._decode, line):
                self._header = self._header or isinstance(item, Header)
                entries = entries or isinstance(item, Entry)
            if self._header:
                break
        while chunk := prefix.read(CHUNK_BYTES):
            self._hash.update(chunk)
        if self._hash.hexdigest() == previous.sha256 and (self._header or entries):
            self._missing = entries and not self._header
            self._start = previous.offset
            return True
        self._header = False
        return False

    def _replayed(self) -> Iterator[tuple[Entry, bytes]]:
        """Once more the entries without an id before the place from which this reading goes on."""
        if self._start == 0:
            return
        with open_source(self._path) as stream:
            prefix = cast(BinaryIO, _Limited(stream, self._start))
            for line in lines(prefix, 0, lambda _: None):
                if line.data is not None:
                    for item in _decoded(self._host, self._decode, line):
                        if isinstance(item, Entry) and item.id is None:
                            yield item, line.data

    def _compressed_sha256(self) -> str:
        file = cast(Any, self._stream).fileobj
        file.seek(0)
        digest = _sha256()
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
        return digest.hexdigest()

    def _stamp(self) -> Stamp:
        return stamp(os.fstat(self._stream.fileno()))


def read_header(host: Host, path: str) -> Header | None:
    """What a source says of itself; None where its first `HEAD_BYTES` hold no header before the first entry."""
    try:
        with open_source(path) as stream:
            head = stream.read(HEAD_BYTES)
    except (OSError, EOFError, ValueError, zlib.error):
        return None
    for line in lines(io.BytesIO(head), 0, lambda chunk: None):
        if line.torn:
            return None
        for item in _decoded(host, bulk(), line):
            if isinstance(item, Header):
                return item
            if isinstance(item, Entry):
                return None
    return None


def read_entries(host: Host, path: str, spans: Sequence[tuple[int, int]]) -> list[Entry | None]:
    """The entries at *spans*, decoded again; None where the bytes are no entry any more.

    The id of an entry that has none of its own is None here.

    Raises:
        OSError: The source cannot be opened or read.
    """
    found: dict[tuple[int, int], Entry | None] = {}
    for line in _lines_at(path, spans):
        entries = [item for item in _decoded(host, decode, line) if isinstance(item, Entry)]
        found[line.start, line.end] = entries[0] if entries else None
    return [found.get((start, end)) for start, end in spans]


def read_values(path: str, spans: Sequence[tuple[int, int]]) -> list[dict[str, Any] | None]:
    """The JSON objects at *spans*, in the host's words; None where the bytes are none any more.

    Raises:
        OSError: The source cannot be opened or read.
    """
    found = {(line.start, line.end): decode(line.data)[0] for line in _lines_at(path, spans) if line.data is not None}
    return [found.get((start, end)) for start, end in spans]


def _lines_at(path: str, spans: Sequence[tuple[int, int]]) -> Iterator[Line]:
    """The lines that stand at exactly these *spans*."""
    with open_source(path) as stream:
        try:
            for start, end in sorted(set(spans)):
                if not 0 <= start < end <= start + MAX_LINE_BYTES + 1:
                    continue
                stream.seek(start)
                data = _exactly(stream, end - start)
                if data.endswith(b"\n") and data.count(b"\n") == 1:
                    yield Line(start, end, data[:-1])
        except EOFError:
            pass  # a cut archive: what lies beyond is gone
        except zlib.error as error:
            raise OSError(str(error)) from error


class _Names:
    """Ids for entries that have none, chained in file order as hosts do when they upgrade such files."""

    def __init__(self, before: Callable[[], Iterator[tuple[Entry, bytes]]]) -> None:
        self._before = before
        self._counts: dict[str, int] = {}
        self._last: str | None = None
        self.used = False

    def named(self, entry: Entry, line: bytes) -> Entry:
        if not self.used:
            self.used = True
            for earlier, data in self._before():
                self._chained(earlier, data)
        return self._chained(entry, line)

    def _chained(self, entry: Entry, line: bytes) -> Entry:
        base = f"line-{_sha256(line).hexdigest()[:8]}"
        count = self._counts[base] = self._counts.get(base, 0) + 1
        parent, self._last = self._last, base if count == 1 else f"{base}-{count}"
        return entry._replace(id=self._last, parent=parent)


class _Eager:
    """An archive that gives what it has: read whole, one that was cut off would lose what stands before the cut."""

    def __init__(self, stream: BinaryIO) -> None:
        self._read = cast(Any, stream).read1

    def read(self, size: int) -> bytes:
        return cast(bytes, self._read(size))


class _Limited:
    """The first bytes of a stream."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream, self._left = stream, limit

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._left))
        self._left -= len(data)
        return data


def _decoded(host: Host, decode: Decode, line: Line) -> Iterator[Item]:
    """The diagnostics and the meaning of a whole line that is not too long."""
    data = line.data
    if data is None or not data.strip():
        return
    value, codes = decode(data)
    for code in codes:
        yield diagnostic(line.start, code)
    if value is not None:
        item = host.decode(Record(line.start, line.end, value))
        if item is not None:
            yield item


def _exactly(stream: BinaryIO, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := stream.read(min(size, CHUNK_BYTES))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _sha256(data: bytes = b"") -> hashlib._Hash:
    import hashlib  # re-reading a few entries hashes nothing

    return hashlib.sha256(data)


def _is_compressed(path: str) -> bool:
    return path.endswith(".gz")
