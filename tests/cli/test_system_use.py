from trainyard.cli import system_use
from trainyard.contract.metrics import MetricSeries


def series(name, *values):
    return MetricSeries(name, values, (None,) * len(values), tuple(range(len(values))))


def test_a_line_for_each_node_rank_and_gpu():
    found = system_use.rows(
        [
            series("node-10/cpu_percent", 10.0, 30.0),
            series("node-2/cpu_percent", 50.0),
            series("node-2/disk_read_bytes_per_s", 0.0, 2048.0),
            series("node-2/disk_written_bytes_per_s", 1024.0, 0.0),
            series("node-2/gpu-0/utilization_percent", 90.0, 100.0),
            series("node-2/rank-1/memory_bytes", 2048.0, 1024.0),
        ]
    )
    assert found == [
        ["node-2", "50 %", "50 %", "", "2.0 kB/s, 1.0 kB/s", ""],
        ["node-2 gpu-0", "95 %", "100 %", "", "", ""],
        ["node-2 rank-1", "", "", "2.0 kB", "", ""],
        ["node-10", "20 %", "30 %", "", "", ""],
    ]
