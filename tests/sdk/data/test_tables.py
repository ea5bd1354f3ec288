"""Tabular datasets from files of this machine: no service is needed."""

from __future__ import annotations

import datetime
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from files_server import serving

from azureml.core import Dataset
from azureml.data.dataset_error_handling import DatasetValidationError
from azureml.data.dataset_factory import DataType
from azureml.exceptions import DatasetTimestampMissingError, UserErrorException
from trainyard.sdk.data.tabular_plan import plan_of

pytestmark = pytest.mark.usefixtures("own_cache")

CSV = "x,name,when\n1,a,2020-01-01\n2,b,2020-01-02\n3,,2020-01-05\n"


@pytest.fixture
def csv(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    return Dataset.Tabular.from_delimited_files(str(tmp_path / "t.csv"))


@pytest.fixture
def parquet(tmp_path):
    table = pa.table({"n": list(range(100)), "s": [f"v{it % 3}" for it in range(100)], "unread": [0.5] * 100})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=10)
    return Dataset.Tabular.from_parquet_files(str(tmp_path / "t.parquet"))


def day(number):
    return pd.Timestamp(2020, 1, number).to_pydatetime()


def rows(dataset):
    return json.loads(dataset.to_pandas_dataframe().to_json(orient="values", date_format="iso", date_unit="s"))


def test_types_are_found(csv):
    frame = csv.to_pandas_dataframe()
    assert [kind.kind for kind in frame.dtypes] == ["i", "O", "M"] or frame["when"].dtype.kind == "M"
    assert frame["x"].tolist() == [1, 2, 3]
    assert frame["name"].isna().tolist() == [False, False, True]
    assert frame["when"].iloc[2] == pd.Timestamp("2020-01-05")


def test_json_lines(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1, "b": "x"}\n\n{"a": 2}\nnonsense\n')
    path = str(tmp_path / "t.jsonl")
    dropped = Dataset.Tabular.from_json_lines_files(path, invalid_lines="drop").to_pandas_dataframe()
    assert dropped["a"].tolist() == [1, 2]
    with pytest.raises(UserErrorException, match=r"Line 4 of t\.jsonl is not a JSON object"):
        Dataset.Tabular.from_json_lines_files(path).to_pandas_dataframe()
    assert len(Dataset.Tabular.from_json_lines_files(path).take(2).to_pandas_dataframe()) == 2


def test_json_lines_of_a_type_keep_what_is_written(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 9007199254740993, "b": 123}\n{"a": null, "b": null}\n{}\n')
    said = {"a": DataType.to_long(), "b": DataType.to_string()}
    made = Dataset.Tabular.from_json_lines_files(str(tmp_path / "t.jsonl"), set_column_types=said)
    frame = made.to_pandas_dataframe()
    assert (frame["a"][0], frame["b"][0]) == (9007199254740993, "123")
    assert frame[["a", "b"]].isna().values.tolist() == [[False, False], [True, True], [True, True]]


def test_partitions_become_columns(tmp_path):
    for day in ("2020/01/02", "2020/02/03"):
        (tmp_path / "east" / day).mkdir(parents=True)
        (tmp_path / "east" / day / "data.csv").write_text("n\n1\n")
    form = "{area}/{day:yyyy/MM/dd}/data.csv"
    made = Dataset.Tabular.from_delimited_files(str(tmp_path / "**/*.csv"), partition_format=form)
    frame = made.to_pandas_dataframe()
    assert frame["area"].tolist() == ["east", "east"]
    assert frame["day"].tolist() == [pd.Timestamp("2020-01-02"), pd.Timestamp("2020-02-03")]
    assert made.partition_keys == ["area", "day"]
    with pytest.raises(UserErrorException, match="has no key"):
        Dataset.Tabular.from_delimited_files(str(tmp_path / "**/*.csv"), partition_format="data.csv")
    wrong = Dataset.Tabular.from_delimited_files(str(tmp_path / "**/*.csv"), partition_format="{a}/other.csv")
    with pytest.raises(UserErrorException, match="does not fit the partition_format"):
        wrong.to_pandas_dataframe()


# Steps


