package cuesta.mapreduce;

/** Settings of a round, besides Hadoop's own. */
final class Settings {
  /** Number of its tasks. */
  static final String TASKS = "cuesta.round.tasks";

  /** Maximum number of its tasks per task of Hadoop. */
  static final String SLICE = "cuesta.round.slice";

  /** Number of parts that tasks send blocks to; 0 if they send none. */
  static final String PARTS = "cuesta.round.parts";

  /** Whether blocks are lines of text, pairs of a key and a value. */
  static final String TEXT = "cuesta.round.text";

  /** The folder that all nodes share, with the round and what is refused of it. */
  static final String FOLDER = "cuesta.round.folder";

  /** The Python of children. */
  static final String PYTHON = "cuesta.round.python";

  /** Python module that it runs. */
  static final String MODULE = "cuesta.engines.hadoop.child";

  /** The file in the folder that says why a task was refused: there is no use in another try. */
  static final String REFUSED = "refused";

  /** The folder in the folder that has the histories of jobs that have ended. */
  static final String HISTORY = "history";

  private Settings() {}
}
