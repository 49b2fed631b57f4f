package cuesta.spark

/** Counter-based random words: word i depends on the seed, the stream and i only. */
object Random {
  private val G = 0x9e3779b97f4a7c15L

  def key(seed: Long, stream: Long): Long = mix(mix(seed ^ G) + stream)

  def word(key: Long, index: Long): Long = mix(mix(key + index * G) ^ key)

  private def mix(word: Long): Long = {
    val a = (word ^ (word >>> 30)) * 0xbf58476d1ce4e5b9L
    val b = (a ^ (a >>> 27)) * 0x94d049bb133111ebL
    b ^ (b >>> 31)
  }
}
