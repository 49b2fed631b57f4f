process CUESTA_CORRELATE {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(matrix)

    output:
    tuple val(meta), path("${prefix}/pairs.txt"), emit: pairs
    tuple val(meta), path("${prefix}/genes.tsv"), emit: genes
    tuple val("${task.process}"), val('cuesta'), eval("cuesta --version | sed 's/[^0-9]* //'"), topic: versions, emit: versions_cuesta

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def memory = task.memory ? "--memory ${task.memory.toMega()}MiB" : ''
    """
    cuesta run correlate ${matrix} \\
        --threads ${task.cpus} ${memory} \\
        ${args} \\
        -o ${prefix}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir ${prefix}
    touch ${prefix}/pairs.txt ${prefix}/genes.tsv
    """
}
