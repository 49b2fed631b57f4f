"""Studies: files of trials with a question, which are run, measured and compared with claims."""
