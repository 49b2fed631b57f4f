package cuesta.spark

import org.apache.spark.SparkContext
import org.apache.spark.util.AccumulatorV2

/** Counts of pieces of work by their numbers.
  *
  * A piece that is done again (a task that is retried, an RDD that did not fit in the cache) is
  * counted once, which the sums of Spark's own accumulators do not give.
  */
final class Tally private (private var pieces: Map[Int, Seq[Long]])
    extends AccumulatorV2[(Int, Seq[Long]), Map[Int, Seq[Long]]] {

  /** The sum of a column over all pieces. */
  def total(column: Int): Long = pieces.valuesIterator.map(_(column)).sum

  override def isZero: Boolean = pieces.isEmpty
  override def copy(): Tally = new Tally(pieces)
  override def reset(): Unit = pieces = Map.empty
  override def add(piece: (Int, Seq[Long])): Unit = pieces += piece
  override def merge(other: AccumulatorV2[(Int, Seq[Long]), Map[Int, Seq[Long]]]): Unit =
    pieces ++= other.value
  override def value: Map[Int, Seq[Long]] = pieces

  /** Returns the items unchanged; after the last one, adds `counts` for the piece. */
  def counting[T](piece: Int, items: Iterator[T])(counts: => Seq[Long]): Iterator[T] =
    items ++ {
      add((piece, counts))
      Iterator.empty
    }
}

object Tally {
  def register(context: SparkContext, name: String): Tally = {
    val made = new Tally(Map.empty)
    context.register(made, name)
    made
  }
}
