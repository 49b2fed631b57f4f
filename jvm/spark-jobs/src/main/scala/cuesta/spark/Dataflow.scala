package cuesta.spark

import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.{Files, Path}

import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/** Blocks of 3-vectors: generate, shift, average, reduce. What an engine itself costs. */
object Dataflow {

  /** Coordinates are whole multiples of 2^-16, so all sums of doubles below are exact. */
  private val Units = 65536.0
  private val Stream = 5L
  private val Header = "block\tvectors\tsum_x\tsum_y\tsum_z\tmean_x\tmean_y\tmean_z\n"

  /** Parameters; all blocks but the last have `blockVectors` vectors. */
  final case class Plan(
      vectors: Long,
      blockVectors: Int,
      shift: Vector3,
      seed: Long,
      stored: Option[Vectors]
  ) {
    def blocks: Long = (vectors + blockVectors - 1) / blockVectors

    def first(block: Long): Long = block * blockVectors

    def vectorsOf(block: Long): Int = math.min(blockVectors.toLong, vectors - first(block)).toInt
  }

  final case class Vector3(x: Double, y: Double, z: Double)

  /** Sums of the coordinates of a block, in units. */
  final case class Sums(x: Long, y: Long, z: Long) {
    def total: Total = Total(BigInt(x), BigInt(y), BigInt(z))
  }

  /** Sums of many blocks, which may not fit in a `Long`. */
  final case class Total(x: BigInt, y: BigInt, z: BigInt) {
    def +(other: Total): Total = Total(x + other.x, y + other.y, z + other.z)

    def axes: Seq[BigInt] = Seq(x, y, z)
  }

  def run(job: Job): Map[String, Long] = {
    val plan = makePlan(job)
    val keep = job.request.text("keep")
    val tasks =
      job.request.partitions.getOrElse(math.min(job.partitions.toLong, plan.blocks).toInt)
    val numbers = job.context.range(0, plan.blocks, 1, tasks)
    val sums =
      if (keep != "none") staged(job, plan, numbers, keep)
      else
        job.clock.phase("pipeline", plan.stored.map(_.bytes), Some(plan.vectors)) {
          if (job.request.text("stages") == "fused" && plan.stored.isEmpty)
            computed(numbers.map(fused(plan, _)))
          else computed(numbers.map(make(plan, _)).map(shift(_, plan.shift)).map(sum))
        }
    try {
      val rows = Some(plan.blocks)
      val total = job.clock.phase("reduce", rows = rows)(sums.map(_.total).reduce(_ + _))
      job.clock.phase("write", rows = rows) {
        write(Path.of(job.request.output, "averages.tsv"), plan, (sums.collect(), total))
      }
    } finally sums.unpersist(blocking = true)
    Map("blocks" -> plan.blocks, "vectors" -> plan.vectors, "partitions" -> tasks.toLong)
  }

  private def makePlan(job: Job): Plan = {
    val request = job.request
    val blockVectors = request.int("block_vectors")
    val stored = if (request.inputs.isEmpty) None else Some(Vectors.open(job, blockVectors))
    Plan(
      vectors = stored.fold(request.int("blocks").toLong * blockVectors)(_.count),
      blockVectors = blockVectors,
      shift = shiftOf(request.text("shift")),
      seed = request.seed.toLong,
      stored = stored
    )
  }

  private def staged(job: Job, plan: Plan, numbers: RDD[Long], keep: String): RDD[Sums] = {
    val level = if (keep == "memory") StorageLevel.MEMORY_AND_DISK else StorageLevel.DISK_ONLY
    val rows = Some(plan.vectors)
    val once = plan.vectors * 3 * java.lang.Double.BYTES
    val fileBytes = plan.stored.fold(0L)(_.bytes)
    val first = if (plan.stored.isEmpty) "generate" else "load"
    val made = numbers.map(make(plan, _)).persist(level)
    val shifted = made.map(block => shift(block.clone(), plan.shift)).persist(level)
    try {
      job.clock.phase(first, Some(fileBytes + once), rows)(made.count())
      job.clock.phase("shift", Some(2 * once), rows)(shifted.count())
      job.clock.phase("average", Some(once), rows)(computed(shifted.map(sum)))
    } finally {
      shifted.unpersist(blocking = true)
      made.unpersist(blocking = true)
    }
  }

