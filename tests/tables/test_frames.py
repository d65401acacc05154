"""Frames as numbers and back: every kind of column, in pandas, polars and arrays."""

import numpy as np
import pytest

from fusewise import DataWarning, FusionClustering, FusionImputer, PenalizedFusion, load
from fusewise.penalties import H1
from fusewise.tables import OTHER, FrameEncoder, read_table
from fusewise.tables._encoder import MOST_LEVELS

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    classes = rng.integers(3, size=240)
    made = pd.DataFrame(
        {
            "age": classes * 8 + rng.normal(size=240),
            "visits": pd.array(classes * 5, dtype="Int64"),
            "colour": pd.Categorical(np.array(["red", "blue", "green"])[(classes + (rng.random(240) < 0.1)) % 3]),
            "town": np.array(["Ulm", "Bern", "Graz", "Wien"])[rng.integers(4, size=240)],
            "smoker": pd.array(classes == 1, dtype="boolean"),
            "size": pd.Categorical(np.array(["S", "M", "L"])[classes], ["S", "M", "L"], ordered=True),
        }
    )
    for name in made:
        made.loc[rng.random(240) < 0.15, name] = None
    made.attrs["classes"] = classes.tolist()
    return made


def test_kinds_levels_and_features(frame):
    encoder = FrameEncoder.of(frame)
    assert [column.kind for column in encoder.columns] == [
        "number",
        "number",
        "category",
        "category",
        "flag",
        "ordered",
    ]
    assert encoder.columns[5].levels == ("S", "M", "L")
    assert encoder.features[:5] == ("age", "visits", "colour=blue", "colour=green", "colour=red")
    assert encoder.levels == ((2, 5), (5, 9), (9, 11), (11, 14))


def test_a_level_is_one_and_the_others_zero(frame):
    encoder = FrameEncoder.of(frame)
    matrix = encoder.encode(frame)
    for j, (start, stop) in zip((2, 3, 4, 5), encoder.levels, strict=True):
        for row in range(50):
            cell = frame.iloc[row, j]
            block = matrix[row, start:stop]
            if pd.isna(cell):
                assert np.isnan(block).all()
            else:
                assert block.tolist() == [float(level == cell) for level in encoder.columns[j].levels]
    np.testing.assert_array_equal(matrix[:, 0], frame["age"].to_numpy())


def test_polars_as_pandas(frame):
    other = pl.DataFrame(
        {
            "age": frame["age"].to_list(),
            "visits": [None if pd.isna(v) else int(v) for v in frame["visits"]],
            "colour": pl.Series([None if pd.isna(v) else v for v in frame["colour"]], dtype=pl.Categorical),
            "town": [None if pd.isna(v) else v for v in frame["town"]],
            "smoker": [None if pd.isna(v) else bool(v) for v in frame["smoker"]],
            "size": pl.Series([None if pd.isna(v) else v for v in frame["size"]], dtype=pl.Enum(["S", "M", "L"])),
        }
    )
    one, two = FrameEncoder.of(frame), FrameEncoder.of(other)
    assert two.levels == one.levels
    assert sorted(two.features) == sorted(one.features)
    labels = [FusionClustering(random_state=0).fit(table).labels_ for table in (frame, other)]
    np.testing.assert_array_equal(*labels)
    filled = FusionImputer(random_state=0).fit_transform(other)
    assert filled.schema == other.schema
    assert filled.null_count().sum_horizontal().item() == 0


def test_clusters_of_a_typed_frame(frame, tmp_path):
    from sklearn.metrics import adjusted_rand_score

    model = FusionClustering(random_state=0).fit(frame)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(frame.attrs["classes"], model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1)
    shares = model.cluster_centers_[:, 2:5].sum(axis=1)
    np.testing.assert_allclose(shares, 1)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(frame), model.labels_)


