cwlVersion: v1.2
class: CommandLineTool
label: Assemble the reads of a sample into contigs and their graph
baseCommand: [cuesta, run, assemble]
hints:
  SoftwareRequirement:
    packages:
      cuesta: {version: ["0.2.0"]}
requirements:
  ResourceRequirement:
    coresMin: $(inputs.threads)
    ramMin: $(inputs.memory_mib)
arguments: [--threads, $(inputs.threads), --memory, $(inputs.memory_mib)MiB, -o, $(inputs.sample)]
inputs:
  sample: {type: string, default: assembly, doc: Name of the answer and of the sample.}
  forward: {type: File, doc: First reads of the pairs., inputBinding: {prefix: "-1", position: 1}}
  reverse: {type: File, doc: Second reads of the pairs., inputBinding: {prefix: "-2", position: 2}}
  kmer_sizes: {type: string?, doc: "Such as 31,55,79.", inputBinding: {prefix: --kmer-sizes}}
  threads: {type: int, default: 1}
  memory_mib: {type: int, default: 2048}
outputs:
  answer: {type: Directory, outputBinding: {glob: $(inputs.sample)}}
  contigs: {type: File, outputBinding: {glob: $(inputs.sample)/contigs.fa}}
  graph: {type: File, outputBinding: {glob: $(inputs.sample)/graph.gfa}}