  /** The sums of the blocks, kept where they were computed. */
  private def computed(sums: RDD[Sums]): RDD[Sums] = {
    sums.persist(StorageLevel.MEMORY_AND_DISK).count()
    sums
  }

  /** Three numbers, rounded to whole units half away from zero. The caller has checked them. */
  private[spark] def shiftOf(text: String): Vector3 = {
    val axes = text.split(',').map { field =>
      val value = field.trim.toDouble
      math.signum(value) * math.floor(math.abs(value) * Units + 0.5) / Units
    }
    Vector3(axes(0), axes(1), axes(2))
  }

  /** A block, read where there are files, else generated. */
  private def make(plan: Plan, block: Long): Array[Double] =
    plan.stored.fold(generate(plan, block)) { stored =>
      stored.read(plan.first(block), plan.vectorsOf(block))
    }

  private[spark] def generate(plan: Plan, block: Long): Array[Double] = {
    val key = Random.key(plan.seed, Stream)
    val first = plan.first(block)
    val vectors = new Array[Double](3 * plan.vectorsOf(block))
    var index = 0
    while (3 * index < vectors.length) {
      val word = Random.word(key, first + index)
      vectors(3 * index) = coordinate(word)
      vectors(3 * index + 1) = coordinate(word >>> 20)
      vectors(3 * index + 2) = coordinate(word >>> 40)
      index += 1
    }
    vectors
  }

  /** Adds a vector to each, in place. */
  private[spark] def shift(block: Array[Double], by: Vector3): Array[Double] = {
    var index = 0
    while (index < block.length) {
      block(index) += by.x
      block(index + 1) += by.y
      block(index + 2) += by.z
      index += 3
    }
    block
  }

  private[spark] def sum(block: Array[Double]): Sums = {
    var x, y, z = 0.0
    var index = 0
    while (index < block.length) {
      x += block(index)
      y += block(index + 1)
      z += block(index + 2)
      index += 3
    }
    Sums((x * Units).toLong, (y * Units).toLong, (z * Units).toLong)
  }

  /** All stages of a block, without a block. */
  private[spark] def fused(plan: Plan, block: Long): Sums = {
    val key = Random.key(plan.seed, Stream)
    val first = plan.first(block)
    val by = plan.shift
    val count = plan.vectorsOf(block)
    var x, y, z = 0.0
    var index = 0
    while (index < count) {
      val word = Random.word(key, first + index)
      x += coordinate(word) + by.x
      y += coordinate(word >>> 20) + by.y
      z += coordinate(word >>> 40) + by.z
      index += 1
    }
    Sums((x * Units).toLong, (y * Units).toLong, (z * Units).toLong)
  }

  private def coordinate(word: Long): Double = (word & 0xfffff) * (125 / Units) - 1000.0

  /** Writes the sums and means of each block, a line each, and those of all vectors. */
  private def write(path: Path, plan: Plan, results: (Array[Sums], Total)): Unit = {
    val (sums, total) = results
    val text = new StringBuilder(Header)
    for ((sum, block) <- sums.zipWithIndex)
      appendLine(text, block.toString, plan.vectorsOf(block.toLong).toLong, sum.total.axes)
    appendLine(text, "all", plan.vectors, total.axes)
    Files.write(path, text.toString.getBytes(US_ASCII))
    ()
  }

  /** Appends a line: block, number of vectors, sums in units of 2^-16, means as decimals. */
  private def appendLine(
      text: StringBuilder,
      block: String,
      vectors: Long,
      sums: Seq[BigInt]
  ): Unit = {
    val fields = Seq(block, vectors.toString) ++ sums.map(_.toString) ++ sums.map(mean(_, vectors))
    text ++= fields.mkString("", "\t", "\n")
  }

  /** Six decimals, half away from zero, from whole numbers. */
  private[spark] def mean(total: BigInt, vectors: Long): String = {
    val divisor = BigInt(vectors) * Units.toLong
    val rounded = (total.abs * 2000000 + divisor) / (divisor * 2)
    val sign = if (total < 0 && rounded > 0) "-" else ""
    f"$sign${rounded / 1000000}%s.${(rounded % 1000000).toInt}%06d"
  }
}
