"""Commands that the laboratory adds to `cuesta`; each module has `register(app)`.

Safe to change: sentences of help. What breaks: options and exit codes are used in scripts.
"""