def test_columns_and_rows_are_chosen(csv):
    assert rows(csv.keep_columns(["name", "x"]).skip(1).take(1)) == [["b", 2]]
    assert list(csv.drop_columns("when").to_pandas_dataframe().columns) == ["x", "name"]
    assert rows(csv.filter(csv["x"] >= 2).keep_columns("x")) == [[2], [3]]
    assert rows(csv.filter((csv["x"] > 1) & ~(csv["name"] == "b")).keep_columns("x")) == [[3]]
    assert rows(csv.filter(csv["name"].is_null() | csv["name"].contains("a")).keep_columns("x")) == [[1], [3]]
    assert rows(csv.filter(csv["when"] < day(2)).keep_columns("x")) == [[1]]
    assert rows(csv.take(2).filter(csv["x"] > 1).keep_columns("x")) == [[2]]


def test_a_split_has_every_row_once_and_stays_the_same(parquet):
    one, two = parquet.random_split(0.3, seed=5)
    numbers = [dataset.to_pandas_dataframe()["n"].tolist() for dataset in (one, two)]
    assert sorted(numbers[0] + numbers[1]) == list(range(100))
    assert numbers[0] == one.to_pandas_dataframe()["n"].tolist()
    assert 15 < len(numbers[0]) < 45
    sample = parquet.take_sample(0.5)
    assert rows(sample) == rows(sample)


def test_what_is_done_while_reading(parquet):
    made = parquet.filter(parquet["n"] > 5).keep_columns(["s"]).take(3)
    plan = plan_of(made._definition)
    assert (plan.columns, plan.rows, len(plan.conditions)) == (("s", "n"), None, 1)
    assert rows(made) == [["v0"], ["v1"], ["v2"]]
    assert plan_of(parquet.skip(2).take(3).take(9)._definition).rows == 5
    assert plan_of(parquet.take(3).filter(parquet["n"] > 1)._definition).conditions == ()
    assert rows(parquet.skip(98).keep_columns("n")) == [[98], [99]]
    assert rows(parquet.filter(parquet["s"] == "v1").filter(parquet["n"] > 95).keep_columns("n")) == [[97]]


def test_only_the_columns_that_are_asked_for_are_read(tmp_path, parquet, monkeypatch):
    import pyarrow.dataset

    asked = []
    real = pyarrow.dataset.FileSystemDataset.to_table

    class Spy:
        def __init__(self, dataset):
            self.dataset = dataset

        def __getattr__(self, name):
            return getattr(self.dataset, name)

        def replace_schema(self, schema):
            return Spy(self.dataset.replace_schema(schema))

        def to_table(self, **how):
            asked.append(how["columns"])
            return real(self.dataset, **how)

    made = pyarrow.dataset.dataset
    monkeypatch.setattr(pyarrow.dataset, "dataset", lambda *given, **how: Spy(made(*given, **how)))
    parquet.keep_columns(["n"]).to_pandas_dataframe()
    assert asked == [["n"]]


# Time


@pytest.fixture
def monthly():
    """Three months of a table on a web server, and what was asked of it."""
    with serving() as files:
        for month in (1, 2, 3):
            rows = "".join(f"{day},2020-{month:02}-{day:02}\n" for day in (1, 28))
            files.content[f"/sales/east{month}/2020/{month:02}/t.csv"] = f"n,when\n{rows}".encode()
        addresses = [files.url + path for path in files.content]
        form = "{area}/{month:yyyy/MM}/t.csv"
        made = Dataset.Tabular.from_delimited_files(addresses, validate=False, partition_format=form)
        fetched = lambda: sorted({path for method, path, _ in files.asked if method == "GET"})  # noqa: E731
        yield made.with_timestamp_columns("when", "month"), fetched


def test_of_a_table_from_afar_only_the_files_of_the_wanted_rows_come(monthly):
    table, fetched = monthly
    assert table.take(2).to_pandas_dataframe()["n"].tolist() == [1, 28]
    assert fetched() == ["/sales/east1/2020/01/t.csv"]
    assert table.take(3).to_pandas_dataframe()["n"].tolist() == [1, 28, 1]
    assert len(fetched()) == 3


