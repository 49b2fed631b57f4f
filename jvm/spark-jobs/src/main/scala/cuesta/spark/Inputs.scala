package cuesta.spark

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FileStatus, FileSystem, Path}

/** A piece of a file. */
final case class Split(file: String, offset: Long, bytes: Long)

/** Files through Hadoop's file systems, of which the local one is one. */
object Inputs {

  /** What is at a path, or a refusal in one line. */
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

  /** Pieces of a file, all but the last of so many bytes. */
  def cut(file: FileStatus, bytes: Long): Seq[Split] =
    (0L until file.getLen by bytes).map { offset =>
      Split(file.getPath.toString, offset, math.min(bytes, file.getLen - offset))
    }

  /** The file of a piece, at its first byte. */
  def open(split: Split, configuration: Configuration): FSDataInputStream = {
    val path = new Path(split.file)
    val stream = FileSystem.get(path.toUri, configuration).open(path)
    stream.seek(split.offset)
    stream
  }

  /** A path as the user would write it. */
  def plain(path: Path): String =
    if (path.toUri.getScheme == "file") path.toUri.getPath else path.toString
}
