"""Every finding: a model that has the mistake, and one like it that does not."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from inspected_models import ChannelsFirst, LastAxisMeanSquare, MeanSquares, make_images, make_tokens
from torch import nn

import normviz
from normviz.describe.problems import PROBLEMS
from normviz.inspection.findings import CHECKS


class Tokens(nn.Module):
    """Embedded tokens, and a norm of some axes."""

    def __init__(self, norm):
        super().__init__()
        self.words, self.norm, self.head = nn.Embedding(11, 8), norm, nn.Linear(8, 3)

    def forward(self, tokens):
        return self.head(self.norm(self.words(tokens)))


class AllButFirst(nn.Module):
    """Layer norm over every axis but that of examples."""

    def forward(self, x):
        return F.layer_norm(x, x.shape[1:])


class HalfMeanSquares(nn.Module):
    """RMS norm whose ε is 0 in float16, in the input's own type."""

    def forward(self, x):
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-12).sqrt()


class StaysInInference(nn.BatchNorm2d):
    """Batch norm whose statistics never move."""

    def train(self, mode=True):
        return super().train(False)


def after_convolution(norm, channels=8):
    return nn.Sequential(nn.Conv2d(3, channels, 3, padding=1), norm)


def freeze(norm):
    model = after_convolution(norm).train()
    norm.requires_grad_(False)
    return model


def set_to_inference(model):
    model.train()
    model[1].eval()
    return model


def collect_statistics(model, batches):
    """The model after a forward pass in training whose statistics it keeps in full."""
    model[1].momentum = 1.0
    with torch.no_grad():
        model(batches)
    return model


def pool(norm):
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), norm)


def zero_tokens():
    return torch.zeros(4, 6, 8)


CASES = {
    "wrong-axis": (
        lambda: (after_convolution(LastAxisMeanSquare(8)), make_images()),
        lambda: (Tokens(MeanSquares(8)), make_tokens()),
    ),
    "normalized-shape": (
        lambda: (after_convolution(nn.LayerNorm(8)), make_images()),  # the width is 8, too
        lambda: (after_convolution(ChannelsFirst(8)), make_images()),
    ),
    "all-but-first": (
        lambda: (Tokens(AllButFirst()), make_tokens()),
        lambda: (Tokens(nn.LayerNorm(8)), make_tokens()),
    ),
    "moving-statistics": (
        lambda: (freeze(nn.BatchNorm2d(8)), make_images()),
        lambda: (freeze(StaysInInference(8)), make_images()),
    ),
    "small-groups": (
        lambda: (pool(nn.GroupNorm(8, 8)), make_images()),
        lambda: (pool(nn.GroupNorm(2, 8)), make_images()),
    ),
    "small-batch": (
        lambda: (nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8)), torch.randn(4, 3)),
        lambda: (nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8)), torch.randn(64, 3)),
    ),
    "half-precision": (
        lambda: (HalfMeanSquares(), zero_tokens()),
        lambda: (nn.LayerNorm(8, eps=1e-5), zero_tokens()),
    ),
    "folding": (
        lambda: (after_convolution(trained_norm()).eval(), make_images()),
        lambda: (Shortcut().eval(), make_images()),
    ),
    "train-eval-gap": (
        lambda: (after_convolution(nn.BatchNorm2d(8)), 5 * make_images() + 3),
        lambda: (collect_statistics(after_convolution(nn.BatchNorm2d(8)), make_images()), make_images()),
    ),
}


class Shortcut(nn.Module):
    """A convolution whose output goes around the batch norm, too."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), trained_norm()

    def forward(self, x):
        h = self.conv(x)
        return h + self.norm(h)


def trained_norm(channels=8):
    norm = nn.BatchNorm2d(channels)
    for values in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
        nn.init.uniform_(values, 0.5, 2)
    return norm


def list_keys(case):
    torch.manual_seed(0)
    model, batch = case()
    return [finding.key for finding in normviz.inspect(model, batch).findings]


@pytest.mark.parametrize("key", CASES)
def test_a_mistake_is_found_and_its_absence_too(key):
    mistaken, sound = CASES[key]
    assert key in list_keys(mistaken)
    assert key not in list_keys(sound)


def test_every_problem_has_a_case_and_short_words():
    assert set(CASES) == set(PROBLEMS) == {*CHECKS, "train-eval-gap", "folding"}
    for problem in PROBLEMS.values():
        assert problem.thread.startswith("https://github.com/")
        assert problem.advice.endswith(".")
        assert len(problem.title) <= 30  # the table's column
        compile(problem.code, "fix", "exec")


def test_folding_says_which_batch_norms_stay_and_why():
    spectral = nn.utils.parametrizations.spectral_norm(nn.Conv2d(8, 8, 1))
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), trained_norm(), nn.ReLU(), trained_norm(), Shortcut(), nn.Conv2d(8, 3, 1), spectral
    )
    model[4].conv, model[5], model[6] = nn.Conv2d(8, 8, 1), spectral, trained_norm()
    (finding,) = (each for each in normviz.inspect(model.eval(), make_images()).findings if each.key == "folding")
    assert finding.finding == (
        "1 of 4 batch norms can be folded into the layer before: 1. Not 3: something else stands between. "
        "Not 4.norm: the layer before it is used elsewhere, too. Not 6: the weight before it is computed."
    )
    assert not finding.problem.is_mistake
    assert not [each for each in normviz.inspect(model.train(), make_images()).findings if each.key == "folding"]


def test_a_batch_of_two_is_small_though_it_hides_the_formula():
    torch.manual_seed(0)
    weighted = nn.utils.parametrizations.weight_norm(nn.Linear(16, 32))
    report = normviz.inspect(nn.Sequential(weighted, nn.BatchNorm1d(32)), torch.randn(2, 16))
    assert report.layers[0].probe.form == "unknown"
    assert "only 2 numbers" in report.findings[0].finding


def test_inference_mode_that_train_ends_is_found():
    model = set_to_inference(after_convolution(nn.BatchNorm2d(8)))
    report = normviz.inspect(model, make_images())
    assert "moving-statistics" in [finding.key for finding in report.findings]
    assert (report.layers[0].training, report.layers[0].scheme) == ("constant", "batch")


def test_dropout_is_no_gap_of_batch_statistics():
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Dropout(0.5))
    report = normviz.inspect(model, torch.randn(16, 8))
    assert report.model["train_eval_gap"] > 0.25
    assert report.model["train_eval_gap_norm"] == 0
    assert not report.findings


def test_a_finding_is_in_the_text_the_html_and_the_json():
    model, batch = CASES["wrong-axis"][0]()
    report = normviz.inspect(model, batch)
    (finding,) = report.findings
    for text in (repr(report), report._repr_html_()):
        assert finding.finding in text
        assert finding.problem.thread in text
    (record,) = report.to_json()["findings"]
    assert set(record) == {"layer", "key", "finding", "advice", "thread"}
    assert record["layer"] == "1"
