cwlVersion: v1.2
class: CommandLineTool
label: Assemble all samples of a sheet, into one table
baseCommand: [cuesta, run, assemble]
hints:
  SoftwareRequirement:
    packages:
      cuesta: {version: ["0.2.0"]}
requirements:
  ResourceRequirement:
    coresMin: $(inputs.threads)
    ramMin: $(inputs.memory_mib)
  InitialWorkDirRequirement:
    listing: [$(inputs.sheet), $(inputs.reads)]
arguments: [--threads, $(inputs.threads), --memory, $(inputs.memory_mib)MiB, -o, samples]
inputs:
  sheet:
    type: File
    doc: Columns of nf-core, bacass or Bactopia; files are named without a folder.
    inputBinding: {prefix: --samples, valueFrom: $(self.basename)}
  reads: {type: "File[]", doc: All files that the sheet names.}
  threads: {type: int, default: 1}
  memory_mib: {type: int, default: 2048}
outputs:
  answer: {type: Directory, outputBinding: {glob: samples}}
  table: {type: File, outputBinding: {glob: samples/isolates.tsv}}
