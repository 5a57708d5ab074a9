"""Models, data and profiles: what is trained, and how large."""
