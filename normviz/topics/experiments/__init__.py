"""Does it train better? What the papers promise, tried out on small real data: each experiment a small file."""
