"""The geometry of learning: distance between predictions, the effective learning rate, loss slices, recurrence."""
