package cuesta.spark

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession

/** All workloads by name. */
object Jobs {
  private val workloads: Map[String, Job => Map[String, Long]] = Map(
    "dataflow" -> Dataflow.run,
    "scan" -> Scan.run,
    "join" -> Join.run,
    "degrees" -> Degrees.run,
    "communities" -> Communities.run,
    "sort" -> Sort.run,
    "kmeans" -> KMeans.run
  )

  /** Names of the workloads, separated by commas. */
  def names: String = workloads.keys.toSeq.sorted.mkString(",")

  /** Computes the answer that a request (JSON) asks for; the response (JSON) has times, counts. */
  def run(spark: SparkSession, request: String): String = {
    val job = new Job(spark, Request.parse(request))
    val workload = workloads.getOrElse(
      job.request.workload,
      throw new InputException(s"engine spark-scala does not run ${job.request.workload}")
    )
    val kept = job.context.getPersistentRDDs.keySet
    val (counts, held) =
      try workload(job) -> cached(job.context, kept)
      finally forget(job.context, kept)
    Response.toJson(job.clock.phases, counts, held)
  }

  /** Bytes that a run has in the caches at its end: in memory, and on disk. */
  private def cached(context: SparkContext, kept: scala.collection.Set[Int]): Map[String, Long] = {
    val own = context.getRDDStorageInfo.filter(one => !kept(one.id))
    Map(
      "cached_memory_bytes" -> own.map(_.memSize).sum,
      "cached_disk_bytes" -> own.map(_.diskSize).sum
    )
  }

  /** Takes out of the caches what a run has left there, GraphX's own RDDs included. */
  private def forget(context: SparkContext, kept: scala.collection.Set[Int]): Unit =
    for ((id, rows) <- context.getPersistentRDDs if !kept(id)) rows.unpersist(blocking = true)
}
