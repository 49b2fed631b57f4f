package cuesta.spark

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{BlockLocation, FSDataInputStream, FileStatus, FileSystem, Path}
import org.apache.hadoop.io.{LongWritable, Text}
import org.apache.hadoop.mapred.{FileInputFormat, JobConf, TextInputFormat}
import org.apache.spark.rdd.RDD

/** A piece of a file, and the hosts that hold most of it. */
final case class Split(file: String, offset: Long, bytes: Long, hosts: Seq[String] = Nil)

/** Files through Hadoop's file systems, of which the local one is one. */
object Inputs {
  private val HostsMax = 3

  /** Status of the file at a path, or a refusal in one line. */
  def status(path: Path, operation: String, configuration: Configuration): FileStatus =
    try FileSystem.get(path.toUri, configuration).getFileStatus(path)
    catch {
      case _: FileNotFoundException =>
        throw new InputException(
          s"$operation: opening ${plain(path)} failed: No such file or directory; check the path"
        )
    }

  /** The inputs; a folder stands for the files in it by name, but for hidden and marker files. */
  def behind(job: Job, operation: String, what: String): Seq[FileStatus] = {
    val configuration = job.context.hadoopConfiguration
    job.request.inputs.map(new Path(_)).flatMap { path =>
      val found = status(path, operation, configuration)
      if (found.isFile) Seq(found)
      else {
        val inside = FileSystem.get(path.toUri, configuration).listStatus(path).toSeq
        val visible = inside.filter(one => one.isFile && !"._".contains(one.getPath.getName.head))
        if (visible.isEmpty)
          throw new InputException(s"$operation: ${plain(path)} has no $what in it")
        visible.sortBy(_.getPath.getName)
      }
    }
  }

  /** Whether a file has no blocks that its file system would rather have read one by one. */
  def isLocal(file: FileStatus): Boolean =
    Option(file.getPath.toUri.getScheme).forall(_ == "file")

  /** Pieces of a file of about so many bytes, each with its hosts.
    *
    * On a local file system all but the last have exactly `bytes`. Elsewhere a block is cut into
    * equal pieces, so that a piece lies in one block, and there are no fewer pieces than blocks.
    *
    * @param unit
    *   bytes of a record, of which a piece holds whole ones; `bytes` is a multiple of it
    */
  def cut(
      file: FileStatus,
      bytes: Long,
      configuration: Configuration,
      unit: Int = 1
  ): Seq[Split] = {
    val ends =
      if (isLocal(file)) bytes until file.getLen by bytes
      else {
        val block = math.min(file.getBlockSize, file.getLen).max(1L)
        val pieces = (block + bytes - 1) / bytes
        val starts = 0L until file.getLen by block
        starts.flatMap(start => (1L to pieces).map(piece => start + block * piece / pieces))
      }
    val whole = ends.map(end => end - end % unit).filter(_ < file.getLen) :+ file.getLen
    val hosts = hostsOf(file, configuration)
    (0L +: whole).distinct.sliding(2).collect { case Seq(from, end) =>
      Split(file.getPath.toString, from, end - from, hosts(from, end - from))
    }.toSeq
  }

  /** Hosts of some bytes of a file, those with most of them first. */
  def hostsOf(file: FileStatus, configuration: Configuration): (Long, Long) => Seq[String] =
    if (isLocal(file)) (_, _) => Nil
    else {
      val system = FileSystem.get(file.getPath.toUri, configuration)
      val blocks = system.getFileBlockLocations(file, 0, file.getLen).toSeq
      (offset, bytes) => hostsOf(blocks, offset, bytes)
    }

  private[spark] def hostsOf(blocks: Seq[BlockLocation], offset: Long, bytes: Long): Seq[String] = {
    val shares = for {
      block <- blocks
      from = math.max(offset, block.getOffset)
      end = math.min(offset + bytes, block.getOffset + block.getLength)
      if end > from
      // What a file system without places says, too.
      host <- block.getHosts if host != "localhost"
    } yield host -> (end - from)
    val held = shares.groupMapReduce(_._1)(_._2)(_ + _)
    held.toSeq.sortBy { case (host, share) => (-share, host) }.take(HostsMax).map(_._1)
  }

  /** The file of a piece, at its first byte. */
  def open(split: Split, configuration: Configuration): FSDataInputStream = {
    val path = new Path(split.file)
    val stream = FileSystem.get(path.toUri, configuration).open(path)
    stream.seek(split.offset)
    stream
  }

  /** The lines of a file, whatever is in its name: `textFile` takes a list of patterns. */
  def lines(job: Job, path: Path): RDD[String] = {
    val settings = new JobConf(job.context.hadoopConfiguration)
    FileInputFormat.setInputPaths(settings, new Path(escaped(path)))
    val (place, line) = (classOf[LongWritable], classOf[Text])
    job.context.hadoopRDD(settings, classOf[TextInputFormat], place, line).map(_._2.toString)
  }

  /** A path that Hadoop takes as it is, whatever characters of a pattern are in it. */
  def escaped(path: Path): String = path.toString.replaceAll("([\\[\\]{}*?\\\\])", "\\\\$1")

  /** A path as the user would write it. */
  def plain(path: Path): String =
    if (path.toUri.getScheme == "file") path.toUri.getPath else path.toString
}
