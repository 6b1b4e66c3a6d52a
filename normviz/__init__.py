"""normviz: see and test normalization in deep learning.

One general form covers every scheme (Ren et al. 2017, arXiv 1611.04520): v = x - E_A[x],
x̂ = v / sqrt(ε + E_B[v²]), y = γ x̂ + β. `fields` says what A and B are, `schemes` lists them,
`normalize` computes the form, and everything the app shows is derived from these three.
"""

__version__ = "0.2.0"
