package cuesta.spark

import java.nio.file.Path

/** Edges of every gene, and how many genes have how many. */
object Degrees {
  def run(job: Job): Map[String, Long] = {
    val pairs = job.clock.phase("open")(GenePairs.open(job, job.request.inputs))
    val counted = job.clock.phase("count", Some(pairs.bytes), Some(pairs.rowsRead.sum)) {
      pairs.hits
        .flatMap(hit => Seq(hit.row.gene1 -> (0L, 1L), hit.row.gene2 -> (1L, 0L)))
        .reduceByKey((one, more) => (one._1 + more._1, one._2 + more._2))
        .collectAsMap()
    }
    val asked = job.request.intOption("genes").getOrElse(0)
    val genes = math.max(asked, counted.keys.maxOption.getOrElse(0))
    val degrees = (1 to genes).map { gene =>
      val (in, out) = counted.getOrElse(gene, (0L, 0L))
      Seq(in, out, in + out)
    }
    job.clock.phase("write", rows = Some(genes.toLong)) {
      val folder = Path.of(job.request.output)
      val rows = degrees.iterator.zipWithIndex.map { case (row, index) => (index + 1L) +: row }
      Answer.writeTable(folder.resolve("degrees.tsv"), "gene\tin\tout\ttotal", rows)
      Answer.writeTable(
        folder.resolve("distribution.tsv"),
        "degree\tin\tout\ttotal",
        distribution(degrees)
      )
    }
    Map(
      "rows_read" -> pairs.rowsRead.sum,
      "edges" -> pairs.rowsKept.sum,
      "genes" -> genes.toLong,
      "genes_with_edges" -> degrees.count(_.last > 0).toLong,
      "largest_degree" -> degrees.map(_.last).maxOption.getOrElse(0L)
    )
  }

  /** How many genes have each degree that any gene has, by in, out and total. */
  private def distribution(degrees: Seq[Seq[Long]]): Iterator[Seq[Long]] = {
    val columns = (0 until 3).map { column =>
      degrees.groupMapReduce(_(column))(_ => 1L)(_ + _)
    }
    val found = columns.flatMap(_.keys).distinct.sorted
    found.iterator.map(degree => degree +: columns.map(_.getOrElse(degree, 0L)))
  }
}
