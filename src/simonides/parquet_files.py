"""Tables in Parquet files, once every page of them has been asked what it will become.

The library that reads them allocates what a page's header claims, and unpacks it whole. So headers are read
here first: structs in Thrift's compact encoding, whose fields come in ascending order, once each.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from simonides.reading import limit, refuse_beyond

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

_LONGEST_FOOTER = 2**22
"""Bytes; ours have some thousand, and become thirty times as much in memory."""

_MOST_PAGES = 2**16
"""Of a file: writers make pages of about a megabyte."""

_LARGEST_PAGE = 2**26
"""Bytes of an unpacked page, which are held beside the table."""

_ELEMENTS_PER_COLUMN = 3
"""A column of lists is three, one in the other, and none of ours is more.

Names that occur often, and lists in lists, take time by the square of how many there are.
"""

_SPARE_ITEMS = 16
"""Columns that later writers may add, and what other lists of a footer hold, such as groups of rows."""

_TEXT_BYTES = 16
"""What a text of a dictionary takes in memory beside its letters: its place and its length."""

_DATA, _INDEX, _DICTIONARY, _DATA_2 = range(4)
"""Kinds of pages."""

_OWN = {_DATA: (5, 2), _DICTIONARY: (7, 2), _DATA_2: (8, 4)}
"""Fields of a page's header with what is of its kind alone, and in there of how values are encoded."""

_ENCODINGS = {0, 2, 3, 8}
"""Plain, by runs, and by a dictionary; others tell each text by the one before, and unfold without end."""

_DEEPEST = 3
"""Structs in structs: a page's header holds that of its kind, which holds statistics."""

_LAST_FIELD = 15
"""Any number of a field above it is none of the format's."""

_INTEGERS, _BYTES, _STRUCT = (4, 5, 6), 8, 12
"""Numbers of Thrift's types; 1 and 2 are True and False, 3 a byte."""


