"""Imputation of a table without clusters, from a shrunk subspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fusewise.kernels import Index, Real, Values
from fusewise.observations import Entries, varying_columns
from fusewise.subspace._projection import Subspace, coordinates, reconstruct
from fusewise.subspace._rank import fit_shrunk_subspace
from fusewise.support import Dims, Instance, NumberArray, PositionArray, Record


@dataclass(frozen=True, eq=False)
class Smooth(Record):
    """A shrunk subspace of the columns, each in units of its standard deviation; a complex column is two real ones.

    Columns are not centred, so that those with similar means (ratings, for example) can be shrunk towards each other.
    """

    columns: Index  # those that vary
    scale: Real  # the standard deviation of each column
    middle: Values  # the mean of each column
    subspace: Subspace  # of the varying columns

    _rules: ClassVar = {
        "columns": PositionArray("V", below="P"),
        "scale": NumberArray("P", low=0),
        "middle": NumberArray("P", kinds="fc"),
        "subspace": Instance(Subspace, P="Q"),
    }

    def _agree(self, dims: Dims) -> None:
        if dims["Q"] not in (dims["V"], 2 * dims["V"]):
            raise ValueError(f"Smooth.subspace has {dims['Q']} columns for {dims['V']} of the table")

    @classmethod
    def of(cls, entries: Entries) -> Smooth:
        columns, scale = varying_columns(entries)
        return cls(columns, scale, entries.column_means, fit_shrunk_subspace(_scaled(entries, columns, scale), 6))

    def completed(self, entries: Entries) -> Values:
        """E[row | its entries]; the mean for a row without observed entries."""
        table = _scaled(entries, self.columns, self.scale)
        return self._in_units(reconstruct(self.subspace, coordinates(self.subspace, table)[0]), entries)

    def drawn(self, entries: Entries, scale: Real, seed: int) -> Values:
        """Rows drawn given their entries: the coordinates, and noise about the subspace, times `scale` (P).

        But not to vary more than if nothing of a row were known.
        """
        random = np.random.default_rng(seed)
        v, covariances = coordinates(self.subspace, _scaled(entries, self.columns, self.scale))
        values, axes = np.linalg.eigh(covariances)
        away = np.einsum("ijk,ik->ij", axes, np.sqrt(np.maximum(values, 0)) * random.standard_normal(v.shape))
        noise = with_noise(away @ self.subspace.basis.T, self.subspace.noises, random)
        basis, noises = self.subspace.basis, self.subspace.noises
        known = np.einsum("jk,ikl,jl->ij", basis, covariances, basis) + noises
        most = np.sqrt((np.square(basis) @ self.subspace.variances + noises) / known)
        each = np.minimum(np.resize(scale[self.columns], noise.shape[1]), most)
        return self._in_units(reconstruct(self.subspace, v) + each * noise, entries)

    def _in_units(self, found: Real, entries: Entries) -> Values:
        """Convert scaled rows of the varying columns to rows of the table."""
        p = len(self.columns)
        whole = np.repeat(self.middle[None], entries.shape[0], axis=0)
        parts = found[:, :p] + 1j * found[:, p:] if found.shape[1] > p else found
        whole[:, self.columns] = parts * self.scale[self.columns]
        return whole


def _scaled(entries: Entries, columns: Index, scale: Real) -> Entries:
    """Varying columns in units of their standard deviation, as real numbers in double precision."""
    return entries.standardised(columns, scale, np.zeros(len(scale))).real()


def with_noise(rows: Values, variances: Real, random: np.random.Generator) -> Values:
    """Add independent normal noise of given variances of the columns, shared by the two parts of complex ones."""
    noise = random.standard_normal(rows.shape)
    if np.iscomplexobj(rows):
        noise = (noise + 1j * random.standard_normal(rows.shape)) / np.sqrt(2)
    return np.asarray(rows + np.sqrt(variances) * noise)
