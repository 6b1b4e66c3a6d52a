"""The tensor lab: one tensor, one scheme."""