def test_names_of_levels_and_the_order_of_rows_do_not_matter(frame):
    labels = FusionClustering(random_state=0).fit(frame).labels_
    renamed = frame.assign(town=frame["town"].map({"Ulm": "z", "Bern": "y", "Graz": "x", "Wien": "w"}))
    np.testing.assert_array_equal(FusionClustering(random_state=0).fit(renamed).labels_, labels)
    order = np.random.default_rng(1).permutation(len(frame))
    turned = FusionClustering(random_state=0).fit(frame.iloc[order]).labels_
    assert len(set(zip(labels[order].tolist(), turned.tolist(), strict=True))) == len(set(labels.tolist()))


def test_codes_named_as_categories_are_categories(frame):
    codes = np.column_stack([frame["age"], pd.Categorical(frame["colour"]).codes, pd.Categorical(frame["size"]).codes])
    codes[codes < -0.5] = np.nan
    fits = [FusionClustering(categorical_features=how).fit(codes) for how in ([1, 2], [False, True, True], [-2, -1])]
    for fit in fits:
        assert fit.encoder_.levels == ((1, 4), (4, 7))
        np.testing.assert_array_equal(fit.labels_, fits[0].labels_)
    named = pd.DataFrame(codes, columns=["age", "colour", "size"])
    by_name = FusionClustering(categorical_features=["colour", "size"]).fit(named)
    np.testing.assert_array_equal(by_name.labels_, fits[0].labels_)


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ("all", "use 'from_dtype', a mask, indices or names"),
        ([True, False], "a mask of 2 for 3 columns"),
        ([7], "index 7, and there are 3 columns"),
        (["colour"], "'colour', which is not a column: x0, x1, x2"),
    ],
)
def test_categorical_features_that_make_no_sense(features, said):
    with pytest.raises(ValueError, match=said):
        FusionClustering(categorical_features=features).fit(np.zeros((5, 3)))


def test_dates_are_refused_by_name(frame):
    with pytest.raises(ValueError, match=r"column 'since' holds dates .*: pass fusewise.tables.read_table"):
        FusionClustering().fit(frame.assign(since=pd.Timestamp("2024-01-31")))


def test_levels_not_seen_before_count_as_missing(frame):
    model = FusionClustering(random_state=0).fit(frame)
    new = frame.astype({"colour": object}).head(4)
    blank = new.assign(colour=None)
    new["colour"] = "violet"
    with pytest.warns(DataWarning, match=r"treated as missing: column 'colour' \(violet\)"):
        probabilities = model.predict_proba(new)
    np.testing.assert_allclose(probabilities, model.predict_proba(blank))


def test_rare_levels_are_pooled():
    names = [f"level {k:03}" for k in range(130) for _ in range(130 - k)]
    encoder = FrameEncoder.of(pd.DataFrame({"name": names}))
    levels = encoder.columns[0].levels
    assert len(levels) == MOST_LEVELS + 1
    assert levels[-1] == OTHER
    assert levels[:-1] == tuple(f"level {k:03}" for k in range(MOST_LEVELS))
    assert encoder.encode(pd.DataFrame({"name": ["level 129"]}))[0, -1] == 1


def test_filled_frames_keep_their_types_and_what_was_observed(frame):
    filled = FusionImputer(random_state=0).fit_transform(frame)
    assert filled.dtypes.to_dict() == frame.dtypes.to_dict()
    assert not filled.isna().any().any()
    seen = frame.notna()
    assert (filled.where(seen) == frame.where(seen)).where(seen, True).all().all()
    guessed = filled["size"][frame["size"].isna()]
    truth = np.array(["S", "M", "L"])[frame.attrs["classes"]][frame["size"].isna()]
    assert (guessed.to_numpy() == truth).mean() > 0.9


