"""Parts shared by all pages: links, controls, style, server."""

import logging

# Outside a server, as in the command `lessons`, Streamlit would warn of every cache.
logging.getLogger("streamlit.runtime.caching.cache_data_api").disabled = True
