package cuesta.spark

import org.apache.spark.storage.StorageLevel

/** Options of the execution of a run, none of which changes the answer. All may be left out.
  *
  * @param keys
  *   of `join`: `number`, or `text` for those of ArrayBench
  * @param cache
  *   which RDDs a run finds in the cache: `auto` leaves it to the workload, `output` and `all` are
  *   for `join`
  * @param level
  *   where and how an RDD is kept
  */
final case class Options(
    keys: String = "number",
    cache: String = "auto",
    level: StorageLevel = StorageLevel.MEMORY_AND_DISK
) {
  def cachesInputs: Boolean = Set("inputs", "all")(cache)
  def cachesOutput: Boolean = Set("output", "all")(cache)
}

object Options {

  /** `memory-and-disk-ser` and the like, as Spark's own names are written in capitals. */
  def levelOf(name: String): StorageLevel =
    StorageLevel.fromString(name.toUpperCase.replace('-', '_'))
}
