"""The path of a fusion problem: kept for ``from fusewise.path import ...``; the names are those of ``fusewise``."""

from fusewise.fusion import FusionPath, fusion_path

__all__ = ["FusionPath", "fusion_path"]
