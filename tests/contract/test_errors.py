"""The tree of errors, and that each of them survives the wire."""

from __future__ import annotations

from trainyard.contract import errors
from trainyard.contract.errors import TooManyNodes, TrainyardError, UnknownBlob


def test_every_error_has_its_own_code_and_stands_in_the_drawing() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TrainyardError)]
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes)
    drawing = errors.__doc__ or ""
    for kind in kinds:
        assert kind.__name__ in drawing
        assert kind is TrainyardError or kind.code in drawing


def test_the_wire() -> None:
    error = TrainyardError.from_json(TooManyNodes("cpu", 5, 4).to_json())
    assert type(error) is TooManyNodes
    assert error.details == {"target": "cpu", "asked": 5, "most": 4}
    assert str(error) == (
        "The run asks for 5 nodes and compute target 'cpu' has at most 4. Lower node_count, or raise the target's "
        "max_nodes with `AmlCompute.update(max_nodes=...)`."
    )
    assert type(TrainyardError.from_json(UnknownBlob("0" * 64).to_json())) is UnknownBlob


def test_a_newer_service_s_error_is_still_an_error() -> None:
    error = TrainyardError.from_json({"code": "new.trouble", "message": "Something new."})
    assert (type(error), str(error)) == (TrainyardError, "Something new.")
    assert str(TrainyardError.from_json({})) == "unknown error"
