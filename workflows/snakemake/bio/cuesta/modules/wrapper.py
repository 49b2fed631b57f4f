"""Snakemake wrapper of `cuesta run modules`."""

import shlex

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=True, stderr=True)
extra = snakemake.params.get("extra", "")
memory = snakemake.resources.get("mem_mb")
limit = f"--memory {memory}MB" if memory else ""
words = [snakemake.input.matrix]
if traits := snakemake.input.get("traits"):
    words += ["--traits", traits]
inputs = shlex.join(words)
shell(
    "cuesta run modules {inputs} --threads {snakemake.threads} {limit} {extra}"
    " -o {snakemake.output[0]} --overwrite {log}"
)
