"""Event files: written for the real TensorBoard, and read from what it writes."""

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from trainyard.sdk.runs.event_files import Scalar, decode, encode, header

# by hand: length 24, its checksum, wall_time 0.5, version, checksum
HEADER = bytes.fromhex("1800000000000000a37f4b2209000000000000e03f1a0d") + b"brain.Event:2"


def test_the_header_is_what_tensorflow_writes():
    assert header(0.5)[:-4] == HEADER


def test_tensorboard_reads_what_we_write(tmp_path):
    scalars = [Scalar("loss/train", step, 100.0 + step, 1.0 / (step + 1)) for step in range(5)]
    data = header(99.0) + b"".join(map(encode, [*scalars, Scalar("late", -1, 200.5, 1e300)]))
    (tmp_path / "events.out.tfevents.1").write_bytes(data)
    read = EventAccumulator(str(tmp_path), purge_orphaned_data=False).Reload()
    assert sorted(read.Tags()["scalars"]) == ["late", "loss/train"]
    found = [(event.step, event.wall_time, event.value) for event in read.Scalars("loss/train")]
    assert found == [(step, 100.0 + step, pytest.approx(1.0 / (step + 1))) for step in range(5)]
    assert [(event.step, event.value) for event in read.Scalars("late")] == [(-1, float("inf"))]


def written(tmp_path, *values):
    writer = EventFileWriter(str(tmp_path))
    for step, value in enumerate(values):
        writer.add_event(Event(wall_time=50.0 + step, step=step, summary=Summary(value=[value])))
    writer.close()
    (path,) = tmp_path.iterdir()
    return path.read_bytes()


@pytest.mark.parametrize(
    ("tensor", "value"),
    [
        (TensorProto(dtype=1, float_val=[0.25]), 0.25),
        (TensorProto(dtype=1, tensor_content=b"\x00\x00\x80\x3e"), 0.25),
        (TensorProto(dtype=2, double_val=[0.1]), 0.1),
        (TensorProto(dtype=3, int_val=[-3]), -3.0),
        (TensorProto(dtype=9, int64_val=[1 << 40]), float(1 << 40)),
    ],
)
def test_scalars_are_read_however_they_were_written(tmp_path, tensor, value):
    data = written(tmp_path, Summary.Value(tag="a", tensor=tensor), Summary.Value(tag="b", simple_value=0.5))
    scalars, used = decode(data)
    assert scalars == [Scalar("a", 0, 50.0, value), Scalar("b", 1, 51.0, 0.5)]
    assert used == len(data)


def test_what_is_no_scalar_is_passed_over(tmp_path):
    several = TensorShapeProto(dim=[TensorShapeProto.Dim(size=2)])
    data = written(
        tmp_path,
        Summary.Value(tag="many", tensor=TensorProto(dtype=1, tensor_shape=several, float_val=[1, 2])),
        Summary.Value(tag="text", tensor=TensorProto(dtype=7, string_val=[b"words"])),
        Summary.Value(tag="image", image=Summary.Image(encoded_image_string=b"x" * 100_000)),
        Summary.Value(tag="loss", simple_value=2.0),
    )
    assert decode(data)[0] == [Scalar("loss", 3, 53.0, 2.0)]


def test_a_file_that_is_still_written_is_read_in_parts():
    data = header(1.0) + encode(Scalar("a", 1, 2.0, 3.0)) + encode(Scalar("a", 2, 3.0, 4.0))
    found, at = [], 0
    for end in range(0, len(data) + 1, 7):
        scalars, used = decode(data[at:end])
        found, at = found + scalars, at + used
    scalars, used = decode(data[at:])
    assert found + scalars == [Scalar("a", 1, 2.0, 3.0), Scalar("a", 2, 3.0, 4.0)]


@pytest.mark.parametrize("at", range(0, 60, 3))
def test_damage_ends_a_file_and_nothing_else(at):
    data = bytearray(header(1.0) + encode(Scalar("a", 1, 2.0, 3.0)))
    data[at] ^= 0xFF
    scalars, used = decode(bytes(data))
    assert scalars in ([], [Scalar("a", 1, 2.0, 3.0)])
    assert used <= len(data)
