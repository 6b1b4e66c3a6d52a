"""Lessons: the list of all lessons, with a note for teachers on each."""

from normviz.classroom.lessons.panels import show_lesson_list
from normviz.ui.link import sync_page_values

with sync_page_values("lessons", (), lambda view, name: True):
    show_lesson_list()