@pytest.mark.parametrize(
    ("cut", "numbers", "months"),
    [
        (lambda it: it.time_after(pd.Timestamp(2020, 3, 4).to_pydatetime()), [28], ["03"]),
        (lambda it: it.time_before(pd.Timestamp(2020, 1, 31).to_pydatetime()), [1, 28], ["01"]),
        (lambda it: it.time_between(day(28), pd.Timestamp(2020, 2, 1).to_pydatetime()), [28, 1], ["01", "02"]),
        (lambda it: it.filter(it["area"] == "east2"), [1, 28], ["02"]),
        (lambda it: it.filter(it["area"].is_null() | (it["n"] == 1)), [1, 1, 1], ["01", "02", "03"]),
        (lambda it: it.filter(it["area"] == "west"), [], ["01"]),  # the columns are known all the same
        (lambda it: it.take(6).filter(it["area"] == "east3"), [1, 28], ["01", "02", "03"]),
    ],
)
def test_of_a_table_in_partitions_only_those_come_that_can_have_rows(monthly, cut, numbers, months):
    table, fetched = monthly
    frame = cut(table).to_pandas_dataframe()
    assert frame["n"].tolist() == numbers
    assert list(frame) == ["n", "when", "area", "month"]
    assert [path.split("/")[4] for path in fetched()] == months


def test_a_partition_that_is_read_as_a_number_is_compared_as_one(tmp_path):
    (tmp_path / "2020").mkdir()
    (tmp_path / "2020/t.csv").write_text("n\n1\n")
    types = {"year": DataType.to_long()}
    source, form = str(tmp_path / "*/t.csv"), "{year}/t.csv"
    made = Dataset.Tabular.from_delimited_files(source, set_column_types=types, partition_format=form)
    assert rows(made.filter(made["year"] == 2020)) == [[1, 2020]]


def test_time_cuts(csv):
    timed = csv.with_timestamp_columns("when")
    first, last = day(1), day(5)
    numbers = lambda dataset: dataset.to_pandas_dataframe()["x"].tolist()  # noqa: E731
    assert numbers(timed.time_after(first)) == [1, 2, 3]
    assert numbers(timed.time_after(first, include_boundary=False)) == [2, 3]
    assert numbers(timed.time_before(last, include_boundary=False)) == [1, 2]
    assert numbers(timed.time_between(day(2), last)) == [2, 3]
    assert numbers(timed.time_recent(datetime.timedelta(days=1))) == []
    frame = timed.to_pandas_dataframe()
    assert frame.index.tolist() == frame["when"].tolist()
    with pytest.raises(UserErrorException, match="later than end_time"):
        timed.time_between(last, first)


def test_time_traits(csv):
    timed = csv.with_timestamp_columns(timestamp="when", partition_timestamp="x")
    assert timed.timestamp_columns == ("when", "x")
    assert timed.drop_columns("when").timestamp_columns == (None, None)
    assert timed.keep_columns(["when"]).timestamp_columns == ("when", None)
    assert timed.with_timestamp_columns(None).timestamp_columns == (None, None)
    with pytest.raises(DatasetTimestampMissingError, match="no timestamp column"):
        timed.drop_columns("when").time_before(day(1))
    with pytest.raises(UserErrorException, match="needs a timestamp"):
        csv.with_timestamp_columns(None, "when")
    with pytest.raises(UserErrorException, match="'x' is not of times"):
        csv.with_timestamp_columns("x", validate=True)


def test_a_profile(csv):
    profile = csv.get_profile()
    assert profile.row_count == 3
    x, name = profile.columns["x"], profile.columns["name"]
    assert (x.min, x.max, x.mean, x.missing_count) == (1, 3, 2.0, 0)
    assert (name.missing_count, name.unique_values) == (1, 2)
    assert "missing_count" in repr(profile)


# Bad input


def test_what_is_not_there_is_told_when_the_dataset_is_made(tmp_path):
    with pytest.raises(DatasetValidationError, match=r"matches no file.*validate=False"):
        Dataset.Tabular.from_delimited_files(str(tmp_path / "*.csv"))
    assert Dataset.Tabular.from_delimited_files(str(tmp_path / "*.csv"), validate=False).id is None


def test_a_missing_column_says_which_there_are(csv, parquet):
    with pytest.raises(UserErrorException, match=r"no column 'y'. The columns are 'n', 's', 'unread'"):
        parquet.keep_columns("y").to_pandas_dataframe()
    with pytest.raises(UserErrorException, match="no column 'y'"):
        parquet.filter(parquet["y"] > 1).to_pandas_dataframe()
    with pytest.raises(UserErrorException, match=r"no column 'y'. The columns are 'x', 'name', 'when'"):
        csv.keep_columns(["x", "y"]).to_pandas_dataframe()


