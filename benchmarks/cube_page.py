"""The smallest page with the cube, for benchmarks: `?mode=component`, `?mode=chart` or `?mode=echo`, `&shape=4,4,4,6`.

All modes have the same control, a seed. `component` shows the figure with the app's own component, with all that its
highlights need; `chart` shows the same figure, its mesh made here, with `st.plotly_chart`; `echo` writes the seed and
nothing else.
"""

import plotly.graph_objects as go
import streamlit as st
from meshes import grid, mesh

from normviz.charts import cube
from normviz.charts.cube_layout import compute_layout
from normviz.core.normalize import normalize
from normviz.core.registry import get_scheme
from normviz.data.samples import SAMPLES
from normviz.ui.server import MIDDLEWARE
from normviz.web.components.plot import show_figure
from normviz.web.plot_message import CubeParts
from normviz.web.script_routes import create_routes

HEIGHT = 480

app = st.App(__file__, routes=create_routes(), middleware=MIDDLEWARE)

if __name__ == "__main__":
    st.set_page_config(page_title="cube")
    mode = st.query_params.get("mode", "component")
    shape = tuple(map(int, st.query_params.get("shape", "4,4,4,6").split(",")))
    seed = st.number_input("Seed", 0, 9999)
    if mode == "echo":
        with st.container(key="echo"):
            st.write(f"seed {seed}")
        st.stop()
    scheme = get_scheme("batch")
    x = SAMPLES["uneven"].make(shape, seed)
    result = normalize(x, scheme)
    figure = cube.draw_cube(compute_layout("folded", shape), *cube.compute_value_levels(x))
    if mode == "chart":
        figure.data[1] |= grid(compute_layout("folded", shape))
        figure.data[0] |= mesh(compute_layout("folded", shape), shape, figure.data[0]["intensity"])
        st.plotly_chart(go.Figure(figure.to_dict()), key="cube", width="stretch", height=HEIGHT)
    else:
        hover = cube.build_hover_data(
            compute_layout("folded", shape), [(scheme.field, scheme.summation)], x, [result.xhat]
        )
        show_figure(figure, "cube", "A cube", f"{HEIGHT}px", CubeParts(hover, (0, 0, 0, 0), "nhwc"))
