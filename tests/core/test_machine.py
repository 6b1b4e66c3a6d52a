import platform

from normviz.core.machine import describe_machine, find_processor_name


def test_a_machine_has_a_processor_cores_and_a_version_of_torch():
    name, cores, torch = describe_machine().rsplit(", ", 2)
    assert name
    assert cores.endswith(" cores")
    assert torch.startswith("PyTorch ")


def test_a_processor_is_what_linux_says_or_what_python_knows(tmp_path):
    described = tmp_path / "cpuinfo"
    described.write_text("processor\t: 0\nmodel name\t: Fast One 3000\n")
    assert find_processor_name(described) == "Fast One 3000"
    described.write_text("model name\t:\n")
    assert find_processor_name(described) in (platform.processor(), platform.machine())
    assert find_processor_name(tmp_path / "none")
