"""The documentation as a site: `python -m tools.site` writes it to site/."""
