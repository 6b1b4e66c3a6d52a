"""The general form and what follows from it: fields, schemes, normalize, statistics, and what is predicted."""
