package cuesta.spark

import java.util.Arrays

import org.apache.spark.Partitioner
import org.apache.spark.rdd.RDD

import cuesta.spark.Join.{Key, Match}

/** ArrayBench's matrix-join: `.join` of RDDs whose keys are both genes as text (figure 10 there).
  *
  * Its keys lack the cluster, so rows of different clusters are taken out after the join. Where the
  * paper writes `joinrdd.repartition(5)`, this moves the same rows to ranges of genes and sorts
  * them, as the order of the answer wants. Being an inner join, it sees a row that a version has
  * twice only where the other version has it, too.
  */
private[spark] final class TextJoin(job: Job, left: GenePairs, right: GenePairs)
    extends Join.Program[TextJoin.Joined] {
  if (job.request.text("how") != "inner")
    throw new InputException(
      s"engine spark-scala joins keys=text with RDD.join, which is inner; leave out " +
        s"--engine-option keys=text for --how ${job.request.text("how")}"
    )

  private val index = job.request.int("score_index")
  private val (keyedLeft, keyedRight) = (keyed(left), keyed(right))

  override def inputs: Seq[RDD[_]] = Seq(keyedLeft, keyedRight)

  override def rereadsInputs: Boolean = false

  override def joined(): RDD[TextJoin.Joined] =
    job.request.partitions match {
      case Some(partitions) => keyedLeft.join(keyedRight, partitions)
      case None => keyedLeft.join(keyedRight)
    }

  override def finish(joined: => RDD[TextJoin.Joined], write: RDD[Match] => Unit): Unit = {
    val (rows, rowsByGene) =
      job.clock.phase("join", Some(left.bytes + right.bytes), Some(left.rowsKept)) {
        val rows = joined.flatMap { case ((gene1, gene2), ((clusterA, a), (clusterB, b))) =>
          Option.when(clusterA == clusterB)((gene1.toInt, gene2.toInt, clusterA.toInt) -> ((a, b)))
        }
        // Spark joins when the rows of each gene are counted; the ranges depend on these counts.
        (rows, TextJoin.rowsByGene(rows))
      }
    job.clock.phase("write", rows = Some(rowsByGene.values.sum)) {
      val ranges = GeneRanges.of(rowsByGene, job.partitions)
      val sorted = rows.repartitionAndSortWithinPartitions(ranges)
      write(sorted.mapPartitions(TextJoin.toMatches, preservesPartitioning = true))
    }
  }

  private def keyed(pairs: GenePairs): RDD[((String, String), (String, Int))] = {
    val index = this.index
    pairs.hits.map { hit =>
      val row = hit.row
      ((row.gene1.toString, row.gene2.toString), (row.cluster.toString, row.scores(index)))
    }
  }
}

private[spark] object TextJoin {

  /** Both genes; cluster and score in either version. */
  type Joined = ((String, String), ((String, Int), (String, Int)))

  private def rowsByGene(rows: RDD[(Key, (Int, Int))]): Map[Int, Long] =
    rows.aggregate(Map.empty[Int, Long])(
      { case (found, ((gene1, _, _), _)) => added(found, gene1, 1) },
      (one, other) => other.foldLeft(one) { case (all, (gene, rows)) => added(all, gene, rows) }
    )

  private def added(counts: Map[Int, Long], gene: Int, rows: Long): Map[Int, Long] =
    counts.updated(gene, counts.getOrElse(gene, 0L) + rows)

  /** Converts sorted rows to matches. Errors: InputException for a key that occurs twice. */
  private def toMatches(rows: Iterator[(Key, (Int, Int))]): Iterator[Match] = {
    var last: Option[(Key, (Int, Int))] = None
    rows.map { case row @ (key, (a, b)) =>
      for ((before, (beforeA, _)) <- last if before == key)
        throw Join.twice(key, if (beforeA == a) "b" else "a")
      last = Some(row)
      Match(key, Some(a), Some(b))
    }
  }
}

/** Parts of consecutive genes.
  *
  * @param firsts
  *   the first gene of every part but the first, ascending
  */
private[spark] final class GeneRanges(firsts: Array[Int]) extends Partitioner {
  override def numPartitions: Int = firsts.length + 1

  override def getPartition(key: Any): Int = {
    val (gene1, _, _) = key.asInstanceOf[Key]
    val found = Arrays.binarySearch(firsts, gene1)
    if (found >= 0) found + 1 else -found - 1
  }
}

private[spark] object GeneRanges {

  /** Divides genes into ranges of about equally many rows; a gene is in one range. */
  def of(rowsByGene: Map[Int, Long], parts: Int): GeneRanges = {
    val genes = rowsByGene.toSeq.sorted
    val share = math.max(1L, (genes.map(_._2).sum + parts - 1) / parts)
    val rowsBefore = genes.scanLeft(0L)(_ + _._2)
    // A range begins where the number of rows before a gene reaches a multiple of `share`.
    val firsts = genes.zip(rowsBefore).zip(0L +: rowsBefore).collect {
      case (((gene, _), before), previous) if before / share > previous / share => gene
    }
    new GeneRanges(firsts.toArray)
  }
}
