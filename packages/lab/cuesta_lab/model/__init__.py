"""Models of throughput and time: equations of the papers, fits with intervals, machines, advice.

A model knows no engine and runs nothing: it reads run records, tables and descriptions of machines.

Safe to change: a form with its fit. What breaks: `tests/test_model_published.py` holds predictions
to published runs.
"""
