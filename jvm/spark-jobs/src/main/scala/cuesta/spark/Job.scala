package cuesta.spark

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession

/** Session, request and clock of a run of a workload. */
final class Job(val spark: SparkSession, val request: Request) {
  val clock = new Clock

  def context: SparkContext = spark.sparkContext

  /** Tasks of a stage that nothing else decides: as the user set, or three per slot. */
  def partitions: Int = request.partitions.getOrElse(Job.TasksASlot * context.defaultParallelism)
}

object Job {
  val TasksASlot = 3
}

/** A fault in the arguments or the data that the user can correct.
  *
  * The signs around the message let the caller find it in any stack trace.
  */
final class InputException(message: String)
    extends IllegalArgumentException(s"<cuesta-refuses>$message</cuesta-refuses>")
