"""The former address of the variants of layer norm and of the detector."""

from normviz.ui.redirects import follow_former_link, translate_variants_link

follow_former_link("readings", translate_variants_link)
