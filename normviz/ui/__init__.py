"""What all pages share: links, controls, components, style, server."""
