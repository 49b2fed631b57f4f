"""The laboratory: run one trial, measure it, verify it, write its record."""
