"""What the page on readings shows."""
