"""Ways to bring the cells of a campaign to run: one a module, behind `launcher.Launcher`."""
