"""All settings of a job together: mechanisms in tiers, their intervals and replicas, the detection
timeout with its false alarms, and spares.

Maths and rules: docs/tuning.md. Pure.
"""
