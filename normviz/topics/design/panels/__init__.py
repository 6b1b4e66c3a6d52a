"""What the page on design shows: the answers to a question, and one of them in full."""
