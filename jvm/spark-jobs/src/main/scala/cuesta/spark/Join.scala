package cuesta.spark

import java.nio.file.Path

import org.apache.spark.rdd.RDD

/** Two versions matched on (gene1, gene2, cluster). */
object Join {
  private val Header = "gene1\tgene2\tcluster\tside\tscore_a\tscore_b\tdifference\n"

  private[spark] type Key = (Int, Int, Int)

  /** Both scores of a key; one of them may be missing. */
  private[spark] final case class Match(key: Key, a: Option[Int], b: Option[Int])

  /** A way to join.
    *
    * @tparam J
    *   what a row of the join itself is
    */
  private[spark] trait Program[J] {

    /** The RDDs that are joined. */
    def inputs: Seq[RDD[_]]

    /** Whether `joined` reads the inputs more than once. */
    def rereadsInputs: Boolean

    /** A new join of the inputs, with a shuffle of its own. */
    def joined(): RDD[J]

    /** Gives the matches, in the order of their keys, to `write`; times what it does. */
    def finish(joined: => RDD[J], write: RDD[Match] => Unit): Unit
  }

  def run(job: Job): Map[String, Long] = {
    val (left, right) = job.clock.phase("open") {
      val inputs = job.request.inputs
      (GenePairs.open(job, inputs.take(1), "a"), GenePairs.open(job, inputs.drop(1), "b"))
    }
    val sides = Tally.register(job.context, "matches")
    val write = (matches: RDD[Match]) => writeMatches(job, matches, sides)
    job.request.options.keys match {
      case "text" => run(job, new TextJoin(job, left, right), write)
      case _ => run(job, new RangeJoin(job, left, right), write)
    }
    Map(
      "rows_read" -> (left.rowsRead + right.rowsRead),
      "rows_kept" -> (left.rowsKept + right.rowsKept),
      "both" -> sides.total(0),
      "left_only" -> sides.total(1),
      "right_only" -> sides.total(2)
    )
  }

  /** Joins from what the options say is cached; what fills the cache is a phase of its own. */
  private def run[J](job: Job, program: Program[J], write: RDD[Match] => Unit): Unit = {
    val options = job.request.options
    if (options.cachesInputs || (options.cache == "auto" && program.rereadsInputs))
      program.inputs.foreach(_.persist(options.level))
    def joined(): RDD[J] = {
      val made = program.joined()
      if (options.cachesOutput) made.persist(options.level) else made
    }
    val loaded = Option.when(options.cachesInputs || options.cachesOutput) {
      job.clock.phase("load") {
        val made = joined()
        made.count()
        made
      }
    }
    program.finish(loaded.filter(_ => options.cachesOutput).getOrElse(joined()), write)
  }

  private def writeMatches(job: Job, matches: RDD[Match], sides: Tally): Unit = {
    val how = job.request.text("how")
    val lines = matches.mapPartitionsWithIndex { (part, all) =>
      var both, left, right = 0L
      val found = all.filter(one => how match {
        case "inner" => one.a.isDefined && one.b.isDefined
        case "left" => one.a.isDefined
        case _ => true
      })
      val counted = found.map { one =>
        if (one.b.isEmpty) left += 1 else if (one.a.isEmpty) right += 1 else both += 1
        line(one)
      }
      sides.counting(part, counted)(Seq(both, left, right))
    }
    Answer.writeLines(lines, Path.of(job.request.output, "pairs.tsv"), Header)
    ()
  }

  private[spark] def twice(key: Key, version: String): InputException =
    new InputException(
      s"join: version $version has gene pair ${key._1} ${key._2} cluster ${key._3} twice; " +
        "remove one of them"
    )

  private def line(matched: Match): String = {
    val Match((gene1, gene2, cluster), a, b) = matched
    val side = if (b.isEmpty) "left" else if (a.isEmpty) "right" else "both"
    val difference = for (scoreA <- a; scoreB <- b) yield scoreB.toLong - scoreA
    val scores = Seq(a.map(_.toLong), b.map(_.toLong), difference)
    s"$gene1\t$gene2\t$cluster\t$side\t" +
      scores.map(_.fold("")(GenePair.scoreText)).mkString("\t")
  }
}
