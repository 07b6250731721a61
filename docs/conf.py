"""How the documentation is built: ``make docs``, with warnings as errors and without the network.

Scripts in ``examples/short`` are executed and shown with their pictures; those in ``examples`` take
minutes to hours and are shown only.
"""

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE / "_ext")]
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["MPLBACKEND"] = "agg"
warnings.filterwarnings("ignore", message=".*non-interactive.*")

from widthwise import __version__  # noqa: E402

project = "widthwise"
author = "The widthwise developers"
copyright = "The widthwise developers"
version = release = __version__
language = "en-GB"

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "plain_docstrings",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "studies",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery/**/*.py", "gallery/**/*.ipynb", "gallery/**/*.py.md5"]
suppress_warnings = ["config.cache"]  # the gallery is configured with an object that cannot be pickled

html_theme = "pydata_sphinx_theme"
html_title = f"widthwise {version}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["widthwise.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say the types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


def _clear_figures(configuration, name):
    """Each script of the gallery begins with Matplotlib's own settings, and figures are saved sharp."""
    import matplotlib

    matplotlib.rcdefaults()
    matplotlib.use("agg")
    matplotlib.rcParams["savefig.dpi"] = 200


sphinx_gallery_conf = {
    "reset_modules": (_clear_figures,),
    "examples_dirs": ["../examples/short"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"[/\\]plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "within_subsection_order": "FileNameSortKey",
}
