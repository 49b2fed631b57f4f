package cuesta.spark

import java.nio.file.Path

import org.apache.spark.graphx.{Edge, Graph, VertexRDD}

/** Edges of every gene, and how many genes have how many. */
object Degrees {

  /** Edges into and out of each gene that has one. */
  private type Counted = scala.collection.Map[Int, (Long, Long)]

  def run(job: Job): Map[String, Long] = {
    val pairs = job.clock.phase("open")(GenePairs.open(job, job.request.inputs))
    val method = job.request.textOption("method").getOrElse("count")
    val counted = if (method == "graphx") graphx(job, pairs) else count(job, pairs)
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
      "rows_read" -> pairs.rowsRead,
      "edges" -> pairs.rowsKept,
      "genes" -> genes.toLong,
      "genes_with_edges" -> degrees.count(_.last > 0).toLong,
      "largest_degree" -> degrees.map(_.last).maxOption.getOrElse(0L)
    )
  }

  /** A sum for every gene, without a graph. */
  private def count(job: Job, pairs: GenePairs): Counted = {
    val hits = pairs.cachedHits
    job.clock.phase("count", Some(pairs.bytes), Some(pairs.rowsRead)) {
      hits
        .flatMap(hit => Seq(hit.row.gene1 -> (0L, 1L), hit.row.gene2 -> (1L, 0L)))
        .reduceByKey((one, more) => (one._1 + more._1, one._2 + more._2))
        .collectAsMap()
    }
  }

  /** ArrayBench's degree-distribution: GraphX's own degrees of a graph made from the rows. */
  private def graphx(job: Job, pairs: GenePairs): Counted = {
    val graph = GenePairGraph.convert(job, pairs, "convert")
    job.clock.phase("degrees", rows = Some(pairs.rowsKept)) {
      val in = counts(graph.inDegrees).map { case (gene, degree) => gene -> ((degree, 0L)) }
      counts(graph.outDegrees).foldLeft(in) { case (all, (gene, degree)) =>
        all.updated(gene, (all.get(gene).fold(0L)(_._1), degree))
      }
    }
  }

  private def counts(degrees: VertexRDD[Int]): Map[Int, Long] =
    degrees.collect().map { case (gene, degree) => gene.toInt -> degree.toLong }.toMap

  /** Number of genes of each degree that occurs, by in, out and total. */
  private def distribution(degrees: Seq[Seq[Long]]): Iterator[Seq[Long]] = {
    val columns = (0 until 3).map { column =>
      degrees.groupMapReduce(_(column))(_ => 1L)(_ + _)
    }
    val found = columns.flatMap(_.keys).distinct.sorted
    found.iterator.map(degree => degree +: columns.map(_.getOrElse(degree, 0L)))
  }
}

/** Gene pairs as GraphX wants them. */
private[spark] object GenePairGraph {

  /** Every row that passes as an edge; all of the graph is kept, in a phase of its own, which is
    * `load` where the options say that a run finds its input cached.
    */
  def convert(job: Job, pairs: GenePairs, phase: String): Graph[Long, Long] = {
    val options = job.request.options
    val level = options.level
    val name = if (options.cachesInputs) "load" else phase
    job.clock.phase(name, Some(pairs.bytes), Some(pairs.rowsRead)) {
      val edges = pairs.hits.map(hit => Edge(hit.row.gene1.toLong, hit.row.gene2.toLong, 1L))
      val made = Graph.fromEdges(edges, 0L, level, level).persist(level)
      made.edges.count()
      made.vertices.count()
      made
    }
  }
}
