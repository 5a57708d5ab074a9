"""The state contract: what a rank's state is, how it is proved equal, how it is kept on disk."""