def parse_parquet(content: bytes, columns: pa.Schema) -> pa.Table:
    """Return the table that the bytes of a Parquet file hold, or raise what ``expecting`` expects.

    Of its columns those are read that ``columns`` name: numbers of up to eight bytes, their lists, texts.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if int.from_bytes(content[-8:-4], "little") > _LONGEST_FOOTER:
        raise ValueError(f"its footer claims more than {_LONGEST_FOOTER:,} bytes")
    most = limit(len(content)) - len(content)  # which is held beside the table
    options = {
        "pre_buffer": False,
        "thrift_string_size_limit": len(content),
        "thrift_container_size_limit": _ELEMENTS_PER_COLUMN * len(columns) + _SPARE_ITEMS,
    }
    schema = pq.ParquetFile(pa.BufferReader(content), **options).schema_arrow
    for name, kind in zip(schema.names, schema.types, strict=True):
        # A name before a dot stands for all columns that begin so.
        if schema.names.count(name) > 1 or "." in name:
            raise ValueError("its columns have no names of their own")
        if name in columns.names and kind != columns.field(name).type:
            raise ValueError(f"its column {name} is of another type than ours")
    schema = pa.schema([field for field in schema if field.name in columns.names])
    # Text is read as it lies in the file, each once and numbered: what is repeated often is small.
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    # On this thread alone: pools of threads may still be starting when a short run ends, and abort it.
    file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts, **options)
    pages, size = 0, 0
    for chunk in _chunks(file.metadata, schema.names):
        headers = list(itertools.islice(_pages(content, chunk), _MOST_PAGES - pages + 1))
        pages += len(headers)
        if pages > _MOST_PAGES:
            raise ValueError(f"it has more than {_MOST_PAGES:,} pages")
        size += _unpacked(chunk, headers)
        refuse_beyond(most, size)
    table = file.read(schema.names, use_threads=False)
    refuse_beyond(most, size + sum(_text_bytes(table.column(name)) for name in texts))
    return table.cast(schema)


def _chunks(file: Any, names: list[str]) -> Iterator[Any]:
    """Yield what each group of rows holds of the columns of these names."""
    places = [
        at
        for at in range(file.num_columns)
        if file.schema.column(at).path.partition(".")[0] in names
    ]
    for group in map(file.row_group, range(file.num_row_groups)):
        if group.num_columns != file.num_columns:
            raise ValueError("a group of rows has other columns than the file")
        yield from map(group.column, places)


def _unpacked(column: Any, headers: list[tuple[int, int, int]]) -> int:
    """Return about how many bytes a column becomes whose pages are of these kinds, sizes and numbers."""
    values = {kind: sum(number for k, _, number in headers if k == kind) for kind in range(4)}
    if values[_DATA] + values[_DATA_2] != column.num_values:
        raise ValueError(f"the pages of {column.path_in_schema} hold another number of values")
    refuse_beyond(_LARGEST_PAGE, max((size for _, size, _ in headers), default=0))
    pages = sum(size for _, size, _ in headers)
    return max(pages, 8 * int(column.num_values)) + _TEXT_BYTES * values[_DICTIONARY]


def _pages(content: bytes, column: Any) -> Iterator[tuple[int, int, int]]:
    """Yield the kind of each page of a column, its size unpacked, and its number of values."""
    if column.num_values == 0 and column.data_page_offset <= 0:  # a table without rows
        return
    at = column.data_page_offset
    if 0 < (column.dictionary_page_offset or 0) < at:
        at = column.dictionary_page_offset
    end = at + column.total_compressed_size
    if not 0 < at <= end <= len(content):
        raise ValueError(f"{column.path_in_schema} lies outside of the file")
    while at < end:
        header = _Struct(memoryview(content)[at:end])
        kind, size, packed = (header.number(field) for field in (1, 2, 3))
        at += header.length + packed
        number = 0
        if kind != _INDEX:
            place, encoding = _OWN.get(kind, (0, 0))
            own = header.fields.get(place)
            if not isinstance(own, _Struct) or own.number(encoding) not in _ENCODINGS:
                raise ValueError("a page is of a kind that we do not write")
            number = own.number(1)
        yield kind, size, number


class _Struct:
    """A struct's whole numbers and structs by the numbers of their fields, and its length in bytes."""

    def __init__(self, content: memoryview, depth: int = 1) -> None:
        if depth > _DEEPEST:
            raise ValueError("a page's header is nested too deeply")
        self._content, self.length = content, 0
        self.fields: dict[int, int | _Struct | None] = {}
        last = 0
        while head := self._byte():
            step, kind = divmod(head, 16)
            field = last + step
            # A reader that takes the last of two, or wraps numbers around, would see another size.
            if not last < field <= _LAST_FIELD:
                raise ValueError("fields of a page's header are not in their order")
            self.fields[field], last = self._value(kind, depth), field

    def number(self, field: int) -> int:
        """Return a field that is a number, not below zero."""
        value = self.fields.get(field)
        if not isinstance(value, int) or not 0 <= value < 2**31:
            raise ValueError("a page's header lacks a number, or has one that is none")
        return value

    def _value(self, kind: int, depth: int) -> int | _Struct | None:
        if kind in (1, 2):
            return None
        if kind == _STRUCT:
            part = _Struct(self._content[self.length :], depth + 1)
            self.length += part.length
            return part
        if kind in _INTEGERS:
            number = self._varint()
            # Sizes are of 32 bits; of another width they are passed over by the library, so they are here.
            return (number >> 1) ^ -(number & 1) if kind == _INTEGERS[1] else None
        if kind not in (3, _BYTES):
            raise ValueError("a page's header holds what none does")
        skipped = 1 if kind == 3 else self._varint()
        self.length += skipped
        return None

    def _varint(self) -> int:
        number = 0
        for shift in range(0, 35, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("a page's header holds a number beyond its size")

    def _byte(self) -> int:
        if self.length >= len(self._content):
            raise ValueError("a page's header is cut off")
        self.length += 1
        return self._content[self.length - 1]


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Return how long the texts of a column are in all, each as often as it occurs."""
    import pyarrow.compute as pc

    lengths = (
        pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() or 0
        for chunk in column.chunks
    )
    return int(sum(lengths))
