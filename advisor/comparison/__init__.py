"""Clusters side by side: what was measured on each, and what one scenario's answer is on each.

difference.py    two means: their ratio with its interval, and whether more than chance is between
matching.py      the numbers of several clusters, those of the same cell in one row
clusters.py      rows, calibrations, counts: the whole comparison
calibrations.py  what each path takes, on each
same_scenario.py one scenario, answered from each cluster's own evidence

Evidence of one cluster never enters an answer on another: they are only shown beside each other.
Pure.
"""
