cwlVersion: v1.2
class: CommandLineTool
label: Correlate all pairs of genes of an expression matrix
baseCommand: [cuesta, run, correlate]
hints:
  SoftwareRequirement:
    packages:
      cuesta: {version: ["0.2.0"]}
requirements:
  ResourceRequirement:
    coresMin: $(inputs.threads)
    ramMin: $(inputs.memory_mib)
arguments: [--threads, $(inputs.threads), --memory, $(inputs.memory_mib)MiB, -o, correlation]
inputs:
  matrix: {type: File, doc: "A row a gene, a column a sample.", inputBinding: {position: 1}}
  min_abs_score: {type: float?, inputBinding: {prefix: --min-abs-score}}
  threads: {type: int, default: 1}
  memory_mib: {type: int, default: 2048}
outputs:
  answer: {type: Directory, outputBinding: {glob: correlation}}
  pairs: {type: File, outputBinding: {glob: correlation/pairs.txt}}
