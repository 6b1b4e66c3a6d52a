"""The app, a Streamlit script and an ASGI application in one: `streamlit run app.py` serves it."""

import streamlit as st

from normviz.ui.server import ICON, MIDDLEWARE, ROUTES, STYLE, lifespan

app = st.App(__file__, lifespan=lifespan, routes=ROUTES, middleware=MIDDLEWARE)

if __name__ == "__main__":
    pages = [
        st.Page("pages/tensor_lab.py", title="Tensor lab", default=True),
        st.Page("pages/compare.py", title="Compare"),
        st.Page("pages/identities.py", title="Identities"),
        st.Page("pages/invariance.py", title="Invariances (Table 1)"),
        st.Page("pages/running.py", title="Training and inference"),
        st.Page("pages/weights.py", title="Weights"),
        st.Page("pages/divisive.py", title="Divisive"),
    ]
    page = st.navigation(pages, position="top")
    st.set_page_config(page_title=f"{page.title} · normviz", page_icon=str(ICON), layout="wide")
    st.html(STYLE)
    page.run()
