"""Classes that answer from their phones: database, routes, the page of a student and that of the lecturer."""
