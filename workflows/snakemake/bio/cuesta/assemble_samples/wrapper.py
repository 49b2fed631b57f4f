"""Snakemake wrapper of `cuesta run assemble --samples`."""

import shlex

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=True, stderr=True)
extra = snakemake.params.get("extra", "")
memory = snakemake.resources.get("mem_mb")
limit = f"--memory {memory}MB" if memory else ""
inputs = shlex.join(["--samples", snakemake.input.sheet])
shell(
    "cuesta run assemble {inputs} --threads {snakemake.threads} {limit} {extra}"
    " -o {snakemake.output[0]} --overwrite {log}"
)
