"""Lessons as a folder of static files, for a course site or a laptop without a network."""
