import platform

from normviz.core.machine import machine, processor


def test_a_machine_has_a_processor_cores_and_a_version_of_torch():
    name, cores, torch = machine().rsplit(", ", 2)
    assert name
    assert cores.endswith(" cores")
    assert torch.startswith("PyTorch ")


def test_a_processor_is_what_linux_says_or_what_python_knows(tmp_path):
    described = tmp_path / "cpuinfo"
    described.write_text("processor\t: 0\nmodel name\t: Fast One 3000\n")
    assert processor(described) == "Fast One 3000"
    described.write_text("model name\t:\n")
    assert processor(described) in (platform.processor(), platform.machine())
    assert processor(tmp_path / "none")
