process CUESTA_MODULES {
    tag "$meta.id"
    label 'process_high'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(matrix)

    output:
    tuple val(meta), path("${prefix}/modules.tsv"), emit: table
    tuple val(meta), path("${prefix}/eigengenes.tsv"), emit: eigengenes
    tuple val(meta), path("${prefix}/modules.gmt"), emit: gene_sets
    tuple val("${task.process}"), val('cuesta'), eval("cuesta --version | sed 's/[^0-9]* //'"), topic: versions, emit: versions_cuesta

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def memory = task.memory ? "--memory ${task.memory.toMega()}MiB" : ''
    """
    cuesta run modules ${matrix} \\
        --threads ${task.cpus} ${memory} \\
        ${args} \\
        -o ${prefix}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir ${prefix}
    touch ${prefix}/modules.tsv ${prefix}/eigengenes.tsv ${prefix}/modules.gmt
    """
}
