package cuesta.spark

import java.nio.file.Path

import org.apache.spark.RangePartitioner
import org.apache.spark.rdd.RDD

/** Two versions matched on (gene1, gene2, cluster). */
object Join {
  private val Header = "gene1\tgene2\tcluster\tside\tscore_a\tscore_b\tdifference\n"

  /** Both scores of a key; one of them may be missing. */
  private final case class Match(key: Key, a: Option[Int], b: Option[Int])

  def run(job: Job): Map[String, Long] = {
    val how = job.request.text("how")
    val (left, right) = job.clock.phase("open") {
      val inputs = job.request.inputs
      (GenePairs.open(job, inputs.take(1), "a"), GenePairs.open(job, inputs.drop(1), "b"))
    }
    val both, leftOnly, rightOnly = job.context.longAccumulator
    job.clock.phase("join", Some(left.bytes + right.bytes), Some(left.rowsKept.sum)) {
      val index = job.request.int("score_index")
      val matched = matches(keyed(left, index), keyed(right, index), job.partitions)
      val wanted = matched.filter(one => how match {
        case "inner" => one.a.isDefined && one.b.isDefined
        case "left" => one.a.isDefined
        case _ => true
      })
      val lines = wanted.map { one =>
        (one.a, one.b) match {
          case (Some(_), Some(_)) => both.add(1)
          case (Some(_), None) => leftOnly.add(1)
          case _ => rightOnly.add(1)
        }
        line(one)
      }
      Answer.writeLines(lines, Path.of(job.request.output, "pairs.tsv"), Header)
    }
    Map(
      "rows_read" -> (left.rowsRead.sum + right.rowsRead.sum),
      "rows_kept" -> (left.rowsKept.sum + right.rowsKept.sum),
      "both" -> both.sum,
      "left_only" -> leftOnly.sum,
      "right_only" -> rightOnly.sum
    )
  }

  private type Key = (Int, Int, Int)

  private def keyed(pairs: GenePairs, scoreIndex: Int): RDD[(Key, Int)] = pairs.hits.map { hit =>
    val row = hit.row
    ((row.gene1, row.gene2, row.cluster), row.scores(scoreIndex))
  }

  /** All keys of both versions in their order: ranges of keys together, each sorted on its own. */
  private def matches(
      left: RDD[(Key, Int)],
      right: RDD[(Key, Int)],
      partitions: Int
  ): RDD[Match] = {
    // Sampling reads both; without this the text would be read and parsed twice.
    val (a, b) = (left.persist(), right.persist())
    val ranges = new RangePartitioner(partitions, a.union(b))
    val groups = a.cogroup(b, ranges).map { case (key, (ofA, ofB)) =>
      Match(key, only(key, "a", ofA), only(key, "b", ofB))
    }
    groups.mapPartitions(part => part.toArray.sortBy(_.key).iterator, preservesPartitioning = true)
  }

  private def only(key: Key, version: String, scores: Iterable[Int]): Option[Int] = {
    if (scores.sizeIs > 1)
      throw new InputException(
        s"join: version $version has gene pair ${key._1} ${key._2} cluster ${key._3} twice; " +
          "remove one of them"
      )
    scores.headOption
  }

  private def line(one: Match): String = {
    val Match((gene1, gene2, cluster), a, b) = one
    val side = if (b.isEmpty) "left" else if (a.isEmpty) "right" else "both"
    val difference = for (one <- a; other <- b) yield other.toLong - one
    val scores = Seq(a.map(_.toLong), b.map(_.toLong), difference)
    s"$gene1\t$gene2\t$cluster\t$side\t" +
      scores.map(_.fold("")(GenePair.scoreText)).mkString("\t")
  }
}
