"""Snakemake wrapper of `cuesta run correlate`."""

import shlex

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=True, stderr=True)
extra = snakemake.params.get("extra", "")
memory = snakemake.resources.get("mem_mb")
limit = f"--memory {memory}MB" if memory else ""
inputs = shlex.quote(str(snakemake.input.get("matrix", snakemake.input[0])))
shell(
    "cuesta run correlate {inputs} --threads {snakemake.threads} {limit} {extra}"
    " -o {snakemake.output[0]} --overwrite {log}"
)
