package cuesta.spark

/** Selection of rows; scores in millionths. */
final case class Filter(
    minAbs: Int,
    maxAbs: Int,
    scoreIndex: Int,
    minClusterSamples: Int,
    maxMissing: Int
) {

  /** Whether a row passes; left is its fault, which follows "line N of FILE" in a message. */
  def passes(row: GenePair): Either[String, Boolean] =
    if (scoreIndex >= row.scores.length)
      Left(
        s"has ${row.scores.length} scores, --score-index $scoreIndex asks for another; give a " +
          "smaller number"
      )
    else
      Right(
        row.clusterSamples >= minClusterSamples && row.missing <= maxMissing &&
          passes(row.scores(scoreIndex))
      )

  private def passes(score: Int): Boolean =
    score != GenePair.NoScore && math.abs(score) >= minAbs && math.abs(score) <= maxAbs

  /** Whether a folder with scores in `zone` may hold a row that passes. */
  def mayPass(zone: Zone): Boolean =
    scoreIndex != 0 || (zone.max >= minAbs && zone.min <= maxAbs)
}

object Filter {

  /** Tolerance in millionths, far below one: decimals such as 0.8 are not exact as doubles. */
  private val Slack = 1e-6
  private val Limit = 2000000000

  def of(request: Request): Filter = {
    val smallest = math.ceil(request.double("min_abs_score") * 1e6 - Slack)
    val largest = request.doubleOption("max_abs_score").map(_ * 1e6 + Slack)
    Filter(
      minAbs = smallest.toInt,
      maxAbs = largest.fold(Limit)(value => math.min(math.floor(value), Limit.toDouble).toInt),
      scoreIndex = request.int("score_index"),
      minClusterSamples = request.int("min_cluster_samples"),
      maxMissing = request.intOption("max_missing").getOrElse(Int.MaxValue)
    )
  }
}

/** Values of |score| that a folder may hold, both ends included. */
final case class Zone(min: Int, max: Int)
