"""A user's table: files read, columns understood, encoded as numbers, and written back."""

from fusewise.tables.frames import ColumnCode, FrameEncoder

__all__ = ["ColumnCode", "FrameEncoder"]
