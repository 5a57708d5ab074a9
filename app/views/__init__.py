"""The pages, one a file; each has `page(cluster)`, which draws it."""
