package cuesta.spark

import org.apache.spark.RangePartitioner
import org.apache.spark.rdd.RDD

import cuesta.spark.Join.{Key, Match}

/** Both versions grouped by ranges of their keys, each range sorted on its own. */
private[spark] final class RangeJoin(job: Job, left: GenePairs, right: GenePairs)
    extends Join.Program[(Key, (Iterable[Int], Iterable[Int]))] {
  private val index = job.request.int("score_index")
  private val (a, b) = (keyed(left), keyed(right))

  override def inputs: Seq[RDD[_]] = Seq(a, b)

  /** Sampling for the ranges reads both; uncached, the text would be read and parsed twice. */
  override def rereadsInputs: Boolean = true

  override def joined(): RDD[(Key, (Iterable[Int], Iterable[Int]))] =
    a.cogroup(b, new RangePartitioner(job.partitions, a.union(b)))

  override def finish(
      joined: => RDD[(Key, (Iterable[Int], Iterable[Int]))],
      write: RDD[Match] => Unit
  ): Unit =
    job.clock.phase("join", Some(left.bytes + right.bytes), Some(left.rowsKept)) {
      val matches = joined.map { case (key, (ofA, ofB)) =>
        Match(key, RangeJoin.only(key, "a", ofA), RangeJoin.only(key, "b", ofB))
      }
      write(matches.mapPartitions(_.toArray.sortBy(_.key).iterator, preservesPartitioning = true))
    }

  private def keyed(pairs: GenePairs): RDD[(Key, Int)] = {
    val index = this.index
    pairs.hits.map { hit =>
      val row = hit.row
      ((row.gene1, row.gene2, row.cluster), row.scores(index))
    }
  }
}

private[spark] object RangeJoin {
  private def only(key: Key, version: String, scores: Iterable[Int]): Option[Int] = {
    if (scores.sizeIs > 1) throw Join.twice(key, version)
    scores.headOption
  }
}
