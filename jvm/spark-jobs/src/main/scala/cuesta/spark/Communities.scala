package cuesta.spark

import java.nio.file.Path

import org.apache.spark.graphx.{Graph, VertexId}

/** Groups of genes, by GraphX. */
object Communities {
  private final case class Labels(
      of: Array[(VertexId, VertexId)],
      counts: Map[String, Long] = Map.empty
  )

  def run(job: Job): Map[String, Long] = {
    val method = job.request.text("method")
    val pairs = job.clock.phase("open")(GenePairs.open(job, job.request.inputs))
    val graph = GenePairGraph.convert(job, pairs, "read")
    val Labels(labels, counts) = job.clock.phase(method, rows = Some(pairs.rowsKept)) {
      method match {
        case "components" => Labels(graph.connectedComponents().vertices.collect())
        case "label-propagation" => propagate(job, graph)
        case _ =>
          throw new InputException(
            s"engine spark-scala has no --method $method; take engine native, or components or " +
              "label-propagation"
          )
      }
    }
    val asked = job.request.intOption("genes").getOrElse(0)
    val genes = math.max(asked, labels.map(_._1).maxOption.getOrElse(0L).toInt)
    val smallest = labels.groupMapReduce(_._2)(_._1)(_ min _)
    val named = labels.map { case (gene, label) => gene -> smallest(label) }.toMap
    val rows = (1L to genes.toLong).iterator.map(gene => Seq(gene, named.getOrElse(gene, gene)))
    job.clock.phase("write", rows = Some(genes.toLong)) {
      Answer.writeTable(
        Path.of(job.request.output, "communities.tsv"),
        "gene\tcommunity",
        rows
      )
    }
    val sizes = named.values.groupMapReduce(identity)(_ => 1L)(_ + _).values.filter(_ > 1)
    Map(
      "rows_read" -> pairs.rowsRead,
      "edges" -> pairs.rowsKept,
      "genes" -> genes.toLong,
      "genes_grouped" -> sizes.sum,
      "communities" -> sizes.size.toLong,
      "largest_community" -> sizes.maxOption.getOrElse(0L)
    ) ++ counts
  }

  /** Rounds in which all genes at once take the label that most of their edges lead to, the
    * smallest of several; GraphX's own `LabelPropagation` leaves ties to chance.
    */
  private def propagate(job: Job, graph: Graph[Long, Long]): Labels = {
    val iterations = job.request.int("iterations")
    val level = job.request.options.level
    var labelled = graph.mapVertices((gene, _) => gene).persist(level)
    var rounds = 0L
    var changed = true
    while (changed && rounds < iterations) {
      val votes = labelled.aggregateMessages[Map[VertexId, Long]](
        triplet => {
          triplet.sendToDst(Map(triplet.srcAttr -> 1L))
          triplet.sendToSrc(Map(triplet.dstAttr -> 1L))
        },
        (one, other) =>
          other.foldLeft(one) { case (all, (label, count)) =>
            all.updated(label, all.getOrElse(label, 0L) + count)
          }
      )
      val next = labelled
        .outerJoinVertices(votes) { (_, label, found) =>
          found.fold(label)(_.minBy { case (label, count) => (-count, label) }._1)
        }
        .persist(level)
      val labels = next.vertices.join(labelled.vertices).values
      changed = !labels.filter { case (label, before) => label != before }.isEmpty()
      if (changed) rounds += 1
      labelled.unpersist()
      labelled = next
    }
    Labels(labelled.vertices.collect(), Map("rounds" -> rounds))
  }
}
