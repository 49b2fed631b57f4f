package cuesta.spark

import java.nio.charset.StandardCharsets.ISO_8859_1

import scala.util.{Try, Using}

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.functions.col
import org.apache.spark.util.SerializableConfiguration

/** Points that follow one another, row by row, from point `first` on. */
final case class Block(first: Long, rows: Array[Double])

/** All points, in order. */
final case class Points(blocks: RDD[Block], count: Long, dimensions: Int)

/** Reads points: `.npy` of two dimensions, Parquet, or text with a point a line. */
object Points {
  private val Operation = "input.points"
  private val BlockNumbers = 1 << 18
  private val CoordinateMax = 1e150

  /** Least of the largest coordinates, far above the resolution of a [[Grid]]. */
  val LargestMin = 1e-100

  def open(job: Job): Points = {
    val files = Inputs.behind(job, Operation, "files of points")
    if (files.isEmpty) throw new InputException(s"$Operation: no file; give points as .npy or text")
    val opened = files.map(read(job, _))
    val dimensions = opened.head._1.dimensions
    for ((other, file) <- opened.map(_._1).zip(files) if other.dimensions != dimensions)
      throw new InputException(
        s"$Operation: ${Inputs.plain(file.getPath)} has ${other.dimensions} dimensions, " +
          s"${Inputs.plain(files.head.getPath)} has $dimensions; give points of equal dimensions"
      )
    val single = job.request.text("dtype") match {
      case "auto" => opened.forall { case (_, single) => single }
      case name => name == "float32"
    }
    val firsts = opened.map(_._1.count).scanLeft(0L)(_ + _)
    val blocks = opened.zip(firsts).map { case ((points, _), first) =>
      points.blocks.map { block =>
        checked(block.copy(first = block.first + first), dimensions, single)
      }
    }
    Points(job.context.union(blocks), firsts.last, dimensions)
  }

  /** Rounds to single precision where that is asked for; refuses what is no finite number. */
  private def checked(block: Block, dimensions: Int, single: Boolean): Block = {
    val rows = if (single) block.rows.map(_.toFloat.toDouble) else block.rows
    val index = rows.indexWhere(value => !(math.abs(value) <= CoordinateMax))
    if (index >= 0)
      throw new InputException(
        s"$Operation: coordinate ${index % dimensions + 1} of point " +
          s"${block.first + index / dimensions + 1} is ${rows(index)}; give numbers of at most " +
          s"$CoordinateMax"
      )
    block.copy(rows = rows)
  }

  /** The points of a file, and whether it holds single precision. */
  private def read(job: Job, file: FileStatus): (Points, Boolean) = {
    val configuration = job.context.hadoopConfiguration
    val whole = Split(file.getPath.toString, 0, file.getLen)
    val start = new Array[Byte](math.min(6, file.getLen).toInt)
    Using.resource(Inputs.open(whole, configuration))(_.readFully(start))
    val magic = new String(start, ISO_8859_1)
    if (magic == "\u0093NUMPY") numpy(job, file)
    else if (magic.startsWith("PAR1")) (parquet(job, file.getPath), false)
    else (text(job, file.getPath), false)
  }

  private def parquet(job: Job, path: Path): Points = {
    val frame = job.spark.read.parquet(Inputs.escaped(path))
    val doubles = frame.select(frame.columns.map(name => col(s"`$name`").cast("double")).toSeq: _*)
    numbered(doubles.rdd.map(row => Array.tabulate(row.size)(row.getDouble)))
  }

  private def text(job: Job, path: Path): Points = {
    val name = Inputs.plain(path)
    val lines = Inputs.lines(job, path).map(_.trim)
    numbered(lines.filter(line => line.nonEmpty && !line.startsWith("#")).map { line =>
      line.split("[,;\\s]+").map { field =>
        // Java's own reader takes the `d` and `f` of its literals for part of a number.
        val number = if (field.last.isLetter) None else Try(field.toDouble).toOption
        number.getOrElse(
          throw new InputException(s"$Operation: $name has \"$field\", expected a number")
        )
      }
    })
  }

  /** Rows of partitions in order as blocks with numbers. */
  private def numbered(rows: RDD[Array[Double]]): Points = {
    val counts = rows.mapPartitions { part =>
      val found = part.map(_.length).toArray
      Iterator((found.length.toLong, found.distinct.toSeq))
    }.collect()
    val widths = counts.flatMap(_._2).distinct
    if (widths.length > 1)
      throw new InputException(
        s"$Operation: lines have ${widths.sorted.mkString(" and ")} numbers; give all points as " +
          "many"
      )
    val firsts = counts.map(_._1).scanLeft(0L)(_ + _)
    val dimensions = widths.headOption.getOrElse(1)
    val blocks = rows.mapPartitionsWithIndex { (part, rows) =>
      val size = math.max(1, BlockNumbers / dimensions)
      rows.grouped(size).zipWithIndex.map { case (group, index) =>
        Block(firsts(part) + index.toLong * size, group.toArray.flatten)
      }
    }
    Points(blocks, firsts.last, dimensions)
  }

  private def numpy(job: Job, file: FileStatus): (Points, Boolean) = {
    val array = NpyArray.open(file, Operation, job.context.hadoopConfiguration)
    val size = math.max(1, BlockNumbers / array.columns)
    val firsts = 0L until array.rows by size.toLong
    val configuration = new SerializableConfiguration(job.context.hadoopConfiguration)
    val tasks = math.max(1, math.min(firsts.length, job.partitions))
    val hosts = Inputs.hostsOf(file, job.context.hadoopConfiguration)
    val placed = (0 until tasks).map { task =>
      def edge(number: Int): Int = (number.toLong * firsts.length / tasks).toInt
      val own = firsts.slice(edge(task), edge(task + 1))
      val bytes = array.bytesOf(own.length * size.toLong)
      own -> own.headOption.toSeq.flatMap(first => hosts(array.offset(first), bytes))
    }
    val blocks = job.context.makeRDD(placed).flatMap(identity).map { first =>
      val count = math.min(size.toLong, array.rows - first).toInt
      Block(first, array.read(first, count, configuration.value))
    }
    (Points(blocks, array.rows, array.columns), array.single)
  }
}
