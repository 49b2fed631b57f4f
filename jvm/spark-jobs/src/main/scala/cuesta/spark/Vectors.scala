package cuesta.spark

import org.apache.spark.util.SerializableConfiguration

/** 3-vectors of `.npy` files that follow one another, rounded to whole units of 2^-16.
  *
  * @param limit
  *   largest number, in either direction, with which every sum of a block is exact
  */
final case class Vectors(
    files: Seq[NpyArray],
    limit: Double,
    configuration: SerializableConfiguration
) {
  def count: Long = files.map(_.rows).sum

  def bytes: Long = files.map(_.bytes).sum

  /** Vectors from number `first` on, with their coordinates side by side. */
  def read(first: Long, count: Int): Array[Double] = {
    val found = new Array[Double](3 * count)
    var done = 0
    var begin = 0L
    for (file <- files) {
      val from = math.max(0L, first + done - begin)
      val rows = math.min(file.rows - from, (count - done).toLong).toInt
      if (rows > 0) {
        val values = file.read(from, rows, configuration.value)
        rounded(values, file, from).copyToArray(found, 3 * done)
        done += rows
      }
      begin += file.rows
    }
    found
  }

  private def rounded(values: Array[Double], file: NpyArray, first: Long): Array[Double] = {
    var index = 0
    while (index < values.length) {
      if (!(math.abs(values(index)) <= limit)) refuse(values(index), index, file, first)
      values(index) = math.rint(values(index) * Vectors.Units) / Vectors.Units
      index += 1
    }
    values
  }

  private def refuse(value: Double, index: Int, file: NpyArray, first: Long): Nothing = {
    val name = Inputs.plain(new org.apache.hadoop.fs.Path(file.path))
    throw new InputException(
      s"${Vectors.Operation}: coordinate ${index % 3 + 1} of point ${first + index / 3 + 1} of " +
        s"$name is $value; with this --block-vectors sums are exact up to $limit: give smaller " +
        "numbers, or fewer vectors a block"
    )
  }
}

object Vectors {
  private val Operation = "dataflow"
  private val Units = 65536.0

  /** Upper bound of the sum of the absolute values of a block. */
  private val SumMax = 1L << 37
  private val ShiftMax = 1000L
  private val BlocksMax = 1L << 24

  /** The files of the request; refuses what is no array of 3-vectors. */
  def open(job: Job, blockVectors: Int): Vectors = {
    val configuration = job.context.hadoopConfiguration
    val files = Inputs.behind(job, Operation, "files of vectors").map { file =>
      val array = NpyArray.open(file, Operation, configuration)
      if (array.columns != 3)
        throw new InputException(
          s"$Operation: ${Inputs.plain(file.getPath)} has ${array.columns} dimensions; dataflow " +
            "takes arrays of n x 3 numbers"
        )
      array
    }
    val limit = (SumMax / blockVectors - ShiftMax).toDouble
    val found = Vectors(files, limit, new SerializableConfiguration(configuration))
    if (found.count == 0) throw new InputException(s"$Operation: the files hold no vector")
    if ((found.count + blockVectors - 1) / blockVectors > BlocksMax)
      throw new InputException(
        s"$Operation: the files fill more than $BlocksMax blocks; give more --block-vectors"
      )
    found
  }
}
