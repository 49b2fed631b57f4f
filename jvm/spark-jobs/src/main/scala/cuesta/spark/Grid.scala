package cuesta.spark

/** Units in which coordinates and squared distances are summed as whole numbers: powers of two, so
  * fine that a sum over all points just fits 63 bits.
  */
final case class Grid(scales: Array[Double], squareScale: Double, restScale: Double) {

  /** A coordinate in units, rounded half to even. */
  def coordinate(axis: Int, value: Double): Long = math.rint(value * scales(axis)).toLong

  /** A squared distance in whole units. */
  def units(value: Double): Long = math.rint(value * squareScale).toLong

  /** The rest of a squared distance in fine units, of which small distances consist. */
  def rests(value: Double): Long = {
    val scaled = value * squareScale
    math.rint((scaled - math.rint(scaled)) * restScale).toLong
  }

  def mean(axis: Int, sum: Long, size: Long): Double = sum.toDouble / size.toDouble / scales(axis)

  def inertia(units: Long, rests: Long): Double =
    (units.toDouble + rests.toDouble / restScale) / squareScale
}

object Grid {
  private val BitsMax = 50
  private val ExponentMin = -400
  private val SquareExponentMin = -900

  /** Chooses units for a number of points whose coordinates are at most `largest` on each axis. */
  def apply(points: Long, largest: Array[Double]): Grid = {
    val countBits = java.lang.Long.SIZE - java.lang.Long.numberOfLeadingZeros(points - 1)
    // Bits of a coordinate, so that the sum over all points is at most 2^62.
    val bits = math.min(62 - countBits, BitsMax)
    val exponents = largest.map(exponentAbove(_, ExponentMin))
    // Two coordinates differ by less than 2^(exponent + 1).
    val square = exponents.map(exponent => powerOfTwo(2 * exponent + 2)).sum
    Grid(
      scales = exponents.map(exponent => powerOfTwo(bits - exponent)),
      squareScale = powerOfTwo(bits - exponentAbove(square, SquareExponentMin)),
      restScale = powerOfTwo(bits)
    )
  }

  /** The smallest power of two above a value, as its exponent. */
  private def exponentAbove(value: Double, least: Int): Int = {
    val exponent = if (value == 0) least else math.getExponent(value) + 1
    math.max(exponent, least)
  }

  private def powerOfTwo(exponent: Int): Double = math.scalb(1.0, exponent)
}
