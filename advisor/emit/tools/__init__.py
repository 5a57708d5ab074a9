"""One training tool a file, with an object `TOOL`; its name is the file's."""
