"""What is in a table, column by column."""

from __future__ import annotations

from typing import Any

from trainyard.sdk.data.tabular_plan import wanted

_QUANTILES = (0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)
_SHOWN = ("type", "count", "missing_count", "unique_values", "min", "max", "mean", "std")


class ColumnProfile:
    def __init__(self, name: str, **found: Any) -> None:
        self.column_name = name
        self.__dict__.update(found)

    def __repr__(self) -> str:
        return f"ColumnProfile({', '.join(f'{key}={value!r}' for key, value in vars(self).items())})"


class DatasetProfile:
    """`columns` by name; `row_count` rows."""

    def __init__(self, columns: dict[str, ColumnProfile], row_count: int) -> None:
        self.columns = columns
        self.row_count = row_count

    def to_pandas(self) -> Any:
        rows = {name: vars(column) for name, column in self.columns.items()}
        return wanted("pandas").DataFrame.from_dict(rows, orient="index")

    def __repr__(self) -> str:
        return str(self.to_pandas().reindex(columns=list(_SHOWN)).to_string())

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html())


def profile_of(frame: Any) -> DatasetProfile:
    pandas = wanted("pandas")
    frame = frame.reset_index(drop=True)
    columns = {str(name): _column(pandas, str(name), frame[name]) for name in frame.columns}
    return DatasetProfile(columns, len(frame))


def _column(pandas: Any, name: str, column: Any) -> ColumnProfile:
    values = column.dropna()
    found: dict[str, Any] = {
        "type": str(column.dtype),
        "count": len(column),
        "missing_count": len(column) - len(values),
        "not_missing_count": len(values),
        "unique_values": int(values.astype(str).nunique()),
        "min": values.min() if len(values) else None,
        "max": values.max() if len(values) else None,
    }
    if pandas.api.types.is_numeric_dtype(column) and not pandas.api.types.is_bool_dtype(column) and len(values):
        found |= {
            "mean": float(values.mean()),
            "std": float(values.std()),
            "variance": float(values.var()),
            "skewness": float(values.skew()),
            "kurtosis": float(values.kurt()),
            "quantiles": {share: float(values.quantile(share)) for share in _QUANTILES},
        }
    return ColumnProfile(name, **found)
