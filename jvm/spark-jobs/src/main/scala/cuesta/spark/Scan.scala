package cuesta.spark

import java.nio.file.Path

/** The gene pairs that pass a filter, in the order of the input. */
object Scan {
  def run(job: Job): Map[String, Long] = {
    val pairs = job.clock.phase("open")(GenePairs.open(job, job.request.inputs))
    val shape = pairs.shape
    val hits = pairs.cachedHits
    val bytes = job.clock.phase("scan", Some(pairs.bytes), Some(pairs.rowsRead)) {
      val lines = hits.map(hit => GenePair.toV1(hit.line, shape))
      Answer.writeLines(lines, Path.of(job.request.output, "pairs.txt"))
    }
    Map(
      "rows_read" -> pairs.rowsRead,
      "rows_kept" -> pairs.rowsKept,
      "files_skipped" -> pairs.filesSkipped,
      "answer_bytes" -> bytes
    )
  }
}
