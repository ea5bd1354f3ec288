"""Delimited text: headers, separators, and what its columns are of."""

from __future__ import annotations

import gzip

import pandas as pd
import pytest

from azureml.core import Dataset
from azureml.data.dataset_factory import DataType
from azureml.data.dataset_type_definitions import PromoteHeadersBehavior
from azureml.exceptions import UserErrorException

pytestmark = pytest.mark.usefixtures("own_cache")

CSV = "x,name,when\n1,a,2020-01-01\n2,b,2020-01-02\n3,,2020-01-05\n"


@pytest.fixture
def read(tmp_path):
    """The frame of a file of this text; of several files, of all of them."""

    def read(*texts, **how):
        for number, text in enumerate(texts):
            (tmp_path / f"{number}.csv").write_text(text)
        made = Dataset.Tabular.from_delimited_files(str(tmp_path / "*.csv"), **how)
        return made.to_pandas_dataframe()

    return read


def test_types_are_not_found_where_they_are_not_wanted(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    plain = Dataset.Tabular.from_delimited_files(str(tmp_path / "t.csv"), infer_column_types=False)
    assert plain.take(1).to_pandas_dataframe().values.tolist() == [["1", "a", "2020-01-01"]]
    said = {"x": DataType.to_float(), "when": DataType.to_string(), "name": DataType.to_long()}
    typed = Dataset.Tabular.from_delimited_files(str(tmp_path / "t.csv"), set_column_types=said)
    frame = typed.to_pandas_dataframe()
    assert frame["x"].tolist() == [1.0, 2.0, 3.0]
    assert frame["x"].dtype == "float64"
    assert frame["when"].tolist()[0] == "2020-01-01"
    assert frame["name"].isna().all()
    with pytest.raises(UserErrorException, match="'name' has values that are no long"):
        typed.to_pandas_dataframe(on_error="fail")


def test_times_in_a_form_of_their_own(tmp_path):
    (tmp_path / "t.csv").write_text("t\n31.12.2020\n2021/01/02\n")
    said = {"t": DataType.to_datetime(["%d.%m.%Y", "%Y/%m/%d"])}
    frame = Dataset.Tabular.from_delimited_files(str(tmp_path / "t.csv"), set_column_types=said).to_pandas_dataframe()
    assert frame["t"].tolist() == [pd.Timestamp("2020-12-31"), pd.Timestamp("2021-01-02")]


def test_several_files_and_their_headers(tmp_path):
    for number in (1, 2):
        (tmp_path / f"{number}.csv").write_text(f"a,b\n{number},x\n")
    path = str(tmp_path / "*.csv")
    read = Dataset.Tabular.from_delimited_files
    assert read(path).to_pandas_dataframe().values.tolist() == [[1, "x"], [2, "x"]]
    plain = read(path, header=False).to_pandas_dataframe()
    assert (list(plain.columns), len(plain)) == (["Column1", "Column2"], 4)
    first = read(path, header=PromoteHeadersBehavior.ONLY_FIRST_FILE_HAS_HEADERS).to_pandas_dataframe()
    assert (list(first.columns), len(first)) == (["a", "b"], 3)
    with_path = read(path, include_path=True).to_pandas_dataframe()
    assert with_path["Path"].tolist() == ["/1.csv", "/2.csv"]


def test_separators_encodings_and_gzip(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress("ä;b\n1;ü\n".encode("latin1")))
    made = Dataset.Tabular.from_delimited_files(str(tmp_path / "t.csv.gz"), separator=";", encoding="latin1")
    assert made.to_pandas_dataframe().to_dict("list") == {"ä": [1], "b": ["ü"]}


def test_a_row_of_too_many_values_moves_none_of_them(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2,3\n")
    made = Dataset.Tabular.from_delimited_files(str(tmp_path / "t.csv"))
    with pytest.raises(UserErrorException, match=r"t\.csv has rows of more values than the 2 columns"):
        made.to_pandas_dataframe()
    (tmp_path / "t.csv").write_text("a,b\n1,2,\n3,4,\n")
    assert made.to_pandas_dataframe().to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_a_column_of_text_is_as_it_is_written(read):
    """Not read as numbers first: those have no zeros at their beginning."""
    frame = read(
        "zip,day\n00123,01022020\n02134,\n",
        set_column_types={"zip": DataType.to_string(), "day": DataType.to_datetime("%d%m%Y")},
    )
    assert frame["zip"].tolist() == ["00123", "02134"]
    assert frame["day"][0] == pd.Timestamp(2020, 2, 1)


def test_a_whole_number_keeps_its_digits_where_others_are_missing(read):
    frame = read("n,m\n9007199254740993,1.5\n,2\n", set_column_types={"n": DataType.to_long(), "m": DataType.to_long()})
    assert frame["n"][0] == 9007199254740993
    assert frame["n"].isna().tolist() == [False, True]
    assert frame["m"].isna().tolist() == [True, False]  # what has a fraction is no whole number, and so is null


@pytest.mark.parametrize("kind", ["long", "float", "bool", "datetime"])
def test_a_value_of_another_type_is_null_or_an_error(tmp_path, kind):
    (tmp_path / "t.csv").write_text("a\nodd one\n")
    said = {"a": getattr(DataType, f"to_{kind}")()}
    made = Dataset.Tabular.from_delimited_files(str(tmp_path / "t.csv"), set_column_types=said)
    assert made.to_pandas_dataframe()["a"].isna().all()
    with pytest.raises(UserErrorException, match=f"'a' has values that are no {kind}, such as 'odd one'"):
        made.to_pandas_dataframe(on_error="fail")


def test_words_for_nothing_are_text_among_text_and_null_elsewhere(read):
    frame = read("country,n,t,b\nNA,1,2020-01-02,true\nDE,NA,None,N/A\n,2,2020-01-03,False\n")
    assert frame["country"].tolist()[:2] == ["NA", "DE"]
    assert frame["country"].isna().tolist() == [False, False, True]
    assert frame["n"].dtype.kind == "f"
    assert frame["t"].dtype.kind == "M"
    assert frame["b"].tolist() == [True, None, False]
    assert frame[["n", "t"]].isna().values.tolist() == [[False, False], [True, True], [False, False]]


def test_without_types_nothing_but_the_empty_is_null(read):
    frame = read("a,b\nNA,\nnull,1\n", infer_column_types=False)
    assert frame["a"].tolist() == ["NA", "null"]
    assert frame["b"].isna().tolist() == [True, False]


def test_what_is_empty_is_text_among_text_alone(read):
    frame = read("n,s,e,k\n1,a,,\n,,,7\n", empty_as_string=True, set_column_types={"k": DataType.to_long()})
    assert frame["n"].dtype.kind == "f"
    assert frame["s"].tolist() == ["a", ""]
    assert frame["e"].tolist() == ["", ""]
    assert frame["k"].isna().tolist() == [True, False]


def test_numbers_in_one_file_and_text_in_another_are_text_in_both(read):
    frame = read("zip,t\n00123,2020-01-01\n", "zip,t\nA1,2020-01-02\n", "zip,t\n,2020-01-03\n")
    assert frame["zip"].tolist()[:2] == ["00123", "A1"]
    assert frame["zip"].isna().tolist() == [False, False, True]
    assert frame["t"].dtype.kind == "M"


def test_a_large_file_has_columns_of_one_type(read):
    """pandas may look at a file piece by piece, each for itself."""
    frame = read("a,b\n" + "1,2\n" * 400_000 + "x,3\n")
    assert {type(it) for it in (frame["a"].iloc[0], frame["a"].iloc[-1])} == {str}


@pytest.mark.parametrize("separator", ["||", ".", "+-+", "\t"])
def test_a_separator_is_no_pattern(read, separator):
    assert read(f"a{separator}b\n1{separator}x\n", separator=separator).to_dict("list") == {"a": [1], "b": ["x"]}
