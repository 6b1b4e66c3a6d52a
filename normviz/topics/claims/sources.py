"""The sources of the claims: pages and slides that report papers, and this app's own measurements."""

from dataclasses import dataclass

from normviz.core.registry import BA_REFERENCE, IOFFE_REFERENCE, REN_REFERENCE
from normviz.core.rows import index_by_key


@dataclass(frozen=True)
class Source:
    """A source of claims: its name in filters, what it is and which papers it reports, and its address if known."""

    key: str
    name: str
    citation: str
    url: str | None = None


SOURCES: dict[str, Source] = index_by_key(
    Source(
        "000",
        "Notes on layer norm",
        f"Reading notes on {BA_REFERENCE.text}, and on {REN_REFERENCE.text}",
        BA_REFERENCE.url,
    ),
    Source("001", "Keras tutorial", "“Normalization in deep learning”, a tutorial with Keras code"),
    Source("002", "Rico's Nerd Cluster", "Rico's Nerd Cluster 2022, “Deep Learning – Layer Normalization”, a blog"),
    Source(
        "003",
        "Lei Mao's log book",
        "Mao 2019, “Layer Normalization Explained”, a blog, with its readers' comments",
        "https://leimao.github.io/blog/Layer-Normalization/",
    ),
    Source("004", "Slides", f"Slides on {IOFFE_REFERENCE.text}, and on {BA_REFERENCE.text}", IOFFE_REFERENCE.url),
    Source(
        "normviz",
        "Said or assumed elsewhere",
        "Said or assumed in papers, code and teaching; measured while this app was built",
    ),
)
