"""What goes wrong on purpose: kinds, schedules, and the injector that carries them out."""
