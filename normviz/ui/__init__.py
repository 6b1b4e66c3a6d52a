"""Parts shared by all pages: links, controls, style, server."""
