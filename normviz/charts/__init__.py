"""Figures as plain data: charts, curves, palettes and the cube."""
