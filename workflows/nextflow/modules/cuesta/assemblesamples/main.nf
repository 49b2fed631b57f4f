process CUESTA_ASSEMBLESAMPLES {
    tag "$meta.id"
    label 'process_high'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(sheet), path(reads)

    output:
    tuple val(meta), path("${prefix}/isolates.tsv"), emit: table
    tuple val(meta), path("${prefix}/*/contigs.fa"), emit: contigs
    tuple val("${task.process}"), val('cuesta'), eval("cuesta --version | sed 's/[^0-9]* //'"), topic: versions, emit: versions_cuesta

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def memory = task.memory ? "--memory ${task.memory.toMega()}MiB" : ''
    """
    cuesta run assemble --samples ${sheet} \\
        --threads ${task.cpus} ${memory} \\
        ${args} \\
        -o ${prefix}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir ${prefix}
    mkdir ${prefix}/sample
    touch ${prefix}/isolates.tsv ${prefix}/sample/contigs.fa
    """
}
