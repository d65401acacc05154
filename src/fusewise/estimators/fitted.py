"""What the parameters and the fitted attributes of the estimators must be; a loaded model is checked against it."""

from __future__ import annotations

from fusewise.automatic import Choice, Hints
from fusewise.automatic.alternatives import Alternative
from fusewise.automatic.stability import Stability
from fusewise.fusion import FusionPath
from fusewise.fusion.fidelity import Fidelity
from fusewise.fusion.penalties import Penalty
from fusewise.observations import DaskTable, Entries, SparseEntries, StreamedEntries, StreamSummary
from fusewise.support.records import Array, Either, Flag, Index, Maybe, Number, Record, Rule, Several, Word
from fusewise.tables import FrameEncoder

_COUNT, _AUTO = Number(low=1, whole=True), Word("auto")

#: Parameters of both estimators; the others are checked where they are used.
PARAMETERS: dict[str, Rule] = {
    "lam": Either(Number(low=0), _AUTO),
    "rank": Maybe(Either(_COUNT, _AUTO)),
    "n_neighbors": Maybe(Either(_COUNT, _AUTO)),
    "n_clusters": Maybe(_COUNT),
    "min_cluster_size": Either(_COUNT, _AUTO),
    "max_iter": _COUNT,
    "tol": Number(low=0),
    "device": Word(),
    "verbose": Either(Number(low=0, whole=True), Flag()),
    "semi_supervised": Flag(),
    "summary_size": _COUNT,
}

#: Attributes of both estimators; the output configuration is scikit-learn's own.
COMMON: dict[str, Rule] = {
    "n_features_in_": Number(low=1, whole=True),
    "feature_names_in_": Maybe(Several(Word())),
    "encoder_": Maybe(Record(FrameEncoder)),
    "n_iter_": Number(low=0, whole=True),
    "_sklearn_output_config": Maybe(Rule()),
}

#: N rows, P features, K clusters.
CLUSTERING: dict[str, Rule] = COMMON | {
    "n_clusters_": Number(low=0, size="K"),
    "labels_": Maybe(Index("N", below="K", low=-1)),
    "cluster_centers_": Array("K", "P", kinds="fc"),
    "fused_": Maybe(Array("N", "P", kinds="fc")),
    "probabilities_": Maybe(Array("N", "K", low=0, high=1 + 1e-6)),
    "confidence_": Maybe(Array("N", low=0, high=1 + 1e-6)),
    "lam_": Number(low=0, finite=False),
    "penalty_": Record(Penalty),
    "fidelity_": Record(Fidelity),
    "limits_": Maybe(Several(Word())),
    "rank_": Maybe(Number(low=0, whole=True)),
    "noise_": Number(finite=False),
    "objective_": Number(finite=False),
    "converged_": Flag(),
    "observations_": Record(Entries, SparseEntries, StreamedEntries, DaskTable, N="N", P="P"),
    "path_": Maybe(Record(Choice, FusionPath, K="K", P="P")),
    "_order": Maybe(Index("K", below="K")),
    "_counts": Maybe(Array("N", kinds="iu", low=0)),
    "_hints": Maybe(Record(Hints)),
    "_tails": Maybe(Array("outliers", low=0, high=1)),
    "_tail_counts": Maybe(Array("outliers", kinds="iu", low=1)),
    "_n_fitted": Maybe(_COUNT),
    "_stream": Maybe(Record(StreamSummary, P="P")),
    "_others": Maybe(Several(Record(Alternative, N="N"))),
    "stability_": Maybe(Record(Stability, K="K", N="N")),
}
