"""Studies: files of trials with a question, run, measured, and held against what was claimed."""