@pytest.mark.filterwarnings("ignore")
def test_the_papers_algorithm_keeps_the_order_of_levels(frame):
    """An ordered column is one feature, at the levels if they are numbers."""
    frame = frame[["age", "colour", "size"]].assign(stars=pd.Categorical([1, 2, 5] * 80, ordered=True))
    model = PenalizedFusion(penalty=H1(3.0), n_clusters=3).fit(frame)
    assert model.encoder_.features == ("age", "colour=blue", "colour=green", "colour=red", "size", "stars")
    matrix = model.encoder_.encode(frame)
    np.testing.assert_array_equal(matrix[:, 5], [1, 2, 5] * 80)
    np.testing.assert_array_equal(matrix[:, 4], [{"S": 0, "M": 1, "L": 2}.get(size, np.nan) for size in frame["size"]])


def test_y_of_any_type_is_ignored(frame):
    labels = FusionClustering(random_state=0).fit(frame).labels_
    for y in (
        frame["town"],
        frame["colour"],
        pl.Series(["a"] * 240),
        pd.array([None] * 240, dtype="Int64"),
        ["x"] * 240,
    ):
        np.testing.assert_array_equal(FusionClustering(random_state=0).fit(frame, y).labels_, labels)


def patients(n=90):
    """Three clusters of patients, with a number, a visit, a scale, a ward in words, and a code as a category."""
    random, k = np.random.default_rng(0), np.arange(n) % 3
    return pd.DataFrame(
        {
            "PatientNo": random.permutation(n) + 1,
            "visit": pd.Timestamp("2019-02-01") + pd.to_timedelta(np.r_[0, random.integers(1, 1500, n - 1)], "D"),
            "height": random.normal(150 + 15 * k, 2).round(1),
            "pain": 1 + 2 * k + random.integers(0, 2, n),
            "ward": np.array(["north", "south", "west"])[random.integers(0, 3, n)],
            "code": pd.Categorical(random.choice([101, 205, 307], n)),
        }
    )


def test_a_frame_is_read_like_the_file_it_came_from(tmp_path):
    frame = patients()
    frame.to_csv(tmp_path / "t.csv", index=False)
    file, here = read_table(tmp_path / "t.csv", kinds={"code": "category"}), read_table(frame)
    assert [(c.name, c.kind, c.used, c.why) for c in here.columns] == [
        (c.name, c.kind, c.used, c.why) for c in file.columns
    ]
    assert {c.name for c in here.columns if not c.used} == {"PatientNo"}
    model = FusionClustering().fit(here)
    assert np.array_equal(model.labels_, FusionClustering().fit(file).labels_)


def test_a_polars_frame_is_read_alike():
    polars = pytest.importorskip("polars")
    frame = patients()
    here = read_table(polars.DataFrame({name: frame[name].astype(object).tolist() for name in frame if name != "code"}))
    there = read_table(frame.drop(columns="code"))
    assert [(c.name, c.kind, c.used) for c in here.columns] == [(c.name, c.kind, c.used) for c in there.columns]
    assert np.array_equal(here.numbers, there.numbers)


def test_further_rows_are_read_as_in_the_fit():
    frame = patients()
    reading = read_table(frame)
    model = FusionClustering().fit(reading)
    few = read_table(frame.iloc[5:11])  # another first day, two wards, and a scale with too few rows for one
    assert [c.name for c in few.used] != [c.name for c in reading.used]
    assert model.predict(few).tolist() == model.labels_[5:11].tolist()
    assert model.predict(read_table(frame.iloc[[5]])).tolist() == [model.labels_[5]]


def test_numbers_of_a_model_stay_numbers_where_few_rows_look_like_levels(tmp_path):
    rows = np.random.default_rng(0).integers(0, 900, (60, 2)) + np.repeat([[0], [5000]], 30, axis=0)
    model = FusionClustering(2).fit(read_table(pd.DataFrame(rows, columns=["a", "b"])))
    few = read_table(pd.DataFrame(np.repeat(rows[[0, -1]], 3, axis=0), columns=["a", "b"]))
    assert [c.kind for c in few.used] == ["flag", "flag"]
    assert model.predict(few).tolist() == model.labels_[[0, 0, 0, -1, -1, -1]].tolist()
