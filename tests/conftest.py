import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small tensors, and a browser beside them: threads would only wait

from hypothesis import settings

# The same examples in every run (derandomize), and no time limit on one: the first call of a library is slow.
settings.register_profile("normviz", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("normviz")
