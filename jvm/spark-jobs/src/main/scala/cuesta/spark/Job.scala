package cuesta.spark

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession

/** What a workload is given to run with. */
final class Job(val spark: SparkSession, val request: Request) {
  val clock = new Clock

  def context: SparkContext = spark.sparkContext

  /** Tasks of a stage that nothing else decides: what the user said, or three a slot. */
  def partitions: Int = request.partitions.getOrElse(Job.TasksASlot * context.defaultParallelism)
}

object Job {
  val TasksASlot = 3
}

/** What the user can mend in the arguments or the data.
  *
  * The signs around the message let the caller find it in any stack trace.
  */
final class InputException(message: String)
    extends IllegalArgumentException(s"<cuesta-refuses>$message</cuesta-refuses>")
