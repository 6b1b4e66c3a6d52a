"""Which normalizations do `normviz.inspect` and TorchLens find? `python benchmarks/inspectors.py [--smallest]`.

The models are those of the tests, with layers that no class name reveals. TorchLens records operations by their names;
it is compared if it is installed. A normalization counts as named if its name fits the scheme, whatever its axes.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from time import process_time
from typing import Any

import paths
import torch

import normviz

sys.path.insert(0, str(paths.ROOT / "tests" / "inspection"))
from inspected_models import MODELS

OPERATIONS = {
    "batch_norm": {"batch"},
    "layer_norm": {"layer", "layer-channels"},
    "group_norm": {"group"},
    "instance_norm": {"instance"},
    "rms_norm": {"rms"},
    "local_response_norm": {None},
    "_weight_norm": {"weight"},
}
"""Operations of PyTorch by their names, with the keys of the schemes that they compute."""


def find_by_probing(model: torch.nn.Module, batch: Any) -> dict[str, str | None]:
    """Return the key of each normalization that `normviz.inspect` finds, by the names of their layers."""
    return {layer.name: layer.scheme for layer in normviz.inspect(model, batch).layers}


def find_by_name(model: torch.nn.Module, batch: Any) -> dict[str, set[str | None]]:
    """Return the keys that the name of each operation stands for which TorchLens records, by the names of layers."""
    torchlens = import_module("torchlens")  # not declared: a peer that is compared where it is installed

    operations = [each for each in torchlens.trace(model, batch).layers if each.func_name in OPERATIONS]
    names = [str(each.module or f"F.{each.func_name}").partition(":")[0] for each in operations]
    names = [name.removesuffix(".parametrizations.weight.0") for name in names]
    return {name: OPERATIONS[each.func_name] for name, each in zip(names, operations, strict=True)}


def count_found(find: Callable[[torch.nn.Module, Any], dict[str, Any]], models: list[str]) -> list[tuple[int, int]]:
    """Count for each model the normalizations that are found, and those whose names are right."""
    counts = []
    for name in models:
        make, make_batch, expected = MODELS[name]
        torch.manual_seed(0)
        found = find(make(), make_batch())
        right = [key in found[each] if isinstance(found[each], set) else key == found[each]
                 for each, key in expected.items() if each in found]  # fmt: skip
        counts.append((len(right), sum(right)))
    return counts


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smallest", action="store_true", help="two models")
    models = list(MODELS)[: 2 if parser.parse_args().smallest else None]
    tools: dict[str, Callable[[torch.nn.Module, Any], dict[str, Any]]] = {"normviz": find_by_probing}
    if find_spec("torchlens"):
        tools["TorchLens"] = find_by_name
    else:
        print("TorchLens is not installed: pip install torchlens")
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    counts, seconds = {}, {}
    for tool, find in tools.items():
        count_found(find, models[:1])  # imports
        start = process_time()
        counts[tool], seconds[tool] = count_found(find, models), process_time() - start
    heads = [head for tool in tools for head in (f"{tool}: found", "named right")]
    print(f"| what | normalizations | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 2)}")
    for k, name in enumerate(models):
        numbers = [len(MODELS[name][2]), *(count for tool in tools for count in counts[tool][k])]
        print(f"| {name} | {' | '.join(map(str, numbers))} |")
    total = sum(len(MODELS[name][2]) for name in models)
    for tool in tools:
        found, named = (sum(each) for each in zip(*counts[tool], strict=True))
        print(f"\n{tool}: {found} of {total} found, {named} named right, {seconds[tool]:.1f} s of processor time")


if __name__ == "__main__":
    main()
