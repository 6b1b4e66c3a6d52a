"""The words of the interface of lessons, in one place, so that a translation is one file.

The lessons themselves are files of their own. In braces: what is filled in.
"""

LESSON_WORDS = {
    "step": "Step {number} of {count}",
    "back": "Back",
    "next": "Next",
    "finish": "Finish",
    "leave": "Leave the lesson",
    "again": "Show this step again",
    "predict": "Predict first",
    "right": "Right.",
    "wrong": "Not quite.",
    "look": "Look:",
    "start": "Start",
    "resume": "Continue at step {number}",
    "length": "{minutes} min, {count} steps",
    "teachers": "For teachers",
    "goal": "Goal",
    "plan": "Plan",
    "misconception": "Misconception",
    "simplified": "What is simplified",
    "handout": "Handout to print",
    "name": "Name",
    "solutions": "Solutions",
    "page": "Page: {link}",
    "your answer": "Your answer and why:",
}
"""Words by key."""
