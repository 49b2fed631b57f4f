package cuesta.spark

import scala.collection.mutable.ArrayBuffer

/** A named part of a run. */
final case class Phase(name: String, seconds: Double, bytes: Option[Long], rows: Option[Long])

/** Times phases, one after the other. */
final class Clock {
  private val ended = ArrayBuffer.empty[Phase]

  def phases: Seq[Phase] = ended.toSeq

  /** Runs and times a piece of work; its result must not be lazy. `bytes` and `rows` are evaluated
    * after it.
    */
  def phase[T](name: String, bytes: => Option[Long] = None, rows: => Option[Long] = None)(
      work: => T
  ): T = {
    val started = System.nanoTime()
    val result = work
    val seconds = (System.nanoTime() - started) / 1e9
    ended += Phase(name, seconds, bytes, rows)
    result
  }
}
