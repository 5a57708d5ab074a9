"""Figures of an answer, one a file: functions from plain data to a plotly figure.

No Streamlit and no files here; the app and the reports show the same figures. Needs plotly (the
extra `[app]`).
"""
