"""normviz: see and test normalization in deep learning.

One general form covers most schemes (Ren et al. 2017, arXiv 1611.04520): v = x - E_A[x], x̂ = v / sqrt(ε + E_B[v²]),
y = γ x̂ + β. Four stand outside it: spectral norm, whitening, dynamic tanh and dynamic erf.

A `Field` says over which elements an average runs, `SCHEMES` lists the schemes,
`normalize` computes the form, `backward` its derivative, and `predict` says what a scheme is invariant to.
"""

from normviz.core.backward import backward
from normviz.core.errors import InvalidInput
from normviz.core.fields import Field, Rule
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.theory import predict

__version__ = "0.2.0"

__all__ = ["SCHEMES", "Field", "InvalidInput", "Rule", "__version__", "backward", "get_scheme", "normalize", "predict"]
