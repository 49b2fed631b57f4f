package cuesta.spark

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.hadoop.io.compress.CompressionCodecFactory
import org.apache.hadoop.mapreduce.TaskAttemptID
import org.apache.hadoop.mapreduce.lib.input.{FileSplit, LineRecordReader}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.spark.rdd.RDD
import org.apache.spark.util.SerializableConfiguration

/** A row that passes, with its line. */
final case class Hit(row: GenePair, line: String)

/** A version of a dataset: its files, divided into splits, in the order of their names. */
final class GenePairs private (
    job: Job,
    pieces: Seq[Seq[Split]],
    val shape: Shape,
    val filesSkipped: Long,
    version: String
) {
  private val filter = Filter.of(job.request)
  private val tally = Tally.register(job.context, s"rows $version")

  def bytes: Long = pieces.flatten.map(_.bytes).sum

  /** Rows read so far; a row that was read again counts once. */
  def rowsRead: Long = tally.total(0)

  /** Rows read so far that passed the filter; a row that was read again counts once. */
  def rowsKept: Long = tally.total(1)

  /** The rows of `hits`, cached where the options say so; the phase `load` fills the cache. */
  def cachedHits: RDD[Hit] = {
    val options = job.request.options
    if (options.cachesInputs)
      job.clock.phase("load", Some(bytes), Some(rowsRead)) {
        val kept = hits.persist(options.level)
        kept.count()
        kept
      }
    else hits
  }

  /** The rows that pass the filter; partitions are the pieces, in the order of the input. */
  def hits: RDD[Hit] = {
    val (shape, filter, tally) = (this.shape, this.filter, this.tally)
    val genes = job.request.intOption("genes")
    val configuration = GenePairs.configuration(job)
    val placed = pieces.zipWithIndex.map { case (splits, piece) =>
      (piece, splits) -> splits.flatMap(_.hosts).distinct
    }
    job.context.makeRDD(placed).flatMap { case (piece, splits) =>
      var read, kept = 0L
      val lines = splits.iterator.flatMap { split =>
        GenePairs.linesOf(split, configuration.value).map { case (number, line) =>
          (split, number, line)
        }
      }
      val found = lines.filterNot { case (_, _, line) => GenePair.isBlank(line) }.flatMap {
        case (split, number, line) =>
          read += 1
          val hit = for {
            row <- GenePair.parse(line, shape)
            passes <- filter.passes(row)
            _ <- genes.filter(passes && row.gene1 > _).toLeft(()).left.map { most =>
              s"has gene ${row.gene1}, but --genes says there are $most"
            }
          } yield Option.when(passes)(Hit(row, line))
          hit.fold(
            what => throw GenePairs.atLine(split, number, what, configuration.value),
            found => {
              if (found.isDefined) kept += 1
              found
            }
          )
      }
      tally.counting(piece, found)(Seq(read, kept))
    }
  }
}

object GenePairs {
  private val SplitBytesMin = 1L << 20
  private val SplitBytesMax = 64L << 20

  /** Lists the files of the inputs and cuts them into splits; `version` names the counters.
    *
    * Errors: InputException for inputs without a file or without a gene pair.
    */
  def open(job: Job, inputs: Seq[String], version: String = ""): GenePairs = {
    val configuration = job.context.hadoopConfiguration
    val all = inputs.flatMap(input => list(new Path(input), configuration))
    val named = s"input.kinc: ${inputs.mkString(", ")}"
    if (all.isEmpty) throw new InputException(s"$named holds no file; give KINC text")
    val filter = Filter.of(job.request)
    val files = all.filter(file => zoneOf(file.getPath).forall(filter.mayPass))
    val codecs = new CompressionCodecFactory(configuration)
    val splitBytes = pieceBytes(job, files)
    val splits = files.flatMap(cut(_, splitBytes, codecs, configuration))
    // On a distributed file system each split is a piece, so that its task runs where its block is.
    val pieces =
      if (files.forall(Inputs.isLocal)) packed(splits, splitBytes) else splits.map(Seq(_))
    val shape = firstShape(all.iterator, configuration).getOrElse(
      throw new InputException(s"$named holds no gene pair; give KINC text")
    )
    new GenePairs(job, pieces, shape, (all.length - files.length).toLong, version)
  }

  private def configuration(job: Job) =
    new SerializableConfiguration(job.context.hadoopConfiguration)

  private def list(path: Path, configuration: Configuration): Seq[FileStatus] = {
    val found = Inputs.status(path, "input.kinc", configuration)
    walk(FileSystem.get(path.toUri, configuration), found)
  }

