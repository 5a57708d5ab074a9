"""How sure an answer is: what the dispersion of the measurements does to it (docs/uncertainty.md).

Pure and vectorised. Nothing here is imported unless it is asked for: it needs scipy.
"""
