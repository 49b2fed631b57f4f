cwlVersion: v1.2
class: CommandLineTool
label: Find weighted co-expression modules of an expression matrix
baseCommand: [cuesta, run, modules]
hints:
  SoftwareRequirement:
    packages:
      cuesta: {version: ["0.2.0"]}
requirements:
  ResourceRequirement:
    coresMin: $(inputs.threads)
    ramMin: $(inputs.memory_mib)
arguments: [--threads, $(inputs.threads), --memory, $(inputs.memory_mib)MiB, -o, modules]
inputs:
  matrix: {type: File, doc: "A row a gene, a column a sample.", inputBinding: {position: 1}}
  traits: {type: File?, doc: A row a sample., inputBinding: {prefix: --traits}}
  min_module_size: {type: int?, inputBinding: {prefix: --min-module-size}}
  threads: {type: int, default: 1}
  memory_mib: {type: int, default: 2048}
outputs:
  answer: {type: Directory, outputBinding: {glob: modules}}
  table: {type: File, outputBinding: {glob: modules/modules.tsv}}
  gene_sets: {type: File, outputBinding: {glob: modules/modules.gmt}}
