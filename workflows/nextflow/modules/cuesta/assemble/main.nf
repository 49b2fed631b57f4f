process CUESTA_ASSEMBLE {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(reads, arity: '2')

    output:
    tuple val(meta), path("${prefix}/contigs.fa"), emit: contigs
    tuple val(meta), path("${prefix}/graph.gfa"), emit: graph
    tuple val(meta), path("${prefix}/report.tsv"), emit: report
    tuple val("${task.process}"), val('cuesta'), eval("cuesta --version | sed 's/[^0-9]* //'"), topic: versions, emit: versions_cuesta

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def memory = task.memory ? "--memory ${task.memory.toMega()}MiB" : ''
    """
    cuesta run assemble -1 ${reads[0]} -2 ${reads[1]} \\
        --threads ${task.cpus} ${memory} \\
        ${args} \\
        -o ${prefix}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir ${prefix}
    touch ${prefix}/contigs.fa ${prefix}/graph.gfa ${prefix}/report.tsv
    """
}
