"""How a rank says with its exit code that it ended by itself."""

RAISED = 1
"""Its training code raised."""
ORPHANED = 4
"""Its supervisor was gone."""
