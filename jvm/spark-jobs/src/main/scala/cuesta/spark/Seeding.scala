package cuesta.spark

import java.math.BigInteger

import org.apache.hadoop.fs.Path

/** First centres: given, the first points, or k-means++ on a sample. */
object Seeding {
  private val SampleMin = 1L << 16
  private val SampleACluster = 16L
  private val DrawStream = 1L
  private val ChooseStream = 2L
  private val TwoToMinus53 = 1.0 / (1L << 53)
  private val Two64 = BigInteger.ONE.shiftLeft(64)

  def centres(job: Job, points: Points, k: Int): Array[Array[Double]] =
    job.request.textOption("centres") match {
      case Some(file) => fromFile(job, points, k, file)
      case None =>
        job.request.text("init") match {
          case "first" => rows(points, (0L until k.toLong).toArray)
          case _ => plusPlus(job.request.seed.toLong, points, k)
        }
    }

  private def fromFile(job: Job, points: Points, k: Int, file: String): Array[Array[Double]] = {
    val path =
      if (file.contains("://")) file else s"file://${new java.io.File(file).getAbsolutePath}"
    val asked = job.request.copy(inputs = Seq(path))
    val found = Points.open(new Job(job.spark, asked))
    if (found.count != k || found.dimensions != points.dimensions)
      throw new InputException(
        s"kmeans: --centres ${Inputs.plain(new Path(path))} has ${found.count} rows of " +
          s"${found.dimensions} numbers, expected $k of ${points.dimensions}"
      )
    rows(found, (0L until k.toLong).toArray)
  }

  /** Some points by number, in the order given. */
  private def rows(points: Points, wanted: Array[Long]): Array[Array[Double]] = {
    val dimensions = points.dimensions
    val sorted = wanted.distinct.sorted
    val found = points.blocks.flatMap { block =>
      val count = block.rows.length / dimensions
      val from = insertion(sorted, block.first)
      val to = insertion(sorted, block.first + count)
      sorted.slice(from, to).map { number =>
        val start = ((number - block.first) * dimensions).toInt
        number -> block.rows.slice(start, start + dimensions)
      }
    }
    val byNumber = found.collect().toMap
    wanted.map(byNumber)
  }

  private def insertion(sorted: Array[Long], value: Long): Int = {
    val found = java.util.Arrays.binarySearch(sorted, value)
    if (found >= 0) found else -found - 1
  }

  /** Arthur and Vassilvitskii, 2007, on a stratified sample of the points. */
  private def plusPlus(seed: Long, points: Points, k: Int): Array[Array[Double]] = {
    val size = math.min(points.count, math.max(SampleMin, SampleACluster * k)).toInt
    val sample = rows(points, sampled(seed, points.count, size))
    val key = Random.key(seed, ChooseStream)
    var newest = sample(share(Random.word(key, 0), size.toLong).toInt)
    var chosen = Vector(newest)
    val nearest = Array.fill(size)(Double.PositiveInfinity)
    while (chosen.length < k) {
      for (index <- sample.indices)
        nearest(index) = math.min(nearest(index), KMeans.square(sample(index), 0, newest))
      val bar = (Random.word(key, chosen.length.toLong) >>> 11) * TwoToMinus53 * nearest.sum
      newest = sample(next(nearest, bar))
      chosen :+= newest
    }
    chosen.toArray
  }

  /** The first whose running sum exceeds the bar, else the furthest. */
  private def next(squares: Array[Double], bar: Double): Int = {
    val sums = squares.iterator.scanLeft(0.0)(_ + _).drop(1)
    val found = sums.indexWhere(_ > bar)
    if (found >= 0) found else squares.indexOf(squares.max)
  }

  private def sampled(seed: Long, count: Long, size: Int): Array[Long] = {
    val key = Random.key(seed, DrawStream)
    val starts = (0 to size).map { index =>
      BigInteger.valueOf(count).multiply(BigInteger.valueOf(index.toLong))
        .divide(BigInteger.valueOf(size.toLong)).longValue
    }
    Array.tabulate(size) { index =>
      val start = starts(index)
      start + share(Random.word(key, index.toLong), starts(index + 1) - start)
    }
  }

  /** floor(word / 2^64 * count), the word without sign. */
  private def share(word: Long, count: Long): Long = {
    val unsigned = BigInteger.valueOf(word).add(if (word < 0) Two64 else BigInteger.ZERO)
    unsigned.multiply(BigInteger.valueOf(count)).shiftRight(64).longValue
  }
}
