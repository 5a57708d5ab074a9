"""Failures by class: what each costs, what monitors notice of them, and the best plan. Pure.

Formulas: docs/failure_classes.md.
"""
