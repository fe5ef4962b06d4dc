"""Sphinx configuration. Building fetches nothing; the pages load MathJax when they are read."""

from importlib.metadata import version as installed_version

project = "taut"
author = "The taut developers"
copyright = author
release = version = installed_version("taut")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]

exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say types in words
autosummary_generate = True
napoleon_numpy_docstring = True
napoleon_google_docstring = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
}

html_theme = "furo"
html_title = "taut"
