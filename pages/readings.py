"""The former address of the variants of layer norm and of the detector."""

import streamlit as st

from normviz.ui.frame import redirect_former_page

redirect_former_page("readings", st.query_params.to_dict())
