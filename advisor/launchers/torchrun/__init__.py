"""Runs cells on several hosts that torchrun brings together. Why so: decision 0024.

settings.py the hosts and torchrun's commands on them (pure); launched.py the first host's part.
"""