def test_dropping_what_is_not_there_is_said_and_does_no_harm(csv):
    with pytest.warns(UserWarning, match="no column 'absent' to drop. The columns are 'x', 'name', 'when'"):
        frame = csv.drop_columns(["absent", "name"]).to_pandas_dataframe()
    assert list(frame) == ["x", "when"]


@pytest.mark.parametrize("column", ["x", "name"])
def test_cuts_by_what_is_no_time_are_told(csv, column):
    with pytest.raises(UserErrorException, match=f"'{column}' is not of times"):
        csv.with_timestamp_columns(column).time_after(day(1)).to_pandas_dataframe()


def test_values_that_parquet_cannot_hold_are_told(tmp_path):
    from trainyard.sdk.data.tabular_files import write_parquet

    frame = pd.DataFrame({"good": [1, 2], "mixed": [1, "x"]})
    with pytest.raises(UserErrorException, match=r"cannot be written as Parquet: .*mixed.*astype"):
        write_parquet(frame, None, "", show=False)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_type_of_a_column_that_is_not_there_is_told(tmp_path, form):
    frame = pd.DataFrame({"x": [1]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    make = {"csv": Dataset.Tabular.from_delimited_files, "parquet": Dataset.Tabular.from_parquet_files}[form]
    made = make(str(tmp_path / f"t.{form}"), include_path=True, set_column_types={"Path": DataType.to_string()})
    assert list(made.to_pandas_dataframe()) == ["Path", "x"]
    made = make(str(tmp_path / f"t.{form}"), set_column_types={"y": DataType.to_long()})
    with pytest.raises(UserErrorException, match=r"no column 'y'\. The columns are 'x'"):
        made.to_pandas_dataframe()


def test_a_parquet_file_that_is_text(tmp_path):
    (tmp_path / "t.parquet").write_text(CSV)
    with pytest.raises(DatasetValidationError, match=r"t\.parquet is not a Parquet file.*validate=False"):
        Dataset.Tabular.from_parquet_files(str(tmp_path / "t.parquet"))
    made = Dataset.Tabular.from_parquet_files(str(tmp_path / "t.parquet"), validate=False)
    with pytest.raises(UserErrorException, match=r"t\.parquet is not a Parquet file"):
        made.to_pandas_dataframe()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (3, "path has a int"),
        ([], "path is empty"),
        ("wasbs://container@account/x", "store that is not registered"),
        ("ftp://data.example/x.csv", "only http and https are"),
    ],
)
def test_paths_that_are_none(path, says):
    with pytest.raises(UserErrorException, match=says):
        Dataset.File.from_files(path)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda it: it.take(-1),
        lambda it: it.skip("2"),
        lambda it: it.random_split(2),
        lambda it: it.filter(True),
        lambda it: it.keep_columns([]),
        lambda it: it.mount(),
        lambda it: it.as_named_input("a").as_mount(),
        lambda it: it.as_named_input("1a"),
        lambda it: it.time_recent(3),
        lambda it: it.with_timestamp_columns("when").time_recent(datetime.timedelta(days=-1)),
        lambda it: it[["x"]],
        lambda it: it.get_partition_key_values(),
        lambda it: it.register(None, "name"),
        lambda it: Dataset.Tabular.register_pandas_dataframe([1], None, "name"),
        lambda it: Dataset.Tabular.register_dask_dataframe(None, None, "name"),
        lambda it: it.to_spark_dataframe(),
        lambda it: it.to_pandas_dataframe(on_error="ignore"),
        lambda it: it.to_csv_files(),
    ],
)
def test_what_makes_no_sense_is_told(csv, wrong):
    with pytest.raises(UserErrorException, match=r"\."):
        wrong(csv)


def test_a_loop_over_a_table_ends(csv):
    with pytest.raises(TypeError, match="not iterable"):
        list(csv)


def test_conditions_are_not_combined_with_words(csv):
    with pytest.raises(UserErrorException, match=r"with & \| ~"):
        csv.filter(csv["x"] > 1 and csv["x"] < 3)


def test_conditions_on_what_has_no_value(csv):
    assert rows(csv.filter(csv["name"] == None).keep_columns("x")) == [[3]]  # noqa: E711 - as scripts write it
    assert rows(csv.filter(csv["name"] != None).keep_columns("x")) == [[1], [2]]  # noqa: E711
    with pytest.raises(UserErrorException, match="looked for in a column is text, not 5"):
        csv["name"].contains(5)
