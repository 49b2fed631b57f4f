"""Snakemake wrapper of `cuesta run assemble` for a sample."""

import shlex

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=True, stderr=True)
extra = snakemake.params.get("extra", "")
memory = snakemake.resources.get("mem_mb")
limit = f"--memory {memory}MB" if memory else ""
reads = snakemake.input.get("reads", snakemake.input)
reads = [reads] if isinstance(reads, str) else list(reads)
words = ["-1", reads[0], "-2", reads[1]] if len(reads) == 2 else reads
inputs = shlex.join(words)
shell(
    "cuesta run assemble {inputs} --threads {snakemake.threads} {limit} {extra}"
    " -o {snakemake.output[0]} --overwrite {log}"
)
