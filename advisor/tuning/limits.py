"""How much the joint search can be told to search, for the command line and the app alike."""

MOST_TIERS = 3
MOST_REPLICAS = 16
MOST_SPARES = 1_000
MOST_NODES = 20_000
