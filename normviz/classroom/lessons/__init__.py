"""Lessons: steps through the pages, each with a question."""
