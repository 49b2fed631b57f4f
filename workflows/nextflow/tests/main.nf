// A sample, a sheet of samples, and a matrix, each through its module.
include { CUESTA_ASSEMBLE        } from '../modules/cuesta/assemble/main.nf'
include { CUESTA_ASSEMBLESAMPLES } from '../modules/cuesta/assemblesamples/main.nf'
include { CUESTA_CORRELATE       } from '../modules/cuesta/correlate/main.nf'
include { CUESTA_MODULES         } from '../modules/cuesta/modules/main.nf'

workflow {
    reads = files("${params.input}/*.fq").sort()
    matrix = file("${params.input}/matrix.tsv")
    CUESTA_ASSEMBLE([[id: 'sample'], reads.take(2)])
    CUESTA_ASSEMBLESAMPLES([[id: 'all'], file("${params.input}/sheet.csv"), reads])
    CUESTA_CORRELATE([[id: 'pairs'], matrix])
    CUESTA_MODULES([[id: 'network'], matrix])
}