  private def walk(system: FileSystem, status: FileStatus): Seq[FileStatus] =
    if (status.isFile) Seq(status)
    else if (system.exists(new Path(status.getPath, "zarr.json")))
      throw new InputException(
        s"engine spark-scala reads text, and ${Inputs.plain(status.getPath)} is a pair matrix; " +
          "take engine native"
      )
    else
      system.listStatus(status.getPath).toSeq.sortBy(_.getPath.getName).flatMap { child =>
        val name = child.getPath.getName
        // Lines of a folder `skipped` have no score at all.
        val unscored = inTree(status.getPath) && name == "skipped"
        if (name.startsWith(".") || unscored) Nil else walk(system, child)
      }

  private def inTree(folder: Path): Boolean = folder.getName.startsWith("clusters-")

  /** The values of `clusters-&#42;/NNN`: NNN is |score| in hundredths, before it was rounded. */
  private[spark] def zoneOf(file: Path): Option[Zone] = {
    val folder = file.getParent
    if (folder == null || folder.getParent == null || !inTree(folder.getParent)) None
    else
      folder.getName match {
        case "nan" => Some(Zone(Int.MaxValue, Int.MaxValue))
        case name if name.matches("\\d{3}") && name.toInt <= 100 =>
          Some(Zone(name.toInt * 10000 - 1, (name.toInt + 1) * 10000))
        case _ => None
      }
  }

  /** About how long a split should be: on a distributed file system a block, unless there are too
    * few for all cores or the user has named a number of tasks.
    */
  private def pieceBytes(job: Job, files: Seq[FileStatus]): Long = {
    val bytes = files.map(_.getLen).sum
    val local = files.forall(Inputs.isLocal)
    val tasks =
      if (local) job.partitions
      else job.request.partitions.getOrElse(job.context.defaultParallelism)
    math.max(bytes / tasks + 1, SplitBytesMin).min(if (local) SplitBytesMax else Long.MaxValue)
  }

  /** Neighbours put together up to so many bytes: a tree has a hundred files, however small. */
  private[spark] def packed(splits: Seq[Split], most: Long): Seq[Seq[Split]] =
    splits.foldLeft((Vector.empty[Vector[Split]], 0L)) { case ((pieces, bytes), split) =>
      if (pieces.nonEmpty && bytes + split.bytes <= most)
        (pieces.init :+ (pieces.last :+ split), bytes + split.bytes)
      else (pieces :+ Vector(split), split.bytes)
    }._1

  /** Pieces of a file; the lines of a piece are those that start in it. */
  private def cut(
      file: FileStatus,
      bytes: Long,
      codecs: CompressionCodecFactory,
      configuration: Configuration
  ): Seq[Split] =
    if (codecs.getCodec(file.getPath) == null) Inputs.cut(file, bytes, configuration)
    else {
      val hosts = Inputs.hostsOf(file, configuration)(0, file.getLen)
      Seq(Split(file.getPath.toString, 0, file.getLen, hosts))
    }

  private def firstShape(files: Iterator[FileStatus], configuration: Configuration) = {
    val found = files.flatMap { file =>
      val split = Split(file.getPath.toString, 0, file.getLen)
      val first = linesOf(split, configuration).find { case (_, line) => !GenePair.isBlank(line) }
      first.map { case (number, line) =>
        val shape = GenePair.shapeOf(line)
        shape.fold(what => throw atLine(split, number, what, configuration), identity)
      }
    }
    found.nextOption()
  }

  /** The lines of a split with their numbers in it, read as Hadoop does: gzip and CRLF too. */
  private def linesOf(split: Split, configuration: Configuration): Iterator[(Long, String)] = {
    val reader = new LineRecordReader
    val piece = new FileSplit(new Path(split.file), split.offset, split.bytes, Array.empty)
    reader.initialize(piece, new TaskAttemptContextImpl(configuration, new TaskAttemptID))
    val lines = Iterator
      .continually(if (reader.nextKeyValue()) Some(reader.getCurrentValue.toString) else None)
      .takeWhile { line =>
        if (line.isEmpty) reader.close()
        line.isDefined
      }
      .flatten
    lines.zipWithIndex.map { case (line, index) => (index + 1L, line) }
  }

  private def atLine(
      split: Split,
      number: Long,
      what: String,
      configuration: Configuration
  ): InputException = {
    val before = if (split.offset == 0) 0L else linesBefore(split, configuration)
    new InputException(
      s"input.kinc: line ${before + number} of ${Inputs.plain(new Path(split.file))} $what"
    )
  }

  /** Counted only for a message. A split after the first begins with the first whole line in it. */
  private def linesBefore(split: Split, configuration: Configuration): Long =
    linesOf(Split(split.file, 0, split.offset), configuration).size.toLong
}
