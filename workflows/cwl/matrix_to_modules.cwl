cwlVersion: v1.2
class: Workflow
label: Pairs of genes and modules of an expression matrix
inputs:
  matrix: File
  traits: File?
  min_abs_score: float?
  min_module_size: int?
steps:
  correlate:
    run: correlate.cwl
    in: {matrix: matrix, min_abs_score: min_abs_score}
    out: [pairs]
  modules:
    run: modules.cwl
    in: {matrix: matrix, traits: traits, min_module_size: min_module_size}
    out: [table, gene_sets]
outputs:
  pairs: {type: File, outputSource: correlate/pairs}
  table: {type: File, outputSource: modules/table}
  gene_sets: {type: File, outputSource: modules/gene_sets}
